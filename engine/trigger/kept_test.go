package trigger_test

import (
	"github.com/fanfold/fanfold/internal/audit"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// keptYAML has reports whose listener c fails as long as its table does not exist, when the others are done. In the
// report same, they are of one stage.
const keptYAML = `
  same:
    keep: 1h
    retry: 0
    listeners:
      a: {database: db, query: "SELECT k, v FROM a"}
      b: {database: db, query: "SELECT k, v FROM b"}
      c: {database: db, query: "SELECT k, v FROM c"}
    join: {key: k}
    file: {columns: [k, a.v, {column: b.v, label: b}, {column: c.v, label: c}]}
  kept:
    keep: 1h
    retry: 0
    parameters: {n: {type: integer, default: 1}}
    listeners:
      a: {database: db, query: "SELECT k, v FROM a WHERE :n > 0"}
      b: {database: db, query: "SELECT k, v FROM b"}
      c: {database: db, query: "SELECT k, v FROM c", after: [a, b]}
    join: {key: k}
    file: {columns: [k, a.v, {column: b.v, label: b}, {column: c.v, label: c}]}
  equal:
    keep: 1h
    once: {window: 1h, per: [report, parameters]}
    retry: 0
    listeners:
      a: {database: db, query: "SELECT k, v FROM a"}
      b: {database: db, query: "SELECT k, v FROM b"}
      c: {database: db, query: "SELECT k, v FROM c", after: [a, b]}
    join: {key: k}
    file: {columns: [k, a.v, {column: b.v, label: b}, {column: c.v, label: c}]}
  stages:
    keep: 1h
    retry: 0
    listeners:
      a: {database: db, query: "SELECT k, v FROM a"}
      b: {database: db, query: "SELECT k, v FROM b WHERE k IN (:a.k)"}
      c: {database: db, query: "SELECT k, v FROM c WHERE k IN (:a.k)", after: [b]}
    join: {key: k}
    file: {columns: [k, a.v, {column: b.v, label: b}, {column: c.v, label: c}]}
  folded:
    keep: 1h
    listeners:
      a: {database: db, query: "SELECT k, v FROM a"}
      b: {database: db, query: "SELECT k, v FROM b"}
    fold: SELECT 9223372036854775807 + b.k AS n FROM a JOIN b ON a.v = b.v
  folded_stages:
    keep: 1h
    listeners:
      a: {database: db, query: "SELECT k, v FROM a"}
      b: {database: db, query: "SELECT k, v FROM b WHERE 1 IN (:a.k)"}
    fold: SELECT 9223372036854775807 + b.k AS n FROM a JOIN b ON a.v = b.v
`

// bench is a stack with the tables a and b of one row. What a table has says when it was read.
type bench struct{ *e2e.Stack }

func newBench(t *testing.T, settings string) bench {
	t.Helper()
	b := bench{e2e.New(t, keptYAML, settings)}
	b.make("a", "b")
	return b
}

func (b bench) make(tables ...string) {
	for _, name := range tables {
		b.Records.Exec("CREATE TABLE " + name + " (k INT PRIMARY KEY, v VARCHAR(100))")
		b.Records.Exec("INSERT INTO " + name + " VALUES (1, 'old')")
	}
}

// renew changes what a query of the tables finds.
func (b bench) renew(tables ...string) {
	for _, name := range tables {
		b.Records.Exec("UPDATE " + name + " SET v = 'new'")
	}
}

// paused serves and starts a job of the report same, whose listener c is paused, until the others are done.
func (b bench) paused() (id string, resume func()) {
	b.Helper()
	if _, err := b.Operate.Pauses.Pause(audit.With(b.Context(), &audit.Actor{Who: "test"}), "listener/c", operate.Terms{}); err != nil {
		b.Fatal(err)
	}
	b.Serve(b.File)
	id = b.Records.Insert("same", "")
	b.Jobs.Push(id)
	b.Eventually("two listeners are done", func() bool {
		state, err := b.Partitions.First().Jobs.Read(b.Context(), id)
		return err == nil && state.Done == 2
	})
	return id, func() {
		b.Helper()
		if _, _, err := b.Operate.Pauses.Resume(audit.With(b.Context(), &audit.Actor{Who: "test"}), "listener/c"); err != nil {
			b.Fatal(err)
		}
	}
}

// failed runs a job that fails because of c.
func (b bench) failed(name, parameters string) string {
	b.Helper()
	id := b.Records.Insert(name, parameters)
	b.Jobs.Push(id)
	return b.failedBy(id)
}

func (b bench) failedBy(id string) string {
	b.Helper()
	if v := b.Jobs.Wait(id)[0]; v.Status != report.Failed || !strings.HasPrefix(v.Error, "listener c:") {
		b.Fatalf("%s: %s", v.Status, v.Error)
	}
	b.Jobs.Idle()
	return id
}

// retry runs a job again, and returns what was announced and the job.
func (b bench) retry(id string, within time.Duration) (plan string, v inspect.Job) {
	b.Helper()
	plan, err := b.Operate.Jobs.Retry(audit.With(b.Context(), &audit.Actor{Who: "test"}), id, within)
	if err != nil {
		b.Fatal(err)
	}
	v = b.Jobs.Wait(id)[0]
	b.Jobs.Idle()
	return plan, v
}

// is fails the test unless the file has these values of a, b and c.
func (b bench) is(v inspect.Job, values string) {
	b.Helper()
	if got, want := b.Files.Content(v), "k,v,b,c\r\n1,"+values+"\r\n"; got != want {
		b.Errorf("the file is %q, want %q", got, want)
	}
}

// kept returns whether something is kept of a job.
func (b bench) kept(id string) bool {
	b.Helper()
	return b.Redis.Exists(b.Context(), b.Partitions.First().Keys.Kept(id)).Val() > 0
}

// TestRetryReadsOnlyWhatIsMissing: the datasets of a failed job are used by the next attempt.
func TestRetryReadsOnlyWhatIsMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	id, resume := b.paused()
	resume()
	b.failedBy(id)
	v, err := b.Inspect.Jobs.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Kept.Offer(); !strings.HasPrefix(got, "2 of 3 datasets are kept until ") || !strings.HasSuffix(got, "; fanfold retry "+id+" reads only c") {
		t.Errorf("it says %q", got)
	}
	b.renew("a", "b")
	plan, v := b.retry(id, job.AnyAge) // fails again, and keeps them again
	if want := "reuses a (attempt 1, read 1s ago), b (attempt 1, read 1s ago); reads c (no dataset of it is kept)"; plan != want {
		t.Errorf("%q, want %q", plan, want)
	}
	if v.Status != report.Failed || v.Attempt != 2 || !b.kept(id) {
		t.Fatalf("%+v, kept: %t", v, b.kept(id))
	}
	b.make("c")
	_, v = b.retry(id, job.AnyAge)
	b.is(v, "old,old,old")
	if v.Attempt != 3 || b.kept(id) {
		t.Errorf("%+v, kept: %t", v, b.kept(id))
	}
	_, v = b.retry(id, job.AnyAge) // of a SUCCESS nothing is kept
	b.is(v, "new,new,old")
}

// TestRetryWithABoundOnTheAge reads anew what is older.
func TestRetryWithABoundOnTheAge(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	b.Serve(b.File)
	for within, want := range map[time.Duration]string{0: "new,new,old", time.Millisecond: "new,new,old", time.Hour: "old,old,old"} {
		b.Records.Exec("UPDATE a SET v = 'old'")
		b.Records.Exec("UPDATE b SET v = 'old'")
		id := b.failed("kept", "")
		b.renew("a", "b")
		b.make("c")
		_, v := b.retry(id, within)
		b.is(v, want)
		if b.kept(id) {
			t.Error("what was not reused is still kept")
		}
		b.Records.Exec("DROP TABLE c")
	}
}

// TestRetryOfChangedParameters reuses nothing.
func TestRetryOfChangedParameters(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	b.Serve(b.File)
	id := b.failed("kept", `{"n": 1}`)
	b.renew("a", "b")
	b.make("c")
	b.Records.Exec(`UPDATE file_download_record SET parameters = '{"n": 2}' WHERE id = ?`, id)
	plan, v := b.retry(id, job.AnyAge)
	b.is(v, "new,new,old")
	if !strings.Contains(plan, "a (the parameters have changed)") {
		t.Errorf("%q", plan)
	}
}

// TestRetryWithAChangedDefinition reads a listener anew whose definition has changed.
func TestRetryWithAChangedDefinition(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	stop := b.Serve(b.File)
	id := b.failed("kept", "")
	stop()
	b.renew("a", "b")
	b.make("c")
	b.Use(b.Write("changed.yaml", strings.Replace(keptYAML, "FROM b\"", "FROM b WHERE 1 = 1\"", -1)))
	b.Serve(b.File)
	plan, v := b.retry(id, job.AnyAge)
	b.is(v, "old,new,old")
	if !strings.Contains(plan, "b (its definition has changed)") {
		t.Errorf("%q", plan)
	}
}

// TestRetryWithAnotherColumn reads a listener anew of which the file uses a column that nothing has used before.
func TestRetryWithAnotherColumn(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	b.Use(b.Write("before.yaml", strings.ReplaceAll(keptYAML, "columns: [k, a.v, ", "columns: [k, ")))
	stop := b.Serve(b.File)
	id := b.failed("kept", "")
	stop()
	b.renew("a", "b")
	b.make("c")
	b.Use(b.Write("after.yaml", keptYAML))
	b.Serve(b.File)
	plan, v := b.retry(id, job.AnyAge)
	b.is(v, "new,old,old")
	if !strings.Contains(plan, "a (its column v was not stored)") {
		t.Errorf("%q", plan)
	}
}

// TestAReuseIsNotShared: an equal job does not get a file whose rows an earlier attempt has read.
func TestAReuseIsNotShared(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	b.Serve(b.File)
	id := b.failed("equal", "")
	b.renew("a", "b")
	b.make("c")
	_, v := b.retry(id, job.AnyAge)
	b.is(v, "old,old,old")
	b.is(b.Jobs.Run("equal", ""), "new,new,old")
}

// TestABoundOnTheAgeIsKept although the id waits for a turn of its lane.
func TestABoundOnTheAgeIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t, "lanes: {running: 1}")
	b.Serve(b.File)
	id := b.failed("kept", "")
	b.renew("a", "b")
	b.make("c")
	of := b.Partitions.First()
	if _, err := of.Lanes.Admit(t.Context(), []scripts.Seeker{{ID: "other"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Operate.Jobs.Retry(audit.With(t.Context(), &audit.Actor{Who: "test"}), id, 0); err != nil {
		t.Fatal(err)
	}
	b.Eventually("it waits", func() bool {
		return b.Jobs.Events("parked")[id] == 1 && b.Redis.XPending(t.Context(), of.Keys.Jobs, scripts.Group).Val().Count == 0
	})
	if err := of.Lanes.Leave(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	b.is(b.Jobs.Wait(id)[0], "new,new,old")
	b.Jobs.Idle()
}

// TestRetryOfALaterStage: datasets of both stages are reused, and what uses a column of another listener only together
// with that one.
func TestRetryOfALaterStage(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	b.Serve(b.File)
	id := b.failed("stages", "")
	b.renew("a", "b")
	b.make("c")
	_, v := b.retry(id, job.AnyAge)
	b.is(v, "old,old,old")

	b.Records.Exec("DROP TABLE c")
	id = b.failed("stages", "")
	key := b.Partitions.First().Keys.Kept(id)
	if err := b.Redis.HSet(t.Context(), key, "a:kept", "1 1").Err(); err != nil { // it has expired
		t.Fatal(err)
	}
	b.Records.Exec("UPDATE b SET v = 'newer'")
	b.make("c")
	plan, v := b.retry(id, job.AnyAge)
	b.is(v, "new,newer,old")
	if !strings.Contains(plan, "b (it uses a)") {
		t.Errorf("%q", plan)
	}
}

// TestRetryOfACompleteJob: a job whose file failed after all listeners were done queries nothing.
func TestRetryOfACompleteJob(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"folded", "folded_stages"} {
		b := newBench(t, "")
		b.Serve(b.File)
		v := b.Jobs.Run(name, "")
		if v.Status != report.Failed || !strings.Contains(v.Error, "out of range") {
			t.Fatalf("%s: %s", v.Status, v.Error)
		}
		b.Jobs.Idle()
		b.Records.Exec("UPDATE b SET k = 0")
		plan, v := b.retry(v.ID, job.AnyAge)
		if v.Status != report.Failed || v.Attempt != 2 || strings.Contains(plan, "reads a") || strings.Contains(plan, "; reads") {
			t.Errorf("%s: it is %s, and %q", name, v.Status, plan)
		}
		_, v = b.retry(v.ID, 0)
		if got := b.Files.Content(v); got != "n\r\n9223372036854775807\r\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestRetryOfACancelledJob reuses what was done before.
func TestRetryOfACancelledJob(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	b.make("c")
	id, resume := b.paused()
	if _, err := b.Operate.Jobs.Cancel(audit.With(t.Context(), &audit.Actor{Who: "test"}), id, "not now"); err != nil {
		t.Fatal(err)
	}
	if v := b.Jobs.Wait(id)[0]; v.Status != report.Cancelled {
		t.Fatalf("%+v", v)
	}
	resume()
	b.Jobs.Idle()
	b.renew("a", "b", "c")
	_, v := b.retry(id, job.AnyAge)
	b.is(v, "old,old,new")
}

// TestKeptDatasetsExpire: what has expired is read anew, also if it expires after the attempt has looked at it.
func TestKeptDatasetsExpire(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	b.Serve(b.File)
	id := b.failed("kept", "")
	key := b.Partitions.First().Keys.Kept(id)
	if left := b.Redis.PTTL(t.Context(), key).Val(); left <= 59*time.Minute || left > time.Hour {
		t.Errorf("it is kept for %s", left)
	}
	b.Redis.Del(t.Context(), key)
	b.renew("a", "b")
	b.make("c")
	plan, v := b.retry(id, job.AnyAge)
	b.is(v, "new,new,old")
	if plan != "" {
		t.Errorf("%q", plan)
	}
}

// TestRetryFromTheSpool: segments stay with what is kept, and go with the job that has reused them.
func TestRetryFromTheSpool(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	b := newBench(t, "spool: {url: file://"+folder+", above: 1KB}")
	b.Records.Exec("DELETE FROM a")
	b.Records.Exec("INSERT INTO a SELECT seq, REPEAT('x', 50) FROM seq_1_to_500")
	b.Records.Exec("UPDATE a SET v = 'old' WHERE k = 1")
	segments := func() int {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(folder, "*", "*.zst"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	stop := b.Serve(b.File)
	id := b.failed("kept", "")
	if n := segments(); n != 1 {
		t.Fatalf("the spool has %d segments", n)
	}
	b.renew("a", "b")
	b.retry(id, job.AnyAge) // fails again
	stop()                  // nothing but what is kept remains of the processes
	if n := segments(); n != 1 {
		t.Fatalf("the spool has %d segments", n)
	}
	b.Roles.Sweep()
	b.make("c")
	b.Serve(b.File)
	_, v := b.retry(id, job.AnyAge)
	b.is(v, "old,old,old")
	if n := segments(); n != 0 {
		t.Errorf("%d segments are left", n)
	}
	b.Records.Exec("DROP TABLE c")
	id = b.failed("kept", "")
	found, _ := filepath.Glob(filepath.Join(folder, "*", "*.zst"))
	if len(found) != 1 || os.Remove(found[0]) != nil { // it is lost: a is read anew
		t.Fatal(found)
	}
	b.make("c")
	b.Records.Exec("UPDATE b SET v = 'newer'")
	_, v = b.retry(id, job.AnyAge)
	b.is(v, "new,new,old")

	// If another listener has used its values, the job fails, and the next attempt reads both.
	b.Records.Exec("DROP TABLE c")
	id = b.failed("stages", "")
	found, _ = filepath.Glob(filepath.Join(folder, "stages", "*=a=*.zst"))
	if len(found) != 1 || os.Remove(found[0]) != nil {
		t.Fatal(found)
	}
	b.make("c")
	if _, v = b.retry(id, job.AnyAge); v.Status != report.Failed || !strings.Contains(v.Error, "listener b may have used its values") {
		t.Fatalf("%s: %s", v.Status, v.Error)
	}
	b.Records.Exec("UPDATE b SET v = 'newest'")
	_, v = b.retry(id, job.AnyAge)
	b.is(v, "new,newest,old")
}

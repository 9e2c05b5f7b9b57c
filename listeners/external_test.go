package listeners

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/spool"
)

// outside is a job with an external listener, and processes that hear what its
// service says.
type outside struct {
	*bundle
	listener report.Listener
	lease    time.Duration
	fold     string // of the report
	spool    *spool.Spool
}

// setupOutside starts the job and so many processes.
func setupOutside(t *testing.T, processes int, change func(*outside)) *outside {
	t.Helper()
	o := &outside{lease: 300 * time.Millisecond, listener: report.Listener{
		Name: "a", Kind: report.External, Columns: []string{"c", "d"}, Types: []report.Kind{report.KindInteger, report.KindText},
		Retry: minutely, Timeout: time.Minute, Silence: time.Minute,
	}}
	o.bundle = &bundle{t: t}
	if change != nil {
		change(o)
	}
	if o.client == nil {
		o.client = testmain.SharedRedis(t).Client()
	}
	t.Cleanup(func() { _ = o.client.Close() })
	name := testmain.Name(t)
	o.s = scripts.New(scripts.Options{Redis: o.client, Keys: report.Keys{Prefix: name + ":", Hash: name + "-"}, JobBytes: o.limits.JobBytes})
	definition := o.definition()
	o.limits.Tasks, o.limits.Lease, o.limits.ShutdownTimeout = 1, o.lease, time.Second
	start(t, o.s, "1", `{"p":1}`, plan(definition))
	for n := range processes {
		o.process(fmt.Sprint("f", n), definition)
	}
	return o
}

// process starts one that has this definition.
func (o *outside) process(consumer string, definition *report.Report) {
	o.t.Helper()
	runner, err := New(Options{
		Redis: o.client, Scripts: o.s, Reports: map[string]*report.Report{"r": definition}, Limits: o.limits, Consumer: consumer,
		Spool: o.spool,
	})
	if err != nil {
		o.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- runner.Run(ctx) }()
	o.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			o.t.Error(err)
		}
	})
}

// group makes the groups, before Fanfold does.
func (o *outside) group() {
	o.t.Helper()
	for _, name := range []string{o.s.Keys.Task("a"), o.s.Keys.Reply} {
		if err := o.client.XGroupCreateMkStream(o.t.Context(), name, scripts.Group, "0").Err(); err != nil {
			o.t.Fatal(err)
		}
	}
}

// definition is that of the job.
func (o *outside) definition() *report.Report {
	return &report.Report{Name: "r", Fold: o.fold, Stages: []report.Stage{{Listeners: []report.Listener{o.listener}}}}
}

// spoken is a worker of the service.
type spoken struct {
	o     *outside
	name  string
	entry string
}

// reads has the service read its next entry; the group is there before it.
func (o *outside) reads(worker string) spoken {
	o.t.Helper()
	var entry string
	o.eventually("an entry", func() bool {
		streams, err := o.client.XReadGroup(o.t.Context(), &redis.XReadGroupArgs{
			Group: scripts.Group, Consumer: "service", Streams: []string{o.s.Keys.Task("a"), ">"}, Count: 1, Block: 10 * time.Millisecond,
		}).Result()
		if err != nil || len(streams) == 0 || len(streams[0].Messages) == 0 {
			return false
		}
		m := streams[0].Messages[0]
		entry = m.ID
		return m.Values["id"] == "1" && m.Values["attempt"] == "1"
	})
	return spoken{o, worker, entry}
}

// says appends a reply, with these fields in place of the usual ones.
func (w spoken) says(kind string, fields ...string) {
	w.o.t.Helper()
	if err := w.o.client.XAdd(w.o.t.Context(), w.reply(kind, fields...)).Err(); err != nil {
		w.o.t.Fatal(err)
	}
}

// reply is what says appends.
func (w spoken) reply(kind string, fields ...string) *redis.XAddArgs {
	all := map[string]any{
		"id": "1", "attempt": "1", "listener": "a", "worker": w.name, "entry": w.entry, "consumer": "service", "type": kind,
	}
	for i := 0; i+1 < len(fields); i += 2 {
		if all[fields[i]] = fields[i+1]; fields[i+1] == "-" {
			delete(all, fields[i])
		}
	}
	return &redis.XAddArgs{Stream: w.o.s.Keys.Reply, Values: all}
}

func (o *outside) eventually(what string, leases func() bool) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !leases() {
		select {
		case <-ctx.Done():
			state, err := o.s.Jobs.Read(context.Background(), "1")
			o.t.Fatalf("not within a minute: %s: %+v %v; events %v; quarantine %v", what, state, err,
				o.client.XRange(context.Background(), o.s.Keys.Events, "-", "+").Val(), o.client.XRange(context.Background(), o.s.Keys.Quarantined, "-", "+").Val())
		case <-tick.C:
		}
	}
}

// heard waits until all that was said is applied.
func (o *outside) heard() {
	o.t.Helper()
	o.eventually("all replies are applied", func() bool { return o.client.XLen(o.t.Context(), o.s.Keys.Reply).Val() == 0 })
}

// ends waits for the end of a task's entries.
func (o *outside) ends() {
	o.t.Helper()
	o.eventually("no entry is left", func() bool { return o.client.XLen(o.t.Context(), o.s.Keys.Task("a")).Val() == 0 })
}

// refusals are the reasons of the events that tell of refused replies.
func (o *outside) refusals() (reasons []string) {
	for _, e := range o.client.XRange(o.t.Context(), o.s.Keys.Events, "-", "+").Val() {
		if e.Values["event"] == "refused" {
			reasons = append(reasons, fmt.Sprint(e.Values["worker"], " ", e.Values["type"], ": ", e.Values["reason"]))
		}
	}
	return reasons
}

func (o *outside) quarantined() (reasons []string) {
	for _, e := range o.client.XRange(o.t.Context(), o.s.Keys.Quarantined, "-", "+").Val() {
		reasons = append(reasons, fmt.Sprint(e.Values["reason"]))
	}
	return reasons
}

// wantData compares the data of the listener, and that it is done.
func (o *outside) wantData(c, d []string) {
	o.t.Helper()
	state := o.until("done", func(s *job.State) bool { return s.Status == job.StatusReady })
	if n := state.Tasks["a"].Chunks; n != int64(len(c)) {
		o.t.Fatalf("%d chunks, not %d", n, len(c))
	}
	for n := range c {
		fields, err := o.s.Folds.Stored("1", "a").Get(o.t.Context(), []string{"c", "d"}, int64(n))
		if err != nil {
			o.t.Fatal(err)
		}
		chunk, err := dataset.DecodeChunk([]dataset.Column{{Name: "c"}, {Name: "d"}}, fields)
		if err != nil {
			o.t.Fatal(err)
		}
		for i, want := range []string{c[n], d[n]} {
			var cells []string
			for row := range chunk.Rows() {
				cells = append(cells, string(chunk.Cell(i, row)))
			}
			if got := "[" + strings.Join(cells, ",") + "]"; got != want {
				o.t.Errorf("chunk %d, column %d: %s, not %s", n, i, got, want)
			}
		}
	}
	o.heard()
	o.ends()
}

// TestExternalInAnyOrder: over two processes, with what comes twice, and the end first.
func TestExternalInAnyOrder(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 2, nil)
	w := o.reads("w1")
	w.says("done", "chunks", "3")
	w.says("rows", "number", "2", "rows", `[[5,"e"]]`)
	w.says("alive")
	w.says("rows", "number", "0", "rows", `[[1,"a"],[2,null]]`)
	w.says("rows", "number", "0", "rows", `[[1,"a"],[2,null]]`)
	w.says("rows", "number", "1", "rows", `[{"d":"c","c":12345678901234567890},{"c":4,"d":"d"}]`)
	w.says("rows", "number", "2", "rows", `[[5,"e"]]`)
	w.says("done", "chunks", "3")
	o.wantData([]string{"[1,2]", "[12345678901234567890,4]", "[5]"}, []string{`["a",null]`, `["c","d"]`, `["e"]`})
	if all := append(o.refusals(), o.quarantined()...); len(all) > 0 {
		t.Errorf("%q", all)
	}
	if state, err := o.s.Jobs.Read(t.Context(), "1"); err != nil || state.Tasks["a"].Rows != 5 || state.Tasks["a"].Tries != 1 {
		t.Errorf("%+v %v", state, err)
	}
}

// TestExternalFindsNothing, and its chunks are compressed like all others.
func TestExternalFindsNothing(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 1, nil)
	o.reads("w1").says("done", "chunks", "0")
	o.wantData([]string{"[]"}, []string{"[]"})
}

func TestExternalIsCompressed(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 1, func(o *outside) { o.limits.Compress = true })
	w := o.reads("w1")
	long := strings.Repeat("x", 5000)
	w.says("rows", "number", "0", "rows", `[[1,"`+long+`"]]`)
	w.says("done", "chunks", "1")
	o.wantData([]string{"[1]"}, []string{`["` + long + `"]`})
	if field := o.client.HGet(t.Context(), o.s.Keys.Job("1"), "a.d").Val(); !strings.HasPrefix(field, "\x28\xb5\x2f\xfd") {
		t.Errorf("%.20q is no frame", field)
	}
}

// TestExternalStoresWhatIsUsed: a service sends all of its columns, and the job stores those that the fold uses.
func TestExternalStoresWhatIsUsed(t *testing.T) {
	t.Parallel()
	for _, rows := range []string{`[{"c":1,"d":"x"}]`, ""} {
		o := setupOutside(t, 1, func(o *outside) { o.fold = "SELECT d FROM a" })
		w := o.reads("w1")
		chunks, want := "0", "[]"
		if rows != "" {
			w.says("rows", "number", "0", "rows", rows)
			chunks, want = "1", `["x"]`
		}
		w.says("done", "chunks", chunks)
		state := o.until("done", func(s *job.State) bool { return s.Status == job.StatusReady })
		if got := string(state.Tasks["a"].Columns); got != `[{"name":"d","type":"text"}]` {
			t.Errorf("columns %s", got)
		}
		if got := o.client.HMGet(t.Context(), o.s.Keys.Job("1"), "a.c", "a.d").Val(); got[0] != nil || got[1] != want {
			t.Errorf("stored: %q", got)
		}
		if state.Bytes != int64(len(want)) {
			t.Errorf("%d bytes", state.Bytes)
		}
	}
}

// TestExternalFences: what is not the owner's has no effect, and an event says so.
func TestExternalFences(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 1, nil)
	w := o.reads("w1")
	rows := []string{"number", "0", "rows", `[[9,"wrong"]]`}
	w.says("rows", append(rows, "attempt", "2")...)
	w.says("rows", append(rows, "id", "2")...)
	w.says("rows", append(rows, "listener", "b")...)
	w.says("rows", append(rows, "entry", "1-1")...)
	o.heard()
	w.says("alive")
	o.heard()
	w.says("rows", append(rows, "worker", "w2")...)
	w.says("failed", "worker", "w2", "permanent", "1")
	o.heard()
	w.says("rows", "number", "0", "rows", `[[1,"a"]]`)
	w.says("done", "chunks", "1")
	o.wantData([]string{"[1]"}, []string{`["a"]`})
	w.says("alive")                            // late, and nothing
	w.says("done", "chunks", "1")              // its answer was lost
	w.says("alive", "worker", "w3")            // nobody
	w.says("failed", "error", "after the end") // too late
	o.heard()
	want := []string{
		"w1 rows: attempt 1 runs, not 2", "w1 rows: the job has ended, or never existed", "w1 rows: the job has no such listener in its stages so far",
		"w1 rows: entry 1-1 is not pending in " + o.s.Keys.Task("a") + ": another worker has the task",
		"w2 rows: another worker has the task", "w2 failed: another worker has the task", "w3 alive: the task is done", "w1 failed: the task is done",
	}
	got := o.refusals()
	for _, reason := range want {
		if !strings.Contains(strings.Join(got, "\n")+"\n", reason+"\n") {
			t.Errorf("no event tells %q", reason)
		}
	}
	if len(got) != len(want) || len(o.quarantined()) > 0 {
		t.Errorf("events: %q; quarantine: %q", got, o.quarantined())
	}
}

// TestExternalEntryOfAnotherTask: a service that takes one task's entry for another's does
// not end it.
func TestExternalEntryOfAnotherTask(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 1, nil)
	w := o.reads("w1")
	start(t, o.s, "2", "{}", plan(o.definition()))
	o.eventually("its entry is read", func() bool {
		return len(o.client.XReadGroup(t.Context(), &redis.XReadGroupArgs{
			Group: scripts.Group, Consumer: "service", Streams: []string{o.s.Keys.Task("a"), ">"}, Block: -1,
		}).Val()) > 0
	})
	other := o.client.XRange(t.Context(), o.s.Keys.Task("a"), "("+w.entry, "+").Val()[0].ID
	for _, say := range [][]string{
		{"alive", "entry", other}, {"alive"}, {"rows", "number", "0", "rows", `[[1,"a"]]`, "entry", other},
		{"done", "chunks", "0", "entry", other}, {"failed", "permanent", "1", "entry", other},
	} {
		w.says(say[0], say[1:]...)
		o.heard() // one after the other
	}
	why := "entry " + other + " belongs to job 2, attempt 1"
	got := slices.Sorted(slices.Values(o.refusals())) // replies of one task can be heard at once
	if want := []string{"w1 alive: " + why, "w1 done: " + why, "w1 failed: " + why, "w1 rows: " + why}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if n := o.client.XPending(t.Context(), o.s.Keys.Task("a"), scripts.Group).Val().Count; n != 2 {
		t.Errorf("%d entries are pending, not those of both jobs", n)
	}
}

// TestExternalThatFails: a try, and again; and what can never work at once.
func TestExternalThatFails(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 1, nil)
	for try := range int64(2) {
		w := o.reads(fmt.Sprint("w", try))
		w.says("rows", "number", "0", "rows", `[[9,"left over"]]`)
		w.says("failed", "error", "the wind was wrong")
		w.says("failed", "error", "the wind was wrong") // its answer was lost
		w.says("rows", "number", "1", "rows", `[[9,"late"]]`)
		state := o.until("a retry", func(s *job.State) bool { return s.Tasks["a"].Tries == try+1 && s.Tasks["a"].Owner == "" })
		if task := state.Tasks["a"]; task.Error != "the wind was wrong" || !task.Next.Equal(o.delayed()) {
			t.Errorf("%+v, delayed %v", task, o.delayed())
		}
		o.heard()
		o.ends()
		o.comes()
	}
	o.reads("w9").says("failed", "error", "no luck\nat all")
	state := o.until("failing", func(s *job.State) bool { return s.Status == job.StatusFailing })
	if want := "listener a: no luck\nat all (try 3 of 3)"; state.Reason != want {
		t.Errorf("%q, not %q", state.Reason, want)
	}
	o.ends()
}

// TestExternalWorkerThatKeepsItsName is refused with its next entry, and that is not lost.
func TestExternalWorkerThatKeepsItsName(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 1, func(o *outside) { o.listener.Silence = 300 * time.Millisecond })
	o.reads("host").says("failed", "error", "no luck")
	state := o.until("a retry", func(s *job.State) bool { return !s.Tasks["a"].Next.IsZero() })
	o.ends()
	o.eventually("a later moment, as with every delay", func() bool {
		now, err := o.s.Now(t.Context())
		return err == nil && now.UnixMilli() > state.Tasks["a"].Taken.UnixMilli()
	})
	o.comes()
	o.reads("host").says("alive")
	o.until("a silent one", func(s *job.State) bool { return s.Tasks["a"].Tries == 2 && !o.delayed().IsZero() })
	if got := fmt.Sprint(o.refusals()); got != "[host alive: this worker has given up the task: use a new worker name for every entry]" {
		t.Error(got)
	}
	o.ends()
	o.comes()
	o.reads("host").says("done", "chunks", "0")
	o.wantData([]string{"[]"}, []string{"[]"})
}

// TestExternalThatCanNeverWork: what a service says or sends fails the job at once, and
// what is wrong with it is kept.
func TestExternalThatCanNeverWork(t *testing.T) {
	t.Parallel()
	many := "[" + strings.Repeat(`[1,2],`, dataset.MaxChunkRows) + `[1,2]]`
	for name, c := range map[string]struct {
		say  []string
		want string
		kept bool // in the quarantine
	}{
		"permanent":       {[]string{"failed", "error", "no such account", "permanent", "1"}, "no such account", false},
		"no error":        {[]string{"failed", "permanent", "1"}, "the worker says failed and gives no error", false},
		"no rows":         {[]string{"rows", "number", "0"}, "rows number 0: byte 0: expected a JSON array of rows", false},
		"a column less":   {[]string{"rows", "number", "0", "rows", "[[1,2],[1]]"}, "row 2, byte 10: 1 values for 2 columns", false},
		"nested":          {[]string{"rows", "number", "0", "rows", "[[1,[2]]]"}, "an array cannot contain arrays or objects", false},
		"too many rows":   {[]string{"rows", "number", "0", "rows", many}, "10001 rows in one entry, more than 10000: send them in several", false},
		"too many bytes":  {[]string{"rows", "number", "0", "rows", strings.Repeat(" ", 1<<20) + "[]"}, "rows of 1048578 bytes in one entry, more than 1048576", true},
		"no number":       {[]string{"rows", "rows", "[]"}, `field number of type rows is "", not a whole number`, true},
		"a number":        {[]string{"rows", "number", "-1", "rows", "[]"}, `field number of type rows is "-1", not a whole number`, true},
		"no chunks":       {[]string{"done"}, `field chunks of type done is "", not a whole number`, true},
		"another type":    {[]string{"finished"}, `field type is "finished", not rows, done, failed or alive`, true},
		"maybe permanent": {[]string{"failed", "permanent", "yes"}, `field permanent of type failed is "yes", not 1`, true},
		"job_bytes":       {[]string{"rows", "number", "0", "rows", `[[1,"` + strings.Repeat("x", 30_000) + `"]]`}, "limits.job_bytes", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := setupOutside(t, 1, func(o *outside) { o.limits.JobBytes = 20_000 })
			w := o.reads("w1")
			w.says("alive")
			w.says(c.say[0], c.say[1:]...)
			state := o.until("failing", func(s *job.State) bool { return s.Status == job.StatusFailing })
			if !strings.HasPrefix(state.Reason, "listener a: ") || !strings.Contains(state.Reason, c.want) {
				t.Errorf("%q, not %q", state.Reason, c.want)
			}
			o.heard()
			o.ends()
			if kept := o.quarantined(); (len(kept) == 1) != c.kept || c.kept && !strings.Contains(kept[0], c.want) {
				t.Errorf("quarantine: %q", kept)
			}
		})
	}
}

// TestExternalRepliesOfNobody go to the quarantine, and change nothing.
func TestExternalRepliesOfNobody(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 1, nil)
	w := o.reads("w1")
	for _, c := range []struct{ field, value string }{
		{"id", "no/id"}, {"id", "-"}, {"attempt", "0"}, {"attempt", "one"}, {"listener", "a b"}, {"worker", "-"}, {"worker", "w 1"},
		{"entry", "5"}, {"consumer", ""}, {"listener", "-"}, {"entry", "18446744073709551616-0"}, {"entry", "1-99999999999999999999"},
	} {
		w.says("failed", c.field, c.value, "permanent", "1")
	}
	w.says("rows", "number", "0", "rows", `[[1,"a"]]`)
	w.says("done", "chunks", "1")
	o.wantData([]string{"[1]"}, []string{`["a"]`})
	kept := o.quarantined()
	if len(kept) != 12 || !strings.Contains(strings.Join(kept, "\n"), `not a reply: field worker is "w 1"`) {
		t.Errorf("%q", kept)
	}
}

// TestExternalKeysOfAnotherType: what cannot be applied is quarantined, and so is a task
// whose worker is silent.
func TestExternalKeysOfAnotherType(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]func(*outside) string{
		"state": func(o *outside) string { return o.s.Keys.Job("1") },
		"task":  func(o *outside) string { return o.s.Keys.Task("a") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := setupOutside(t, 1, func(o *outside) { o.listener.Silence = 300 * time.Millisecond })
			w := o.reads("w1")
			if err := o.client.Set(t.Context(), key(o), "x", 0).Err(); err != nil {
				t.Fatal(err)
			}
			w.says("rows", "number", "0", "rows", `[[1,"a"]]`)
			o.heard()
			if kept := o.quarantined(); len(kept) == 0 || !strings.Contains(kept[0], "a key is not what it should be") {
				t.Errorf("%q", kept)
			}
			if name == "state" {
				o.ends()
			}
		})
	}
}

// TestExternalChunkThatNeverComes: the end waits for it, and then its worker is silent.
func TestExternalChunkThatNeverComes(t *testing.T) {
	t.Parallel()
	for name, last := range map[string][]string{
		"done says 2 entries of rows, but number 1 did not arrive within 600ms": {"done", "chunks", "2"},
		"worker w1 fell silent": {"rows", "number", "2", "rows", "[]"},
	} {
		t.Run(last[0], func(t *testing.T) {
			t.Parallel()
			o := setupOutside(t, 2, func(o *outside) { o.listener.Silence = 600 * time.Millisecond })
			w := o.reads("w1")
			w.says("rows", "number", "0", "rows", `[[1,"a"]]`)
			w.says(last[0], last[1:]...)
			state := o.until("a retry", func(s *job.State) bool { return !s.Tasks["a"].Next.IsZero() })
			if task := state.Tasks["a"]; task.Tries != 1 || task.Error != name {
				t.Errorf("%+v", task)
			}
			o.heard()
			o.ends()
			o.comes() // and the next try finds nothing of this one
			w = o.reads("w2")
			w.says("rows", "number", "0", "rows", `[[2,"b"]]`)
			w.says("done", "chunks", "1")
			o.wantData([]string{"[2]"}, []string{`["b"]`})
			var data []string
			for _, field := range o.client.HKeys(t.Context(), o.s.Keys.Job("1")).Val() {
				if strings.HasPrefix(field, "a.") {
					data = append(data, field)
				}
			}
			if slices.Sort(data); !slices.Equal(data, []string{"a.c", "a.d"}) {
				t.Errorf("the data are the fields %q, not two columns", data)
			}
		})
	}
	t.Run("more than there are", func(t *testing.T) {
		t.Parallel()
		o := setupOutside(t, 1, nil)
		w := o.reads("w1")
		w.says("rows", "number", "0", "rows", `[[1,"a"]]`)
		w.says("rows", "number", "1", "rows", `[[1,"a"]]`)
		o.heard()
		w.says("done", "chunks", "1")
		state := o.until("failing", func(s *job.State) bool { return s.Status == job.StatusFailing })
		if want := "listener a: done says 1 entries of rows, but there were 2"; state.Reason != want {
			t.Errorf("%q", state.Reason)
		}
	})
}

// TestClaimThatFails between the read of its entry and the take of its task: no worker has it, so it costs no try.
func TestClaimThatFails(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 1, func(o *outside) { o.listener.Silence = 300 * time.Millisecond })
	for range 3 {
		o.eventually("there is a task", func() bool {
			entry, err := o.s.Entries.Next(t.Context(), o.s.Keys.Task("a"), deskConsumer)
			return err == nil && entry != nil
		})
		state := o.until("it is given back", func(s *job.State) bool { return !s.Tasks["a"].Next.IsZero() && !o.delayed().IsZero() })
		if task := state.Tasks["a"]; task.Tries != 0 || task.Error != "no worker got it: its claim over HTTP has failed" {
			t.Errorf("%+v", task)
		}
		o.ends()
		o.comes()
	}
	o.reads("w").says("done", "chunks", "0")
	o.wantData([]string{"[]"}, []string{"[]"})
}

// TestExternalTakesTooLong, although it says that it is alive.
func TestExternalTakesTooLong(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 1, func(o *outside) { o.listener.Timeout = time.Millisecond })
	w := o.reads("w1")
	o.eventually("it is too late", func() bool {
		w.says("alive")
		state, err := o.s.Jobs.Read(t.Context(), "1")
		return err == nil && strings.HasPrefix(state.Tasks["a"].Error, "timed out after 1ms") && state.Tasks["a"].Tries == 1
	})
	o.heard()
	o.ends()
}

// TestExternalSilence: of a worker that has said something, of one that never has, and
// of all.
func TestExternalSilence(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 2, func(o *outside) { o.listener.Silence = 300 * time.Millisecond })
	o.reads("w1").says("rows", "number", "0", "rows", `[[9,"left over"]]`)
	for _, c := range []struct{ worker, want string }{
		{"w2", "worker w1 fell silent"},
		{"w3", "a worker read its entry and sent no reply for 300ms"},
	} {
		o.until(c.want, func(s *job.State) bool {
			return s.Tasks["a"].Error == c.want && s.Tasks["a"].Owner == "" && !o.delayed().IsZero()
		})
		o.ends()
		o.comes()
		o.reads(c.worker)
	}
	state := o.until("failing", func(s *job.State) bool { return s.Status == job.StatusFailing })
	if want := "listener a: given up after 3 tries: a worker read its entry and sent no reply for 300ms"; state.Reason != want {
		t.Errorf("%q", state.Reason)
	}
	o.ends()
}

// TestExternalStreamWithoutAReader has no consumers: a process that looks for silent workers is none,
// also where XAUTOCLAIM would make it one.
func TestExternalStreamWithoutAReader(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 0, nil)
	runner, err := New(Options{
		Redis: o.client, Scripts: o.s, Reports: map[string]*report.Report{"r": o.definition()}, Limits: o.limits, Consumer: "f",
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first makes the group
		if err := (silence{&external{runner}}).watchListener(t.Context(), "a", time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	found, err := o.client.XInfoConsumers(t.Context(), o.s.Keys.Task("a"), scripts.Group).Result()
	if err != nil || len(found) > 0 {
		t.Errorf("%+v %v", found, err)
	}
}

// TestExternalThatSpeaksIsNotSilent, however long it takes; and who wakes up too late
// is refused.
func TestExternalThatSpeaksIsNotSilent(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 2, func(o *outside) { o.listener.Silence = 1500 * time.Millisecond })
	late := o.reads("late")
	late.says("alive")
	o.until("silent", func(s *job.State) bool {
		return s.Tasks["a"].Error == "worker late fell silent" && !o.delayed().IsZero()
	})
	o.ends()
	o.comes()
	w := o.reads("w1")
	begin := time.Now()
	for time.Since(begin) < 4*time.Second {
		w.says("alive")
		late.says("rows", "number", "0", "rows", `[[9,"late"]]`)
		o.heard()
		timer := time.NewTimer(200 * time.Millisecond)
		<-timer.C
	}
	w.says("rows", "number", "0", "rows", `[[1,"a"]]`)
	w.says("done", "chunks", "1")
	o.wantData([]string{"[1]"}, []string{`["a"]`})
	if state, err := o.s.Jobs.Read(t.Context(), "1"); err != nil || state.Tasks["a"].Tries != 2 || state.Tasks["a"].Owner != "w1" {
		t.Errorf("%+v %v", state, err)
	}
}

// TestExternalWhileRedisIsAway: in that time a worker cannot say anything, which uses no
// try.
func TestExternalWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	o := setupOutside(t, 2, func(o *outside) { o.client, o.listener.Silence = server.Client(), 1500*time.Millisecond })
	w := o.reads("w1")
	w.says("rows", "number", "0", "rows", `[[1,"a"]]`)
	o.heard()
	const pause = 2500 // ms, in which Redis answers nobody
	if err := o.client.Do(t.Context(), "CLIENT", "PAUSE", pause, "ALL").Err(); err != nil {
		t.Fatal(err)
	}
	w.says("alive") // waits until it is back
	w.says("done", "chunks", "1")
	o.wantData([]string{"[1]"}, []string{`["a"]`})
	if state, err := o.s.Jobs.Read(t.Context(), "1"); err != nil || state.Tasks["a"].Tries != 1 || len(o.refusals()) > 0 {
		t.Errorf("%+v %v %q", state, err, o.refusals())
	}
}

// TestExternalWhileNobodyListens: what was said in that time counts, however long ago.
func TestExternalWhileNobodyListens(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 0, func(o *outside) { o.listener.Silence = 100 * time.Millisecond })
	o.group()
	w := o.reads("w1")
	w.says("rows", "number", "0", "rows", `[[1,"a"]]`)
	o.eventually("silent for long", func() bool {
		p := o.client.XPendingExt(t.Context(), &redis.XPendingExtArgs{Stream: o.s.Keys.Task("a"), Group: scripts.Group, Start: "-", End: "+", Count: 1}).Val()
		return len(p) == 1 && p[0].Idle > 500*time.Millisecond
	})
	w.says("done", "chunks", "1")
	o.process("f", o.definition())
	o.wantData([]string{"[1]"}, []string{`["a"]`})
	if state, err := o.s.Jobs.Read(t.Context(), "1"); err != nil || state.Tasks["a"].Tries != 1 {
		t.Errorf("%+v %v", state, err)
	}
}

// TestExternalOfAnotherDefinition: a reply waits for a process that has its job's
// definition, and leases up nobody.
func TestExternalOfAnotherDefinition(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 0, nil)
	o.group()
	w := o.reads("w1")
	w.says("rows", "number", "0", "rows", `[[1,"a"]]`)
	w.says("done", "chunks", "1")
	first := o.client.XRange(t.Context(), o.s.Keys.Reply, "-", "+").Val()[1].ID
	other := o.definition()
	other.Stages[0].Listeners[0].Columns = []string{"c", "other"}
	o.process("f1", other)
	o.eventually("they are handed on", func() bool {
		left := o.client.XRange(t.Context(), o.s.Keys.Reply, "-", "+").Val()
		return len(left) == 2 && left[0].ID > first
	})
	o.process("f2", o.definition())
	o.wantData([]string{"[1]"}, []string{`["a"]`})
	if all := append(o.refusals(), o.quarantined()...); len(all) > 0 {
		t.Errorf("%q", all)
	}
}

// TestExternalInAFullRedis: rows that Redis has no room for have the task come again,
// and no try is used. What has no effect is not told then, and leases up nobody.
func TestExternalInAFullRedis(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	o := setupOutside(t, 0, func(o *outside) { o.client = server.Client() })
	o.group()
	w := o.reads("w1")
	w.says("rows", "number", "0", "rows", `[[1,"a"]]`)
	w.says("rows", "number", "1", "rows", `[[1,"a"]]`)
	full := func(memory string) {
		t.Helper()
		if err := o.client.ConfigSet(t.Context(), "maxmemory", memory).Err(); err != nil {
			t.Fatal(err)
		}
	}
	full("1mb")
	o.process("f", o.definition())
	state := o.until("it comes again", func(s *job.State) bool { return !s.Tasks["a"].Next.IsZero() })
	if task := state.Tasks["a"]; task.Tries != 0 || !strings.Contains(task.Error, "Redis is full") || o.delayed().IsZero() {
		t.Errorf("%+v", task)
	}
	o.heard()
	o.ends()
	full("0")
	o.comes()
	w = o.reads("w2")
	w.says("rows", "number", "0", "rows", `[[1,"a"]]`)
	w.says("done", "chunks", "1")
	o.wantData([]string{"[1]"}, []string{`["a"]`})
}

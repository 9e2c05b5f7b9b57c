package command

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestCancel: cancel stops a running job at once, also its query on the database server, and leaves
// no data.
func TestCancel(t *testing.T) {
	t.Parallel()
	// With this lease, the next renewal is too late for this test.
	s := newStack(t, `
  long:
    listeners: {
      sleeps: {database: db, query: "SELECT 1 AS k, SLEEP(280) AS v"},
      fails: {database: db, query: "SELECT k, v FROM no_such_table"}}
    join: {key: k}
`, "limits: {lease: 10m}")
	s.Records.Exec("CREATE TABLE no_such_table (k INT, v INT)")
	s.Serve(s.File)
	id := s.Records.Insert("long", "")
	s.Jobs.Push(id)
	queries := func() int {
		return s.Records.Number("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = ? AND INFO LIKE 'SELECT 1 AS k, SLEEP%'", s.Schema)
	}
	s.Eventually("its query runs", func() bool { return queries() == 1 })
	began := time.Now()
	if out, code := s.fanfold("cancel", id, "--reason", "nobody needs it"); code != exitOK || !strings.Contains(out, "cancelled") {
		t.Fatalf("%d %s", code, out)
	}
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Cancelled || v.Error != "nobody needs it" {
		t.Errorf("%+v", v)
	}
	s.Eventually("its query is gone", func() bool { return queries() == 0 })
	t.Logf("the query was gone after %s", time.Since(began))
	s.Eventually("its state says so", func() bool {
		_, statuses, err := s.Partitions.First().Jobs.Attempts(t.Context(), []string{id})
		return err == nil && statuses[0] == string(report.Cancelled)
	})
	s.Files.None("long")
	if got := s.finishedAs(id); !slices.Equal(got, []string{"CANCELLED 1 nobody needs it"}) {
		t.Errorf("it has finished as %q", got)
	}
	if n := s.Redis.ZCard(t.Context(), s.Partitions.First().Keys.Deadlines).Val(); n != 0 {
		t.Errorf("%d deadlines are left", n)
	}
	if out, code := s.fanfold("cancel", id); code != exitOK || !strings.Contains(out, "before") {
		t.Errorf("again: %d %s", code, out)
	}
	if out, code := s.fanfold("why", id); code != exitOK || !strings.Contains(out, "nobody needs it") {
		t.Errorf("%d %s", code, out)
	}
}

// TestCancelEndsAVendorsJob: cancel also cancels the export that a task waits for at its API, even
// if no worker holds the task.
func TestCancelEndsAVendorsJob(t *testing.T) {
	t.Parallel()
	var looked atomic.Bool
	ended := make(chan string, 10)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPost:
			fmt.Fprint(w, `{"id": "j7"}`)
		case http.MethodDelete:
			ended <- r.URL.Path
		default:
			looked.Store(true)
			fmt.Fprint(w, `{"state": "working"}`)
		}
	}))
	t.Cleanup(api.Close)
	s := newStack(t, `
  export:
    listeners:
      scores:
        kind: http
        api: vendor
        columns: {id: $.id}
        submit: {path: /jobs, id: $.id, if_unknown: fail}
        poll: {path: "/jobs/{id}", every: 1h, status: $.state, done: [done], failed: [error]}
        cancel: {path: "/jobs/{id}"}
        result: {path: "/jobs/{id}/rows", rows: $}
        total_timeout: 3h
`, fmt.Sprintf(`apis: {vendor: {url: "%s", idempotency: none}}`, api.URL))
	s.Serve(s.File)
	id := s.Records.Insert("export", "")
	s.Jobs.Push(id)
	waits := func() bool { return s.Redis.ZCard(t.Context(), s.Partitions.First().Keys.Delayed).Val() == 1 }
	s.Eventually("it waits for the vendor", func() bool { return looked.Load() && waits() })
	s.must("cancel "+id, "cancelled")
	if waits() {
		t.Error("its next look is not taken away")
	}
	if path := <-ended; path != "/jobs/j7" {
		t.Errorf("%s is ended", path)
	}
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Cancelled {
		t.Errorf("%+v", v)
	}
	s.Jobs.Idle()
}

// TestCancelWhatDoesNotRun: a PENDING record is cancelled without a worker. A job that has ended or
// is about to end is not cancelled.
func TestCancelWhatDoesNotRun(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	pending, delayed, done := s.Records.Insert("slow", ""), s.Records.Insert("slow", ""), s.Records.Insert("slow", "")
	if out, code := s.fanfold("submit", delayed, "--in", "1h"); code != exitOK {
		t.Fatal(out)
	}
	s.Records.Exec("UPDATE file_download_record SET status = 'SUCCESS' WHERE id = ?", done)
	if out, code := s.fanfold("cancel", pending, delayed); code != exitOK {
		t.Errorf("%d %s", code, out)
	}
	if n := s.Redis.ZCard(t.Context(), s.Partitions.First().Keys.Delayed).Val(); n != 0 {
		t.Errorf("%d are delayed", n)
	}
	for _, id := range []string{pending, delayed} {
		if got := s.finishedAs(id); !slices.Equal(got, []string{"CANCELLED 0 cancelled with fanfold cancel"}) {
			t.Errorf("record %s has finished as %q", id, got)
		}
	}
	out, code := s.fanfold("cancel", done, pending)
	if code != exitFailure || !strings.Contains(out, "it is SUCCESS") || !strings.Contains(out, "before") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := s.fanfold("cancel", "777"); code != exitNotFound {
		t.Errorf("%d %s", code, out)
	}
	s.Jobs.Push(pending, delayed)
	s.Serve(s.File)
	s.Eventually("the pushes have no effect", func() bool { return s.Redis.XLen(t.Context(), s.Partitions.First().Keys.Jobs).Val() == 0 })
	if n := s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status = 'CANCELLED' AND attempt = 0"); n != 2 {
		t.Errorf("%d are CANCELLED", n)
	}
}

// finishedAs returns status, attempt and reason of the finished events of a record.
func (s *stack) finishedAs(id string) (all []string) {
	s.Helper()
	for _, m := range s.Redis.XRange(s.Context(), s.Partitions.First().Keys.Events, "-", "+").Val() {
		if m.Values["event"] == "finished" && m.Values["id"] == id {
			all = append(all, fmt.Sprint(m.Values["status"], " ", m.Values["attempt"], " ", m.Values["reason"]))
		}
	}
	return all
}

// TestCancelOfALostJob: a job that Redis has lost can be cancelled, and the file that it made is
// deleted.
func TestCancelOfALostJob(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, "limits: {recover_after: 1s, lease: 1s}")
	id := s.Records.Insert("slow", "")
	s.Records.Exec("UPDATE file_download_record SET status = 'PROCESSING', attempt = 1 WHERE id = ?", id)
	if err := os.MkdirAll(s.Dir+"/files/slow", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, ending := range []string{"", ".manifest.json"} {
		if err := os.WriteFile(s.Dir+"/files/"+s.Files.Named("slow", id, 1)+ending, []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.must("cancel "+id, "cancelled")
	s.Serve(s.File)
	s.Eventually("its file is gone", func() bool {
		files, _ := filepath.Glob(s.Dir + "/files/slow/[^.]*")
		return len(files) == 0
	})
}

// TestCancelThatIsInterrupted: if cancel is killed after it has changed the state, an engine
// completes the cancellation.
func TestCancelThatIsInterrupted(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	stop := s.Serve(s.File)
	id := s.Records.Insert("slow", `{"seconds": 30}`)
	s.Jobs.Push(id)
	s.Eventually("it runs", func() bool {
		_, statuses, err := s.Partitions.First().Jobs.Attempts(t.Context(), []string{id})
		return err == nil && statuses[0] == job.StatusRun
	})
	if outcome, _, err := s.Partitions.First().Jobs.Cancel(t.Context(), id, 1, "half"); outcome != scripts.OK || err != nil {
		t.Fatal(outcome, err)
	}
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Cancelled || v.Error != "half" {
		t.Errorf("%+v", v)
	}
	stop()
	if files, _ := filepath.Glob(s.Dir + "/files/slow/" + id + "-*"); len(files) > 0 {
		t.Errorf("in the sink: %v", files)
	}
	// A job whose file is being committed cannot be cancelled.
	late := s.Records.Insert("slow", "")
	s.Records.Exec("UPDATE file_download_record SET status = 'PROCESSING', attempt = 1 WHERE id = ?", late)
	if err := s.Redis.HSet(t.Context(), s.Partitions.First().Keys.Job(late), "job", "1 PUBLISHING 1 1 9999999999999 1/1 0 | 9999999999999 1 slow/d/p", "listeners", "a").Err(); err != nil {
		t.Fatal(err)
	}
	if out, code := s.fanfold("cancel", late); code != exitFailure || !strings.Contains(out, "its file is being committed, so it ends") {
		t.Errorf("%d %s", code, out)
	}
}

package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
)

// TestNotify: a service is notified of the end of every job once its record is durable, even if the
// process that should notify it is killed, and even if the job never ran.
func TestNotify(t *testing.T) {
	t.Parallel()
	type ended struct {
		ID      string
		Attempt int64
		Status  report.Status
		File    string
		Rows    int
		Error   string
	}
	var s *stack
	var mu sync.Mutex
	down := true
	refused, got := 0, map[string][]ended{} // by webhook-id
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var told struct{ Data ended }
		if err := json.NewDecoder(r.Body).Decode(&told); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if down {
			refused++
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		of := r.Header.Get("webhook-id")
		got[of] = append(got[of], told.Data)
		if n := s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE id = ? AND status = ? AND attempt = ?", told.Data.ID, told.Data.Status, told.Data.Attempt); n != 1 {
			t.Errorf("%+v is told, and the record says something else", told.Data)
		}
	}))
	t.Cleanup(service.Close)
	s = newStack(t, fmt.Sprintf(`
  tells:
    parameters: {seconds: {type: decimal, default: "0"}}
    notify: {url: %q, secret: "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3", retry: {retries: 100, delay: 300ms}}
    listeners: {one: {database: db, query: "SELECT 1 AS k, SLEEP(:seconds) AS v"}}
`, service.URL)+e2e.Slow, "limits: {shutdown_timeout: 1s}")
	told := func(id string, attempt int64, status string) []ended {
		mu.Lock()
		defer mu.Unlock()
		return got[fmt.Sprintf("%s-%d-%s", id, attempt, status)]
	}

	first := s.process("-c", s.File, "serve")
	done := s.Records.Insert("tells", "")
	s.Jobs.Push(done)
	s.Jobs.Wait(done)
	s.Eventually("the service was asked", func() bool { mu.Lock(); defer mu.Unlock(); return refused > 0 })
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	mu.Lock()
	down = false
	mu.Unlock()

	cancelled, wrong, quiet := s.Records.Insert("tells", ""), s.Records.Insert("tells", `{"seconds": "never"}`), s.Records.Insert("slow", "")
	if out, code := s.fanfold("cancel", cancelled, "--reason", "not needed"); code != exitOK {
		t.Fatal(out)
	}
	s.process("-c", s.File, "serve")
	s.Jobs.Push(wrong, quiet)
	s.Jobs.Wait(wrong, quiet)
	s.Eventually("all ends are told", func() bool {
		return len(told(done, 1, "success")) > 0 && len(told(cancelled, 0, "cancelled")) > 0 && len(told(wrong, 0, "failed")) > 0
	})
	if out, code := s.fanfold("retry", done, "--wait"); code != exitOK {
		t.Fatal(out)
	}
	s.Eventually("the second end is told", func() bool { return len(told(done, 2, "success")) > 0 })
	s.Eventually("nothing is to be told any more", func() bool {
		k := s.Partitions.First().Keys
		return s.Redis.XLen(t.Context(), k.Finished).Val()+s.Redis.ZCard(t.Context(), k.WaitingFired).Val() == 0
	})
	mu.Lock()
	defer mu.Unlock()
	if len(got) != 4 {
		t.Errorf("%+v", got)
	}
	for of, list := range got {
		if len(slices.Compact(list)) != 1 { // an answer that comes too late is a reason to tell it again
			t.Errorf("%s is told as %+v", of, list)
		}
	}
	for of, want := range map[string]ended{
		done + "-1-success":        {done, 1, report.Success, "file://" + s.Dir + "/files/" + s.Files.Named("tells", done, 1), 1, ""},
		done + "-2-success":        {done, 2, report.Success, "file://" + s.Dir + "/files/" + s.Files.Named("tells", done, 2), 1, ""},
		cancelled + "-0-cancelled": {cancelled, 0, report.Cancelled, "", 0, "not needed"},
	} {
		if one := got[of][0]; one != want {
			t.Errorf("%+v, not %+v", one, want)
		}
	}
	if one := got[wrong+"-0-failed"][0]; one.Status != report.Failed || one.Error == "" || one.File != "" {
		t.Errorf("%+v", one)
	}
}

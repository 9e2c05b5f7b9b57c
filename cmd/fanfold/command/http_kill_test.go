package command

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/testenv/testvendor"
	"github.com/fanfold/fanfold/report"
)

// killReports are exports from two vendors; the one named keyed honours the idempotency key.
const killReports = `
  keyed: &report
    retry: {retries: 100, delay: 100ms}
    timeout: 1h
    listeners:
      keyed:
        kind: http
        api: keyed
        columns: {n: $.n, twice: $.twice}
        submit: &submit {path: /exports, json: {reference: "{key}"}, id: $.job.id}
        poll: {path: "/exports/{id}", every: 200ms, status: $.state, done: done, failed: error}
        result: {path: "/exports/{id}/rows", rows: $.rows, next: $.next_cursor, next_as: {query: cursor}}
        total_timeout: 20m
`

// killConfig generates the four reports, which differ in a few words.
func killConfig() string {
	keyed := strings.NewReplacer("&report", "", "&submit ", "").Replace(killReports)
	all := keyed
	for name, unknown := range map[string]string{
		"resubmitted": "resubmit", "failing": "fail", "looked_up": `{look_up: {path: /exports, query: {reference: "{key}"}, id: "$.jobs[0].id"}}`,
	} {
		all += strings.NewReplacer("api: keyed", "api: careless", "keyed", name, "id: $.job.id}", "id: $.job.id, if_unknown: "+unknown+"}").Replace(keyed)
	}
	return all
}

// TestWorkersAreKilledAroundSubmits kills workers with kill -9 while a vendor creates jobs for
// them. A vendor that honours the idempotency key creates one job for every task; with another
// vendor, the setting unknown decides. HTTP_KILLS sets the number of rounds.
func TestWorkersAreKilledAroundSubmits(t *testing.T) {
	t.Parallel()
	kills := 4
	if n, err := strconv.Atoi(os.Getenv("HTTP_KILLS")); err == nil {
		kills = n
	}
	var made atomic.Int64
	vendors := map[string]*testvendor.Vendor{}
	apis := "apis:"
	for name, idempotency := range map[string]string{"keyed": "Idempotency-Key", "careless": "none"} {
		v := &testvendor.Vendor{Idempotent: name == "keyed", Polls: 1, Pages: 2}
		v.SetMade(func(r *http.Request, _ *testvendor.Job) {
			made.Add(1)
			select { // the worker is killed before the answer
			case <-r.Context().Done():
			case <-time.After(50 * time.Millisecond):
			}
		})
		var posts sync.Map // number of requests by key
		v.SetBefore(func(w http.ResponseWriter, r *http.Request) bool {
			key := r.Header.Get("Idempotency-Key")
			n, _ := posts.LoadOrStore(key, new(atomic.Int64))
			if r.Method != http.MethodPost || key == "" || n.(*atomic.Int64).Add(1) != 2 {
				return false
			}
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusConflict) // the first request still runs
			return true
		})
		if err := v.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(v.Close)
		vendors[name] = v
		apis += "\n  " + name + ": {url: \"" + v.URL + "\", idempotency: " + idempotency + "}"
	}
	s := newStack(t, killConfig(), "limits: {lease: 1s, tasks: 2}", apis)
	var ids []string
	reports := []string{"keyed", "resubmitted", "failing", "looked_up"}
	for range 4 * kills {
		for _, r := range reports {
			ids = append(ids, s.Records.Insert(r, ""))
		}
	}
	s.process("-c", s.File, "serve", "--roles", "engine,scheduler")
	s.Jobs.Push(ids...)
	for range kills {
		before := made.Load()
		victim := s.process("-c", s.File, "serve", "--roles", "listeners")
		s.Eventually("a job is being made", func() bool { return made.Load() > before+2 || made.Load() >= int64(len(ids)) })
		if err := victim.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = victim.Wait()
	}
	s.process("-c", s.File, "serve", "--roles", "listeners")
	views := s.Jobs.Wait(ids...)
	doubles, failures := 0, 0
	for i, v := range views {
		name := reports[i%len(reports)]
		vendor := vendors["careless"]
		if name == "keyed" {
			vendor = vendors["keyed"]
		}
		n := len(vendor.Jobs()["fanfold:"+v.ID+"/1/"+name])
		switch {
		case name == "failing" && v.Status == report.Failed && strings.Contains(v.Error, "it is not known whether the job was created") && n <= 1:
			failures++
		case v.Status != report.Success:
			t.Errorf("%s %s is %s: %s", name, v.ID, v.Status, v.Error)
		case s.Files.Content(v) != "n,twice\r\n1,2\r\n2,4\r\n3,6\r\n4,8\r\n":
			t.Errorf("%s %s: %q", name, v.ID, s.Files.Content(v))
		case name == "resubmitted" && n > 1:
			doubles++
		case n != 1:
			t.Errorf("%s %s: %d jobs", name, v.ID, n)
		}
	}
	t.Logf("%d kills, %d tasks of each kind: %d made twice, %d failed since it was not known", kills, 4*kills, doubles, failures)
	if doubles+failures == 0 {
		t.Error("no worker was killed in the midst of a submit: the test is not what it says")
	}
}

package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/testenv/testvendor"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// exports is a vendor, and a task that has it make an export.
type exports struct {
	*testvendor.Vendor
	*bundle
	memo []byte // what outlives a try
}

func newExports(t *testing.T, unknown Unknown) *exports {
	t.Helper()
	v := &testvendor.Vendor{Idempotent: unknown == "", Pages: 2}
	if err := v.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	next, _ := report.ParseJSONPath("$.next_cursor")
	b := setup(t, nil, Result{Request: Request{Path: "/exports/{id}/rows"}, Next: next, NextAs: Next{Query: "cursor"}}, "$.n integer", "$.twice integer")
	b.api.URL, b.api.Idempotency = v.URL, "Idempotency-Key"
	h := b.fields
	h.Total = time.Hour
	h.Submit = &Submit{
		Request: Request{Method: "POST", Path: "/exports", JSON: map[string]any{"from": ":from", "reference": "{key}"}}, ID: path(t, "$.job.id"),
	}
	h.Poll = &Poll{
		Request: Request{Method: "GET", Path: "/exports/{id}"}, Every: 10 * time.Second,
		Status: path(t, "$.state"), Done: []string{"done"}, Failed: []string{"error"}, Working: []string{"queued", "running"}, Error: path(t, "$.message"),
	}
	h.Cancel = &Request{Method: "DELETE", Path: "/exports/{id}"}
	if unknown != "" {
		b.api.Idempotency, h.Submit.Unknown.Answer = report.NotIdempotent, unknown
		h.Submit.Unknown.LookUp = &LookUp{
			Request: Request{Method: "GET", Path: "/exports", Query: []Pair{{Name: "reference", Value: "{key}"}}}, ID: path(t, "$.jobs[0].id"),
		}
	}
	b.task.Parameters["from"] = "2024-01-01"
	e := &exports{Vendor: v, bundle: b}
	b.task.Remember = func(_ context.Context, memo []byte) error {
		e.memo = memo
		return nil
	}
	return e
}

// try is one try of the task, with what the ones before it remembered.
func (e *exports) try() ([]string, error) {
	e.task.Memo = e.memo
	data, _, err := e.read()
	return data, err
}

// one is the only job that the vendor has.
func (e *exports) one() testvendor.Job {
	e.t.Helper()
	jobs := e.Jobs()["p:1/1/l"]
	if len(jobs) != 1 || len(e.Jobs()) != 1 {
		e.t.Fatalf("not one job of this task: %+v", e.Jobs())
	}
	return jobs[0]
}

func (e *exports) waits(words string) {
	e.t.Helper()
	if _, err := e.try(); err == nil || !strings.HasPrefix(err.Error(), "waits for ") || !strings.Contains(err.Error(), words) {
		e.t.Fatalf("it does not wait for %q: %v", words, err)
	}
}

var exported = []string{"[1,2,3,4]", "[2,4,6,8]"}

// done is the last try.
func (e *exports) done() {
	e.t.Helper()
	data, err := e.try()
	if diff := cmp.Diff(exported, data); diff != "" || err != nil {
		e.t.Fatal(err, diff)
	}
}

// TestExport: a job is made once, looked at until it is done, however its progress
// says, and its rows are read.
func TestExport(t *testing.T) {
	t.Parallel()
	e := newExports(t, "")
	e.Polls = 4
	e.waits(`API vendor: job x-1 is "queued"`)
	e.waits("queued")
	e.waits(`job x-1 is "running"`)
	e.waits("running")
	e.done()
	e.done() // the rows could not be stored: they are read again, and nothing else is made
	if j := e.one(); string(j.Asked) != `{"from":"2024-01-01","reference":"p:1/1/l"}` || j.Cancelled != 0 {
		t.Errorf("%+v", j)
	}
}

// TestExportThatFails, or is in a state that nobody knows, fails the task for good.
func TestExportThatFails(t *testing.T) {
	t.Parallel()
	for state, words := range map[string]string{
		"error":   "API vendor: job x-1 is error: out of paper",
		"sleepy":  `job x-1: $.state is "sleepy", which is in none of done, failed and working`,
		"":        `$.state is ""`,
		"unknown": "GET /exports/{id} (job x-9): 404 Not Found: no such export",
	} {
		e := newExports(t, "")
		e.State = func(*testvendor.Job) (string, string) { return state, "out of paper" }
		if state == "unknown" {
			e.memo = []byte(`{"started":` + fmt.Sprint(time.Now().UnixMilli()) + `,"all":true,"jobs":[{"id":"x-9"}]}`)
		}
		if _, err := e.try(); !errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", state, err)
		}
	}
}

// TestExportWithoutEnd: total ends it, from the first try on.
func TestExportWithoutEnd(t *testing.T) {
	t.Parallel()
	e := newExports(t, "")
	e.Polls = 1000
	e.waits("queued")
	e.memo = []byte(fmt.Sprintf(`{"started":%d,"all":true,"jobs":[{"id":"x-1"}]}`, time.Now().Add(-time.Hour).UnixMilli()))
	for before, words := range map[string]string{
		"":                                      "not done within 1h0m0s, the total_timeout of the listener: raise it, or request less",
		`API vendor: job x-1 is "queued"`:       `or request less; last: job x-1 is "queued"`,
		"API vendor: GET /x: dial tcp: refused": "or request less; last: GET /x: dial tcp: refused",
	} {
		e.task.Before = before
		if _, err := e.try(); !errors.Is(err, listeners.ErrPermanent) || !strings.HasSuffix(err.Error(), words) {
			t.Errorf("%s: %v", before, err)
		}
	}
	if e.one().Cancelled != 3 {
		t.Errorf("%+v", e.one())
	}
}

// TestSubmitThatIsRefused: it is known that there is no job, and nothing else is
// thought of it later.
func TestSubmitThatIsRefused(t *testing.T) {
	t.Parallel()
	for _, unknown := range []Unknown{"", FailJob} {
		e := newExports(t, unknown)
		code := http.StatusTooManyRequests
		e.SetBefore(func(w http.ResponseWriter, r *http.Request) bool {
			if code != 0 && r.Method == http.MethodPost {
				w.Header().Set("Retry-After", "30")
				w.WriteHeader(code)
				return true
			}
			return false
		})
		e.waits("429")
		code = http.StatusServiceUnavailable
		e.waits("503")
		e.api.URL = "http://127.0.0.1:1/v2"
		if _, err := e.try(); !errors.Is(err, listeners.ErrOutage) {
			t.Error(err)
		}
		e.api.URL, code = e.URL, http.StatusBadRequest
		if _, err := e.try(); !errors.Is(err, listeners.ErrPermanent) {
			t.Error(err)
		}
		if code = 0; len(e.Jobs()) != 0 {
			t.Errorf("%+v", e.Jobs())
		}
		e.done()
		e.one()
	}
}

// TestSubmitWithoutID says so.
func TestSubmitWithoutID(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{}`, `{"job": {"id": null}}`, `{"job": {"id": ""}}`, `{"job": {"id": {}}}`, `{"job": {"id": true}}`, ``} {
		e := newExports(t, "")
		e.SetBefore(func(w http.ResponseWriter, _ *http.Request) bool { fmt.Fprint(w, text); return true })
		if _, err := e.try(); !errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), "has no $.job.id") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// lost is the error of a worker that is no more.
var lost = errors.New("the worker is dead")

// TestWorkersThatDie: a task is done whatever effect a worker dies before or behind,
// and at a vendor that honours the key it has made one job. One that does not has what
// unknown says.
func TestWorkersThatDie(t *testing.T) {
	t.Parallel()
	for _, unknown := range []Unknown{"", ResubmitJob, FailJob, LookUpJob} {
		doubles, failures := 0, 0
		for dies := 1; ; dies++ {
			e := newExports(t, unknown)
			e.Polls = 2
			ctx, die := context.WithCancelCause(t.Context())
			var mu sync.Mutex // the vendor's side has effects, too
			effects, dead := 0, false
			// effect is one that the worker may die before or behind.
			effect := func() bool {
				mu.Lock()
				defer mu.Unlock()
				if effects++; effects == dies {
					dead = true
					die(lost)
				}
				return dead
			}
			remember := e.task.Remember
			e.task.Remember = func(ctx context.Context, memo []byte) error {
				if effect() {
					return lost
				}
				_ = remember(ctx, memo)
				if effect() {
					return lost
				}
				return nil
			}
			e.SetBefore(func(http.ResponseWriter, *http.Request) bool {
				mu.Lock()
				defer mu.Unlock()
				return dead
			})
			e.SetMade(func(r *http.Request, _ *testvendor.Job) {
				if effect() {
					<-r.Context().Done()
				}
			})
			var err error
			for try := range 20 {
				e.task.Memo = e.memo
				mu.Lock()
				if dead { // another worker
					ctx, die = context.WithCancelCause(t.Context())
					dead = false
				}
				mu.Unlock()
				data := make([]string, 2)
				source := New(e.api, "p:")
				out := listeners.NewWriter(func(_ []dataset.Column, b *dataset.Builder, _ bool) error {
					for i, f := range b.Fields() {
						data[i] = string(f)
					}
					return nil
				})
				if err = source.Read(ctx, e.task, out); err == nil {
					err = out.Close()
				}
				out.Stop()
				_ = source.Close()
				if err == nil && cmp.Equal(data, exported) || errors.Is(err, listeners.ErrPermanent) {
					break
				}
				if try == 19 {
					t.Fatalf("%q, dead at effect %d: not done: %v", unknown, dies, err)
				}
			}
			die(nil)
			n := len(e.Jobs()["p:1/1/l"])
			switch {
			case err != nil && unknown == FailJob && strings.Contains(err.Error(), "it is not known whether the job was created"):
				failures++
			case err != nil:
				t.Errorf("%q, dead at effect %d: %v", unknown, dies, err)
			case n == 2 && unknown == ResubmitJob:
				doubles++
			case n != 1:
				t.Errorf("%q, dead at effect %d: %d jobs", unknown, dies, n)
			}
			if effects < dies {
				break // it was done before that
			}
		}
		if (doubles > 0) != (unknown == ResubmitJob) || (failures > 0) != (unknown == FailJob) {
			t.Errorf("%q: %d doubles, %d failures", unknown, doubles, failures)
		}
	}
}

// TestAnswersThatAreLost: a submit whose answer is an error of a gateway is unknown,
// too.
func TestAnswersThatAreLost(t *testing.T) {
	t.Parallel()
	for unknown, want := range map[Unknown]int{"": 1, ResubmitJob: 2, LookUpJob: 1} {
		e := newExports(t, unknown)
		lose := true
		e.SetMade(func(*http.Request, *testvendor.Job) {
			if lose {
				lose = false
				panic(http.ErrAbortHandler) // the connection breaks
			}
		})
		if _, err := e.try(); err == nil || errors.Is(err, listeners.ErrPermanent) || errors.Is(err, listeners.ErrOutage) {
			t.Errorf("%q: %v", unknown, err)
		}
		e.done()
		if n := len(e.Jobs()["p:1/1/l"]); n != want {
			t.Errorf("%q: %d jobs, not %d", unknown, n, want)
		}
	}
	e := newExports(t, FailJob)
	e.SetBefore(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true })
	if _, err := e.try(); !errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), "502") {
		t.Error(err)
	}
}

// TestARefusalAfterADoubt: that a later request was refused says nothing of an earlier
// one, on which the vendor may still work.
func TestARefusalAfterADoubt(t *testing.T) {
	t.Parallel()
	e := newExports(t, "")
	e.memo = []byte(`{"started":` + fmt.Sprint(time.Now().UnixMilli()) + `,"jobs":[{"asked":true}]}`)
	code := http.StatusTooManyRequests
	e.SetBefore(func(w http.ResponseWriter, r *http.Request) bool {
		if code != 0 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(code)
		}
		return code != 0
	})
	e.waits("429")
	code = http.StatusConflict
	e.waits("409")
	code = 0
	e.done()
	e.one()
}

// TestUnavailable: a 503 that does not say when to come again may be that of a gateway
// that has lost the answer.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	for unknown, want := range map[Unknown]int{"": 1, ResubmitJob: 2, LookUpJob: 1, FailJob: 1} {
		e := newExports(t, unknown)
		var lose atomic.Bool
		lose.Store(true)
		gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && lose.Swap(false) {
				e.ServeHTTP(httptest.NewRecorder(), r)
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			e.ServeHTTP(w, r)
		}))
		defer gateway.Close()
		e.api.URL = gateway.URL + "/v2"
		_, err := e.try()
		if unknown == FailJob {
			if !errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), "503") {
				t.Error(err)
			}
		} else if !errors.Is(err, listeners.ErrOutage) {
			t.Errorf("%q: %v", unknown, err)
		} else {
			e.done()
		}
		if n := len(e.Jobs()["p:1/1/l"]); n != want {
			t.Errorf("%q: %d jobs, not %d", unknown, n, want)
		}
	}
}

// TestATaskThatIsLost while its job is made: the job is ended, unless who has the task
// now finds the same job.
func TestATaskThatIsLost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		unknown Unknown
		lost    error
		want    int
	}{
		{"", listeners.ErrTaken, 0}, {LookUpJob, listeners.ErrTaken, 0}, {ResubmitJob, listeners.ErrTaken, 1}, {FailJob, listeners.ErrTaken, 1},
		{"", listeners.ErrEnded, 1}, {LookUpJob, listeners.ErrEnded, 1},
	} {
		e := newExports(t, test.unknown)
		remember := e.task.Remember
		e.task.Remember = func(ctx context.Context, memo []byte) error {
			if len(e.Jobs()) > 0 {
				return fmt.Errorf("%w", test.lost)
			}
			return remember(ctx, memo)
		}
		if _, err := e.try(); !errors.Is(err, test.lost) || e.one().Cancelled != test.want {
			t.Errorf("%q: %v, %+v", test.unknown, err, e.one())
		}
	}
}

// TestExportsOfBatches: each batch of values has a job, all of them work at once, and
// the rows of all are read.
func TestExportsOfBatches(t *testing.T) {
	t.Parallel()
	e := newExports(t, "")
	e.Polls, e.Pages = 1, 1
	e.listener.From = &report.Ref{Listener: "earlier", Column: "id"}
	e.fields.Submit.JSON = map[string]any{"ids": ":earlier.id"}
	e.task.Values = func(context.Context, string, string) (dataset.Column, iter.Seq2[[]byte, error], error) {
		return dataset.Column{}, func(yield func([]byte, error) bool) {
			for _, v := range []string{"1", "2", "3"} {
				if !yield([]byte(v), nil) {
					return
				}
			}
		}, nil
	}
	e.waits(`job x-1 is "running", and 1 more`)
	data, err := e.try()
	if diff := cmp.Diff([]string{"[1,2,1,2]", "[2,4,2,4]"}, data); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if a, b := e.Jobs()["p:1/1/l/0"], e.Jobs()["p:1/1/l/1"]; len(a) != 1 || string(a[0].Asked) != `{"ids":[1,2]}` || len(b) != 1 || string(b[0].Asked) != `{"ids":[3]}` {
		t.Errorf("%+v", e.Jobs())
	}
}

// TestCancelEndsJobs: those that are not done, also where only their key is known.
func TestCancelEndsJobs(t *testing.T) {
	t.Parallel()
	e := newExports(t, LookUpJob)
	e.Polls = 1000
	e.waits("queued")
	source := New(e.api, "p:")
	defer source.Close()
	e.task.Parameters = nil
	cancel := func(memo string, want int) {
		t.Helper()
		e.task.Memo = []byte(memo)
		if err := source.Cancel(t.Context(), e.task); err != nil || e.one().Cancelled != want {
			t.Errorf("%v, %+v", err, e.one())
		}
	}
	for id, name := range map[string]string{"x-9": "x-9", "\x1b[2Jx\n" + strings.Repeat("9", 400): "[2Jx " + strings.Repeat("9", 94) + "…"} {
		text, _ := json.Marshal(memo{Jobs: []job{{ID: id}}})
		e.task.Memo = text
		e.SetBefore(func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusForbidden)
			return true
		})
		if err := source.Cancel(t.Context(), e.task); err == nil || !strings.Contains(err.Error(), "DELETE /exports/{id} (job "+name+"): 403 Forbidden") {
			t.Errorf("%q", err)
		}
		e.SetBefore(func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true })
		ctx, late := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := source.Cancel(ctx, e.task); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "DELETE /exports/{id} (job "+name+"): ") {
			t.Errorf("%q", err)
		}
		late()
	}
	e.SetBefore(nil)
	cancel(string(e.memo), 1)
	cancel(`{"jobs":[{"asked":true}]}`, 2)
	cancel(`{"jobs":[{"id":"x-1","done":true},{"id":"x-99"},{}]}`, 2)
	var m memo
	if err := json.Unmarshal(e.memo, &m); err != nil || len(m.Jobs) != 1 || m.Jobs[0].ID != "x-1" || m.Jobs[0].Asked {
		t.Errorf("%s", e.memo)
	}
}

// TestTurns: each request has its turn; before anything was asked, and before a job is
// made, the task gives up soon where that is far off, and nothing is thought of it.
func TestTurns(t *testing.T) {
	t.Parallel()
	for _, unknown := range []Unknown{"", LookUpJob} {
		e := newExports(t, unknown)
		var patiences []time.Duration
		refuse := true
		e.task.RateLimit = func(_ context.Context, patience time.Duration) error {
			if patiences = append(patiences, patience); refuse {
				return listeners.Wait(time.Minute, "a turn")
			}
			return nil
		}
		e.waits("a turn")
		if e.memo != nil || len(e.Jobs()) != 0 {
			t.Errorf("%s, %v", e.memo, e.Jobs())
		}
		patiences, refuse = nil, false
		e.done()
		if want := []time.Duration{listeners.PatienceFirst, listeners.PatienceLater, listeners.PatienceLater, listeners.PatienceLater}; !cmp.Equal(patiences, want) {
			t.Errorf("a job, a look and two pages: %v", patiences)
		}
		e.memo, patiences = []byte(`{"started":`+fmt.Sprint(time.Now().UnixMilli())+`,"jobs":[{"asked":true}]}`), nil
		e.done()
		if len(patiences) != 4 || patiences[1] != listeners.PatienceLater {
			t.Errorf("%q, with a job that is not known: %v", unknown, patiences)
		}
	}
}

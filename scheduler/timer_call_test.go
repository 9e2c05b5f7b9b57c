package scheduler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler/action"
	"github.com/fanfold/fanfold/scripts"
)

// service answers calls as a script says, and keeps what it got.
type service struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string
	times []time.Time
}

// newService answers the n-th call, from 0, with what answer writes.
func newService(t *testing.T, answer func(n int, w http.ResponseWriter)) *service {
	t.Helper()
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		n := len(s.calls)
		s.calls = append(s.calls, fmt.Sprintf("%s %s|%s|%s|%s|%s", r.Method, r.RequestURI, r.Header.Get("Idempotency-Key"), r.Header.Get("Content-Type"), r.Header.Get("X-User"), body))
		s.times = append(s.times, time.Now())
		s.mu.Unlock()
		answer(n, w)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *service) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func calling(url string) func(*report.Timer) {
	return func(d *report.Timer) {
		d.Action, d.Own = "call", &action.CallFields{
			URL: report.NewTemplate(url + "/users/{user}?type={type}"), Method: "POST", Timeout: 5 * time.Second,
			Headers: map[string]report.Template{"X-User": report.NewTemplate("u={user}")},
			Body:    report.NewTemplate(`{"type":"{type}"}`),
		}
	}
}

// TestCallIsTriedAgain after 503, when the service says.
func TestCallIsTriedAgain(t *testing.T) {
	t.Parallel()
	service := newService(t, func(n int, w http.ResponseWriter) {
		if n == 0 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	b := newTimers(t, testmain.SharedRedis(t), message(t, calling(service.URL)))
	b.run("c1", false)
	b.run("c2", false)
	due := time.Now().UnixMilli()
	b.score(`msg-a/b-"x"&y`, float64(due))
	b.until("done", func() bool { return b.events()[`msg-a/b-"x"&y done`] == 1 })
	calls := service.got()
	want := fmt.Sprintf(`POST /users/a%%2Fb?type=%%22x%%22%%26y|msg-a/b-"x"&y/%d|application/json|u=a/b|{"type":"\"x\"\u0026y"}`, due)
	if len(calls) != 2 || calls[0] != want || calls[1] != want {
		t.Errorf("%q, want %q", calls, want)
	}
	if d := service.times[1].Sub(service.times[0]); d < 990*time.Millisecond {
		t.Errorf("called again after %v", d)
	}
	if n := b.client.XLen(t.Context(), b.s.Keys.Quarantined).Val(); n != 0 {
		t.Errorf("%d in quarantine", n)
	}
}

// TestCallsThatFail for good are quarantined with their story.
func TestCallsThatFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer func(w http.ResponseWriter)
		calls  int
		reason string
	}{
		{"not found", func(w http.ResponseWriter) { http.Error(w, "no such\nuser", http.StatusNotFound) }, 1, "404 Not Found: no such user"},
		{"redirect", func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, 1, "307 Temporary Redirect"},
		{"always busy", func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }, 4, "(try 4 of 4)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			service := newService(t, func(_ int, w http.ResponseWriter) { c.answer(w) })
			b := newTimers(t, testmain.SharedRedis(t), message(t, calling(service.URL)))
			b.run("c1", false)
			b.zadd("msg-1-x", 0)
			b.until("failed", func() bool { return b.events()["msg-1-x failed"] == 1 })
			b.until("acknowledged", func() bool { return b.client.XLen(t.Context(), b.s.Keys.Fired).Val() == 0 })
			entries := b.client.XRange(t.Context(), b.s.Keys.Quarantined, "-", "+").Val()
			if len(entries) != 1 || !strings.Contains(entries[0].Values["reason"].(string), c.reason) || len(service.got()) != c.calls {
				t.Errorf("%d calls, %+v", len(service.got()), entries)
			}
		})
	}
}

// TestCallThatTakesLong is not taken over, and its process may die.
func TestCallThatTakesLong(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	service := newService(t, func(n int, _ http.ResponseWriter) {
		if n == 0 {
			<-gate
		}
	})
	b := newTimers(t, testmain.SharedRedis(t), message(t, calling(service.URL)))
	b.options.Lease = 300 * time.Millisecond
	_, stop := b.run("c1", false)
	b.zadd("msg-1-long", 0)
	b.until("called", func() bool { return len(service.got()) == 1 })
	<-time.NewTimer(2 * b.options.Lease).C
	b.run("c2", false) // looks at once for what is idle
	<-time.NewTimer(2 * time.Second).C
	if n := len(service.got()); n != 1 {
		t.Errorf("called %d times while it is under way", n)
	}
	stop()
	b.until("another does it", func() bool { return b.events()["msg-1-long done"] == 1 })
	close(gate)
	if n := len(service.got()); n != 2 {
		t.Errorf("called %d times", n)
	}
}

// TestSecretsOfCallsAreNotTold: the URL may hold a key.
func TestSecretsOfCallsAreNotTold(t *testing.T) {
	t.Parallel()
	b := newTimers(t, testmain.SharedRedis(t), message(t, calling("http://127.0.0.1:1/s3cret")))
	b.run("c1", false)
	b.zadd("msg-1-x", 0)
	b.zadd("msg-..-x", 0)
	b.until("failed", func() bool { e := b.events(); return e["msg-1-x failed"] == 1 && e["msg-..-x failed"] == 1 })
	for _, e := range b.client.XRange(t.Context(), b.s.Keys.Quarantined, "-", "+").Val() {
		if reason := e.Values["reason"].(string); strings.Contains(reason, "s3cret") || !strings.Contains(reason, "refused") && !strings.Contains(reason, "path") {
			t.Error(reason)
		}
	}
}

// inserter is a Submitter that knows what it has inserted.
type inserter struct {
	mu    sync.Mutex
	ids   map[string]string
	calls int
	away  int // how often it is away before it answers
}

func (s *inserter) Submit(_ context.Context, name string, due int64, report string, parameters []byte) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.calls <= s.away {
		return "", action.Outage(errors.New("no connection"))
	}
	key := fmt.Sprintf("%s/%d/%s/%s", name, due, report, parameters)
	if s.ids[key] == "" {
		s.ids[key] = fmt.Sprint(len(s.ids) + 1)
	}
	if s.ids[key] == "13" {
		return "", errors.New("refused")
	}
	return s.ids[key], nil
}

// TestSubmit over an outage that is longer than all tries, and over the death of
// a worker between the record and its acknowledgement.
func TestSubmit(t *testing.T) {
	t.Parallel()
	b := newTimers(t, testmain.SharedRedis(t), message(t, func(d *report.Timer) {
		d.Retry.Retries = 1
		d.Action, d.Records, d.Own = "submit", true, &action.SubmitFields{Report: "weekly", Parameters: map[string]report.Template{"user": report.NewTemplate("{user}")}}
	}))
	records := &inserter{ids: map[string]string{}, away: 3}
	b.options.Submitter = records
	ctx := t.Context()
	timers, err := NewTimers(b.options)
	if err != nil {
		t.Fatal(err)
	}
	b.zadd("msg-42-weekly", 0)
	if _, err := timers.fireDue(ctx); err != nil {
		t.Fatal(err)
	}
	// A worker takes it, does it, and dies.
	b.client.XGroupCreate(ctx, b.s.Keys.Fired, scripts.Group, "0")
	read, err := b.client.XReadGroup(ctx, &redis.XReadGroupArgs{Group: scripts.Group, Consumer: "dead", Streams: []string{b.s.Keys.Fired, ">"}}).Result()
	if err != nil || len(read[0].Messages) != 1 {
		t.Fatalf("%+v %v", read, err)
	}
	var due int64
	fmt.Sscan(read[0].Messages[0].Values["due"].(string), &due)
	records.away = 0
	if id, err := records.Submit(ctx, "msg-42-weekly", due, "weekly", []byte(`{"user":"42"}`)); err != nil || id != "1" {
		t.Fatal(id, err)
	}
	records.calls, records.away = 0, 3
	b.run("c1", false)
	b.until("pushed", func() bool { return b.client.XLen(ctx, b.s.Keys.Jobs).Val() == 1 })
	b.until("done", func() bool { return b.events()["msg-42-weekly done"] == 1 })
	jobs := b.client.XRange(ctx, b.s.Keys.Jobs, "-", "+").Val()
	if len(jobs) != 1 || jobs[0].Values["id"] != "1" || len(records.ids) != 1 || records.calls != 4 {
		t.Errorf("%+v, %d calls, %v", jobs, records.calls, records.ids)
	}
}

// TestRetryAfterOfNothing does not make the tries quicker than the definition.
func TestRetryAfterOfNothing(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"0", "Wed, 21 Oct 2015 07:28:00 GMT"} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			service := newService(t, func(_ int, w http.ResponseWriter) {
				w.Header().Set("Retry-After", value)
				w.WriteHeader(http.StatusServiceUnavailable)
			})
			b := newTimers(t, testmain.SharedRedis(t), message(t, calling(service.URL), func(d *report.Timer) {
				d.Retry = report.Retry{Retries: 1, Delay: 300 * time.Millisecond}
			}))
			b.run("c1", false)
			b.zadd("msg-1-x", 0)
			b.until("failed", func() bool { return b.events()["msg-1-x failed"] == 1 })
			if len(service.times) != 2 || service.times[1].Sub(service.times[0]) < 290*time.Millisecond {
				t.Errorf("called at %v", service.times)
			}
		})
	}
}

// TestWaitingKeepsNoSlot: the action of one timer waits for its next try, those of
// others are done meanwhile, and a stop does not wait for it.
func TestWaitingKeepsNoSlot(t *testing.T) {
	t.Parallel()
	var well atomic.Bool
	service := newService(t, func(_ int, w http.ResponseWriter) {
		if !well.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	b := newTimers(t, testmain.SharedRedis(t), message(t), message(t, calling(service.URL), func(d *report.Timer) {
		d.Key, _ = report.ParsePattern("call-{user}-{type}")
		d.Retry = report.Retry{Retries: 2, Delay: 6 * time.Second}
	}))
	b.options.Slots, b.options.Stop = 1, time.Hour
	_, stop := b.run("c1", false)
	b.zadd("call-1-x", 0)
	b.until("called", func() bool { return len(service.got()) == 1 })
	b.zadd("msg-1-other", 0)
	b.until("another", func() bool { return b.appended()["msg-1-other"] == 1 })
	if n := len(service.got()); n != 1 {
		t.Errorf("the other one has waited for %d calls", n)
	}
	stop()
	b.until("it waits", func() bool { return b.client.ZCard(t.Context(), b.s.Keys.WaitingFired).Val() == 1 })
	b.run("c2", false)
	b.until("called again", func() bool { return len(service.got()) == 2 })
	well.Store(true)
	b.until("done", func() bool { return b.events()["call-1-x done"] == 1 })
	if calls := service.got(); len(calls) != 3 || calls[0] != calls[2] || !strings.Contains(calls[0], "call-1-x/") {
		t.Errorf("%q", calls)
	}
	b.until("nothing is left", func() bool {
		return b.client.XLen(t.Context(), b.s.Keys.Fired).Val()+b.client.ZCard(t.Context(), b.s.Keys.WaitingFired).Val() == 0
	})
}

// TestStopDoesNotWaitForATry, however short it is.
func TestStopDoesNotWaitForATry(t *testing.T) {
	t.Parallel()
	b := newTimers(t, testmain.SharedRedis(t), message(t, calling("http://127.0.0.1:1"), func(d *report.Timer) {
		d.Retry = report.Retry{Retries: 1 << 20, Delay: time.Second}
	}))
	b.options.Stop = time.Hour
	_, stop := b.run("c1", false)
	b.zadd("msg-1-x", 0)
	b.until("fired", func() bool { return b.events()["msg-1-x fired"] == 1 })
	stop() // it would never end
	if n := b.client.XLen(t.Context(), b.s.Keys.Fired).Val() + b.client.ZCard(t.Context(), b.s.Keys.WaitingFired).Val(); n != 1 {
		t.Errorf("%d are left", n)
	}
}

// TestFiringThatIsUnknownHere is done by a process that knows it, and ends in
// quarantine after a while.
func TestFiringThatIsUnknownHere(t *testing.T) {
	t.Parallel()
	newer := message(t, func(d *report.Timer) {
		d.Key, _ = report.ParsePattern("new-{user}")
		d.Own.(*action.AppendFields).Fields = nil
	})
	b := newTimers(t, testmain.SharedRedis(t), message(t), newer)
	both := b.options.Timers
	b.options.Timers = both[:1]
	b.runs = leftFor
	ctx := t.Context()
	b.run("c1", false)
	fired := func(name string, ago time.Duration) {
		due := time.Now().Add(-ago).UnixMilli()
		b.client.XAdd(ctx, &redis.XAddArgs{Stream: b.s.Keys.Fired, Values: []any{"name", name, "due", due - 5000, "late", "5000"}})
	}
	fired("new-1", time.Second)
	fired("new-2", leftFor+time.Minute)
	b.until("the old one is refused", func() bool { return b.events()["new-2 failed"] == 1 })
	b.until("the young one waits", func() bool { return b.client.ZCard(ctx, b.s.Keys.WaitingFired).Val() == 1 })
	if n := b.client.XLen(ctx, b.s.Keys.Quarantined).Val(); n != 1 {
		t.Errorf("%d in quarantine", n)
	}
	b.options.Timers = both
	b.run("c2", false)
	b.until("done", func() bool { return b.appended()["new-1"] == 1 && b.events()["new-1 done"] == 1 })
}

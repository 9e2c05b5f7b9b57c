package scheduler

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// quick proves subscriptions sooner than is the default.
var quick = pace{canary: 300 * time.Millisecond, patience: time.Second, again: 50 * time.Millisecond, slow: 300 * time.Millisecond, lost: 300 * time.Millisecond, progress: 300 * time.Millisecond, tally: 300 * time.Millisecond}

// bundle is a Redis with keys of the test's own.
type bundle struct {
	t       *testing.T
	client  redis.UniversalClient
	s       *scripts.Scripts
	mu      sync.Mutex
	log     bytes.Buffer
	due     map[string]time.Time // deadlines of jobs
	options Options
}

func newBundle(t *testing.T, client redis.UniversalClient) *bundle {
	t.Helper()
	t.Cleanup(func() { _ = client.Close() })
	name := testmain.Name(t)
	b := &bundle{t: t, client: client, due: map[string]time.Time{}}
	b.s = scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: name + ":", Hash: name + "-", Replies: "replies-"}})
	b.options = Options{Scripts: b.s, Log: slog.New(slog.NewTextHandler(b, nil))}
	return b
}

// connect makes schedulers use another client.
func (b *bundle) connect(client redis.UniversalClient) {
	b.options.Scripts = scripts.New(scripts.Options{Redis: client, Keys: b.s.Keys.Keys})
}

// shared is a bundle on the package's server.
func shared(t *testing.T) *bundle { return newBundle(t, testmain.SharedRedis(t).Client()) }

// private is a bundle on a server of its own.
func private(t *testing.T, extra ...string) (*bundle, *testenv.Redis) {
	t.Helper()
	server, err := testenv.StartRedis(t.Context(), t.TempDir(), extra...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop() })
	return newBundle(t, server.Client()), server
}

func (b *bundle) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Write(p)
}

// said counts how often something is in the log.
func (b *bundle) said(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.log.String(), text)
}

// scheduler makes one that is not running.
func (b *bundle) scheduler(consumer string) *Scheduler {
	b.t.Helper()
	o := b.options
	o.Consumer = consumer
	s, err := New(o)
	if err != nil {
		b.t.Fatal(err)
	}
	s.pace = quick
	return s
}

// run runs a scheduler until the test ends, and returns its metrics.
func (b *bundle) run(consumer string) *prometheus.Registry { return b.runAt(consumer, quick) }

// runAt is run at another pace.
func (b *bundle) runAt(consumer string, p pace) *prometheus.Registry {
	b.t.Helper()
	registry := prometheus.NewRegistry()
	b.options.Metrics = registry
	s := b.scheduler(consumer)
	s.pace = p
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	b.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Error(err)
		}
	})
	return registry
}

// until polls until something holds.
func (b *bundle) until(what string, holds func() bool) {
	b.t.Helper()
	deadline := time.NewTimer(60 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			b.mu.Lock()
			defer b.mu.Unlock()
			b.t.Fatalf("not within a minute: %s\n%s", what, &b.log)
		case <-tick.C:
		}
	}
}

// hears waits until the scheduler of these metrics hears notifications, or does
// not.
func (b *bundle) hears(registry *prometheus.Registry, want float64) {
	b.t.Helper()
	b.until(fmt.Sprintf("fanfold_notifications_heard %v", want), func() bool {
		return value(b.t, registry, "fanfold_notifications_heard", "") == want
	})
}

// start starts a job with a deadline.
func (b *bundle) start(id string, in time.Duration) {
	b.t.Helper()
	b.startAttempt(id, 1, "l", in)
	b.due[id] = time.UnixMilli(int64(b.client.ZScore(b.t.Context(), b.s.Keys.Deadlines, id).Val()))
}

// startAttempt starts an attempt of a job with one listener and the definition d.
func (b *bundle) startAttempt(id string, attempt int64, listener string, timeout time.Duration) {
	b.t.Helper()
	outcomes, err := b.s.Jobs.Start(b.t.Context(), "", scripts.Start{
		ID: id, Attempt: attempt, Parameters: []byte("{}"),
		Plan: scripts.Plan{Report: "r", Definition: "d", Timeout: timeout, Listeners: listener},
	})
	if err != nil || outcomes[0] != scripts.OK {
		b.t.Fatal(outcomes, err)
	}
}

// task is the task of listener l of a job's attempt 1, as the worker of its first delivery has it.
func (b *bundle) task(id string) *scripts.Task {
	task, _ := b.s.Tasks.New(scripts.Message{ID: id, Attempt: 1}, "l", scripts.Entry{Stream: b.s.Keys.Task("l"), Consumer: "c"})
	return task
}

// startMany starts jobs whose deadlines are spread over a time.
func (b *bundle) startMany(n int, from, spread time.Duration) {
	b.t.Helper()
	for i := range n {
		b.start("job-"+strconv.Itoa(i), from+spread*time.Duration(i)/time.Duration(n))
	}
}

// allFail waits until each job that was started fails, and returns and logs the
// longest time from a deadline to its decision, by the server's clock.
func (b *bundle) allFail() time.Duration {
	b.t.Helper()
	late := map[string]time.Duration{}
	b.until("each job is FAILING", func() bool {
		for _, e := range b.client.XRange(context.Background(), b.s.Keys.Events, "-", "+").Val() {
			if id := fmt.Sprint(e.Values["id"]); e.Values["event"] == "failing" {
				ms, _, _ := strings.Cut(e.ID, "-")
				at, _ := strconv.ParseInt(ms, 10, 64)
				late[id] = time.UnixMilli(at).Sub(b.due[id])
			}
		}
		return len(late) >= len(b.due)
	})
	longest := time.Duration(0)
	for id, l := range late {
		longest = max(longest, l)
		if l < 0 {
			b.t.Errorf("%s failed %v before its deadline", id, -l)
		}
	}
	if n := b.client.XLen(context.Background(), b.s.Keys.FanIn).Val(); n != int64(len(b.due)) {
		b.t.Errorf("%d entries for %d jobs that fail", n, len(b.due))
	}
	b.t.Logf("%d timeouts, the latest %v late", len(late), longest)
	return longest
}

// value returns a metric: of a histogram its count. The label is a value.
func value(t *testing.T, registry *prometheus.Registry, name, label string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() != name || label != "" && m.GetLabel()[0].GetValue() != label {
				continue
			}
			if h := m.GetHistogram(); h != nil {
				return float64(h.GetSampleCount())
			}
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s %s", name, label)
	return 0
}

// found returns how many timeouts were found by events and by sweeps.
func found(t *testing.T, registry *prometheus.Registry) (events, sweeps float64) {
	t.Helper()
	const name = "fanfold_timeout_lateness_seconds"
	return value(t, registry, name, byEvent), value(t, registry, name, bySweep)
}

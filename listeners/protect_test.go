package listeners

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// server is a Source that says how busy it is.
type server struct {
	Source
	asked atomic.Int64 // for that
	mu    sync.Mutex
	now   func(ctx context.Context) (report.Health, error)
}

func (s *server) Measure(ctx context.Context, _ report.Protect) (report.Health, error) {
	s.asked.Add(1)
	s.mu.Lock()
	now := s.now
	s.mu.Unlock()
	return now(ctx)
}

// runs says how many threads run from now on.
func (s *server) runs(threads int) {
	s.says(func(context.Context) (report.Health, error) { return report.Health{ThreadsRunning: threads}, nil })
}

func (s *server) says(now func(ctx context.Context) (report.Health, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

var forty = map[string]report.Protect{"db": {ThreadsRunning: 40}}

// protected prepares a task of a database of which at most 40 threads may run, and returns how to run it.
func protected(t *testing.T) (b *bundle, s *server, run func(consumer string, log *slog.Logger, metrics prometheus.Registerer) (stop func())) {
	t.Helper()
	b = prepare(t, minutely, report.Limits{Tasks: 1, ShutdownTimeout: time.Hour}, func(ctx context.Context, _ int64, out *Writer, _ Task) error {
		if state, err := b.s.Jobs.Read(ctx, "1"); err != nil || state.Tasks["a"].Pause != "" {
			t.Errorf("the query runs, and the state says: %+v %v", state, err)
		}
		return one(out)
	})
	s = &server{Source: b.source}
	s.runs(57)
	return b, s, func(consumer string, log *slog.Logger, metrics prometheus.Registerer) (stop func()) {
		return b.run(consumer, func(o *Options) {
			o.Sources = map[string]Source{"db": s}
			o.Guards, o.Metrics = NewGuards(o.Sources, forty, log), metrics
		})
	}
}

// TestABusyDatabase: no query begins, no try is used, and everybody can see why. Then it begins.
func TestABusyDatabase(t *testing.T) {
	t.Parallel()
	b, s, run := protected(t)
	metrics := prometheus.NewRegistry()
	stop := run("c", nil, metrics)
	const why = "the database db is busy: 57 threads run, and protect.threads_running is 40"
	state := b.until("it waits", func(state *job.State) bool { return state.Tasks["a"].Pause == why && s.asked.Load() > 2 })
	if task := state.Tasks["a"]; task.Error != "" || task.Blame != job.BlameBusy {
		t.Errorf("%+v", task)
	}
	stop()
	state = b.until("it is handed back at the stop", func(s *job.State) bool { return s.Tasks["a"].Owner == "" })
	if task := state.Tasks["a"]; task.Tries != 0 || task.Error != "" {
		t.Errorf("%+v", task)
	}
	if tries := b.source.tries.Load(); tries != 0 {
		t.Errorf("%d queries", tries)
	}
	if err := testutil.GatherAndCompare(metrics, strings.NewReader(`
# HELP fanfold_source_busy_total Tasks that waited here and pauses between parts because a source was busy, by source and reason: threads_running, replica_lag, statement_p95, unanswered or refused.
# TYPE fanfold_source_busy_total counter
fanfold_source_busy_total{reason="threads_running",source="db"} 1
`), "fanfold_source_busy_total"); err != nil {
		t.Error(err)
	}
	run("c", nil, nil)
	b.until("it waits again", func(s *job.State) bool { return s.Tasks["a"].Pause == why })
	s.runs(40) // which the limit allows
	state = b.until("done", func(s *job.State) bool { return s.Tasks["a"].Done })
	if tries := b.source.tries.Load(); tries != 1 || state.Tasks["a"].Tries != 1 {
		t.Errorf("%d queries, and the state says: %+v", tries, state.Tasks["a"])
	}
}

// TestOneProcessMeasures, at most once a second, for all.
func TestOneProcessMeasures(t *testing.T) {
	t.Parallel()
	b, s, _ := protected(t)
	began := time.Now()
	var all sync.WaitGroup
	for range 8 { // processes
		o := b.runner.o
		o.Guards = NewGuards(map[string]Source{"db": s}, forty, nil)
		runner, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		task := &task{Runner: runner, Task: Task{Listener: &report.Listener{Source: "db"}}}
		all.Go(func() {
			for time.Since(began) < measureEvery/2 {
				if why, err := guardOf(task).busy(t.Context(), task, true); err != nil || why == nil || why.reason != "threads_running" {
					t.Errorf("%+v %v", why, err)
				}
			}
		})
	}
	all.Wait()
	if asked := s.asked.Load(); time.Since(began) < measureEvery && asked != 1 {
		t.Errorf("the server was asked %d times", asked)
	}
}

// TestQueriesThatBeginTogether: before the next measurement, no more begin than have room, in any process.
func TestQueriesThatBeginTogether(t *testing.T) {
	t.Parallel()
	b, s, _ := protected(t)
	s.runs(36)
	var begun atomic.Int64
	var all sync.WaitGroup
	for range 20 { // processes
		o := b.runner.o
		o.Guards = NewGuards(map[string]Source{"db": s}, forty, nil)
		o.Guards.of["db"].every = time.Hour
		runner, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		task := &task{Runner: runner, Task: Task{Listener: &report.Listener{Source: "db"}}}
		all.Go(func() {
			why, err := guardOf(task).busy(t.Context(), task, true)
			switch {
			case err != nil:
				t.Error(err)
			case why == nil:
				begun.Add(1)
			case !strings.Contains(why.text, "with the queries that have just begun"):
				t.Error(why.text)
			}
			if why, err := guardOf(task).busy(t.Context(), task, false); why != nil || err != nil { // the next part
				t.Errorf("%+v %v", why, err)
			}
		})
	}
	all.Wait()
	if n := begun.Load(); n != 5 { // 41 are above the limit
		t.Errorf("%d queries have begun", n)
	}
}

// TestADatabaseThatIsNotMeasured, its queries begin, and the log says so once.
func TestADatabaseThatIsNotMeasured(t *testing.T) {
	t.Parallel()
	b, s, run := protected(t)
	log := &testmain.Log{}
	s.says(func(context.Context) (report.Health, error) {
		return report.Health{}, errors.New("its account lacks PROCESS")
	})
	run("c", slog.New(slog.NewTextHandler(log, nil)), nil)
	b.until("done", func(s *job.State) bool { return s.Tasks["a"].Done })
	guard := NewGuards(map[string]Source{"db": s}, forty, slog.New(slog.NewTextHandler(log, nil))).of["db"]
	for range 3 {
		if m, err := guard.measure(t.Context()); err != nil || guard.judge(m, false) != nil {
			t.Errorf("%+v %v", m, err)
		}
	}
	if said := len(log.Lines("cannot measure")); said != 2 { // once for each of both
		t.Errorf("the log: %q", log.Lines(""))
	}
	s.runs(1)
	if _, err := guard.measure(t.Context()); err != nil || len(log.Lines("is measured again")) != 1 {
		t.Errorf("the log, later: %q %v", log.Lines(""), err)
	}
}

// TestADatabaseThatDoesNotAnswer is busy, but not for ever: a job is not held up by what only measures.
func TestADatabaseThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	server := &server{}
	server.says(func(ctx context.Context) (report.Health, error) {
		<-ctx.Done()
		return report.Health{}, ctx.Err()
	})
	guard := NewGuards(map[string]Source{"db": server}, forty, nil).of["db"]
	guard.timeout = time.Millisecond
	m, err := guard.measure(t.Context())
	if why := guard.judge(m, false); err != nil || why == nil || why.text != "the database db is busy: it did not say within 1ms how busy it is" {
		t.Errorf("%+v %v", why, err)
	}
	guard.unanswered = time.Now().Add(-maxUnanswered)
	if m, err = guard.measure(t.Context()); err != nil || guard.judge(m, false) != nil {
		t.Errorf("after a minute: %+v %v", m, err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := guard.measure(stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("of a process that stops: %v", err)
	}
}

// TestADatabaseThatDidNotAnswerLongAgo gets as much time to answer as any, if no task has asked since.
func TestADatabaseThatDidNotAnswerLongAgo(t *testing.T) {
	t.Parallel()
	b, s, _ := protected(t)
	s.says(func(ctx context.Context) (report.Health, error) {
		<-ctx.Done()
		return report.Health{}, ctx.Err()
	})
	guard := NewGuards(map[string]Source{"db": s}, forty, nil).of["db"]
	guard.timeout = time.Millisecond
	for ago, busy := range map[time.Duration]bool{time.Minute: false, time.Hour: true} {
		b.client.Del(t.Context(), b.s.Keys.Health("db"))
		guard.asked, guard.unanswered = time.Now().Add(-ago), time.Now().Add(-2*time.Hour)
		if why, known, err := guard.ask(t.Context(), b.s.Health, true); err != nil || !known || (why != nil) != busy {
			t.Errorf("after %s without a task: %+v %v %v", ago, why, known, err)
		}
	}
}

// TestPartsPause: a reader in parts pauses while the database is busy, keeps its transactions, and goes on.
func TestPartsPause(t *testing.T) {
	t.Parallel()
	busy := &server{}
	busy.runs(1)
	d := &divider{snapshot: "log 7", before: func(_ context.Context, part int64) error {
		if part == starts[1] {
			busy.runs(57)
		}
		return nil
	}}
	log := &testmain.Log{}
	b, s, run := inParts(t, d, report.SnapshotSame, func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(log, nil))
		o.Slots = NewSlots(o.Limits, map[string]int{"db": 2}) // one connection
		o.Guards = NewGuards(map[string]Source{"db": busy}, forty, o.Log)
		o.Guards.of["db"].every = time.Millisecond
	})
	run()
	b.until("it pauses", func(*job.State) bool { return len(log.Lines("reading in parts pauses")) > 0 })
	b.until("everybody sees why", func(s *job.State) bool { return strings.Contains(s.Tasks["a"].Pause, "57 threads run") })
	if got := d.parts(); !slices.Equal(got, starts[:2]) {
		t.Errorf("before the pause, it has read %d", got)
	}
	busy.runs(1)
	b.until("it goes on", func(s *job.State) bool { return s.Tasks["a"].Pause == "" })
	state := b.until("done", func(s *job.State) bool { return s.Status == job.StatusReady })
	b.isWhole(s, state.Tasks["a"])
	if got := d.parts(); !slices.Equal(got, starts[2:]) || state.Tasks["a"].Tries != 1 || state.Tasks["a"].Snapshot != "log 7" {
		t.Errorf("after the pause, it has read %d: %+v", got, state.Tasks["a"])
	}
}

package listeners

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestATaskWithoutAPlace waits for one, and then for a turn, without using a try.
func TestATaskWithoutAPlace(t *testing.T) {
	t.Parallel()
	b := setupTask(t, minutely, report.Limits{Tasks: 1, ShutdownTimeout: time.Hour}, func(ctx context.Context, try int64, out *Writer, task Task) error {
		if try == 1 {
			return Wait(time.Hour, "the runner of the test")
		}
		if err := task.WaitForRate(ctx, PatienceFirst); err != nil {
			return err
		}
		return one(out)
	})
	b.until("it waits", func(s *job.State) bool { return s.Tasks["a"].Waits != "" })
	b.stop()
	ctx := t.Context()
	somebody := scripts.Holder{ID: "2", Attempt: 1, Listener: "a", Worker: "w", Entry: "1-0"}
	if n, err := b.s.Limits.TakeSlot(ctx, "db", somebody, 1, time.Hour, 0); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if _, mine, err := b.s.Limits.Reserve(ctx, "db", time.Hour, 0); !mine || err != nil {
		t.Fatal(mine, err)
	}
	other := *b.runner.o.Reports["r"]
	other.Name, other.Timeout = "other", time.Minute
	limited := func(o *Options) {
		o.Reports = map[string]*report.Report{"r": b.runner.o.Reports["r"], "other": &other} // it has the same source
		o.Bounds = map[string]report.Bound{"db": {Parallel: 1, Rate: report.Rate{Count: 1, Per: time.Hour}}}
	}
	stop := b.run("c", limited)
	b.comes()
	const slot = "one of the 1 slots of db"
	waits := func(t job.TaskState) bool { return t.Pause == slot && t.Owner != "" }
	b.until("it waits in line", func(s *job.State) bool {
		return waits(s.Tasks["a"]) && b.inLine() > slotPatience+slotPollMax
	})
	stop()
	state := b.until("it is handed back at the stop", func(s *job.State) bool { return s.Tasks["a"].Owner == "" })
	if task := state.Tasks["a"]; task.Tries != 0 || task.Error != "" || b.inLine() != 0 {
		t.Errorf("%+v", task)
	}
	stop = b.run("c", limited)
	state = b.until("it waits in line again", func(s *job.State) bool { return waits(s.Tasks["a"]) })
	if task := state.Tasks["a"]; task.Error != "" || task.Blame != job.BlameSlots {
		t.Errorf("%+v", task)
	}
	released := b.client.Time(ctx).Val()
	if err := b.s.Limits.ReleaseSlot(ctx, "db", somebody); err != nil {
		t.Fatal(err)
	}
	const rate = "the rate limit of db: 1 in 1h0m0s"
	state = b.until("it waits for its rate", func(s *job.State) bool { return s.Tasks["a"].Waits == rate && s.Tasks["a"].Owner == "" })
	if task := state.Tasks["a"]; task.Tries != 0 || task.Error != "" || task.Blame != job.BlameRate || task.Taken.Before(released.Truncate(time.Millisecond)) {
		t.Errorf("%+v", task)
	}
	if in := time.Until(b.delayed()); in < 30*time.Minute {
		t.Errorf("it comes again in %v", in)
	}
	b.client.Del(ctx, b.s.Keys.Rate("db"))
	b.comes()
	b.until("done", func(s *job.State) bool { return s.Tasks["a"].Done })
	b.until("its place is given back", func(*job.State) bool { return b.client.ZCard(ctx, b.s.Keys.Slots("db")).Val() == 0 })
	stop()
}

// inLine returns for how long the first of the queue for a slot of db has polled; 0: nobody waits.
func (b *bundle) inLine() time.Duration {
	from := b.client.ZRangeWithScores(b.t.Context(), b.s.Keys.SlotQueue("db"), 0, 0).Val()
	if len(from) == 0 {
		return 0
	}
	holder, _ := from[0].Member.(string)
	last := b.client.ZScore(b.t.Context(), b.s.Keys.SlotAsked("db"), holder).Val()
	return time.Duration(last-from[0].Score) * time.Millisecond
}

// TestATaskInLineEnds when its job is cancelled, and leaves the line.
func TestATaskInLineEnds(t *testing.T) {
	t.Parallel()
	b := prepare(t, minutely, report.Limits{}, func(context.Context, int64, *Writer, Task) error { return errors.New("it began") })
	if n, err := b.s.Limits.TakeSlot(t.Context(), "db", scripts.Holder{ID: "0"}, 1, time.Hour, 0); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	b.run("c", func(o *Options) { o.Bounds = map[string]report.Bound{"db": {Parallel: 1}} })
	b.until("it waits in line", func(s *job.State) bool { return s.Tasks["a"].Pause != "" && b.inLine() > 0 })
	if _, _, err := b.s.Jobs.Cancel(t.Context(), "1", 1, "test"); err != nil {
		t.Fatal(err)
	}
	b.until("it has left the line", func(*job.State) bool {
		return b.inLine() == 0 && b.client.XPending(t.Context(), b.s.Keys.Task("a"), scripts.Group).Val().Count == 0
	})
}

// TestAListenerWithSeveralSources in several reports does not keep the tasks of one source behind those of another,
// which is full or busy.
func TestAListenerWithSeveralSources(t *testing.T) {
	t.Parallel()
	for name, full := range map[string]func(b *bundle, o *Options){
		"full": func(b *bundle, o *Options) {
			o.Bounds = map[string]report.Bound{"db": {Parallel: 1}}
			if n, err := b.s.Limits.TakeSlot(b.t.Context(), "db", scripts.Holder{ID: "0"}, 1, time.Hour, 0); n != 0 || err != nil {
				b.t.Fatal(n, err)
			}
		},
		"busy": func(b *bundle, o *Options) {
			s := &server{Source: b.source}
			s.runs(57)
			o.Sources["db"], o.Guards = s, NewGuards(map[string]Source{"db": s}, forty, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := prepare(t, minutely, report.Limits{}, func(_ context.Context, _ int64, out *Writer, _ Task) error { return one(out) })
			other := *b.runner.o.Reports["r"]
			listener := other.Stages[0].Listeners[0]
			listener.Source = "other"
			other.Name, other.Stages = "s", []report.Stage{{Listeners: []report.Listener{listener}}}
			start(t, b.s, "2", "{}", scripts.Plan{Report: "s", Definition: other.Hash(), Timeout: time.Hour, Listeners: "a"})
			b.run("c", func(o *Options) {
				o.Reports = map[string]*report.Report{"r": b.runner.o.Reports["r"], "s": &other}
				o.Sources = map[string]Source{"db": b.source, "other": b.source}
				full(b, o)
			})
			b.until("the task of the other source is done", func(*job.State) bool {
				state, err := b.s.Jobs.Read(t.Context(), "2")
				return err == nil && state.Tasks["a"].Done
			})
			state := b.until("its own waits", func(s *job.State) bool { return s.Tasks["a"].Waits != "" && s.Tasks["a"].Owner == "" })
			if task := state.Tasks["a"]; task.Done || task.Tries != 0 || task.Next.IsZero() {
				t.Errorf("%+v", task)
			}
		})
	}
}

// TestALongWaitIsShown while a query waits for its rate limit or for an API, and is gone when the process stops.
func TestALongWaitIsShown(t *testing.T) {
	t.Parallel()
	for what, waits := range map[string]func(context.Context, Task) error{
		"the rate limit of db: 1 in 1m0s": func(ctx context.Context, task Task) error {
			return errors.Join(task.WaitForRate(ctx, 0), task.WaitForRate(ctx, PatienceLater))
		},
		"the API db is busy: its last answer is 429": func(ctx context.Context, task Task) error {
			task.Backoff.Refused(ctx, time.Minute, "429")
			return task.Backoff.Wait(ctx, PatienceLater, time.Minute)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := prepare(t, minutely, report.Limits{}, func(ctx context.Context, _ int64, _ *Writer, task Task) error { return waits(ctx, task) })
			stop := b.run("c", func(o *Options) {
				o.Bounds = map[string]report.Bound{"db": {Rate: report.Rate{Count: 1, Per: time.Minute}}}
			})
			b.until("it waits", func(s *job.State) bool { return s.Tasks["a"].Pause == what })
			stop()
			b.until("it is handed back", func(s *job.State) bool { return s.Tasks["a"].Pause == "" })
		})
	}
}

// TestWaitingForATurnTakesNoTime of those that the listener's timeout gives a task.
func TestWaitingForATurnTakesNoTime(t *testing.T) {
	t.Parallel()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	r, err := New(Options{
		Redis: client, Scripts: scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: testmain.Name(t) + ":"}}), Consumer: "c",
		Bounds: map[string]report.Bound{"db": {Rate: report.Rate{Count: 1, Per: time.Second}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	task := &task{Runner: r, Task: Task{Listener: &report.Listener{Source: "db"}}, clock: ask.NewPatience(t.Context(), 500*time.Millisecond, errLate)}
	defer task.clock.Stop()
	for range 2 {
		if err := task.waitForRate(t.Context(), PatienceLater); err != nil {
			t.Fatal(err)
		}
	}
	if task.pauses.away > 0 {
		t.Errorf("Redis was away for %v", task.pauses.away)
	}
	if task.clock.Over() {
		t.Error("the task is late, which has only waited")
	}
}

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
	b := setupTask(t, minutely, report.Limits{}, func(ctx context.Context, try int64, out *Writer, task Task) error {
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
	if held, err := b.s.Limits.TakeSlot(ctx, "db", somebody, 1, time.Hour); !held || err != nil {
		t.Fatal(held, err)
	}
	if _, mine, err := b.s.Limits.Reserve(ctx, "db", time.Hour, 0); !mine || err != nil {
		t.Fatal(mine, err)
	}
	stop := b.run("c", func(o *Options) {
		o.Bounds = map[string]report.Bound{"db": {Parallel: 1, Rate: report.Rate{Count: 1, Per: time.Hour}}}
	})
	waits := func(what string, blame job.Blame) {
		t.Helper()
		b.comes()
		if blame == job.BlameSlots {
			b.until("it waits in its process", func(s *job.State) bool { return s.Tasks["a"].Pause == what })
		}
		state := b.until(what, func(s *job.State) bool { return s.Tasks["a"].Waits == what && s.Tasks["a"].Owner == "" })
		if task := state.Tasks["a"]; task.Tries != 0 || task.Error != "" || task.Blame != blame {
			t.Errorf("%+v", task)
		}
	}
	waits("one of the 1 slots of db", job.BlameSlots)
	if err := b.s.Limits.ReleaseSlot(ctx, "db", somebody); err != nil {
		t.Fatal(err)
	}
	waits("the rate limit of db: 1 in 1h0m0s", job.BlameRate)
	if in := time.Until(b.delayed()); in < 30*time.Minute {
		t.Errorf("it comes again in %v", in)
	}
	b.client.Del(ctx, b.s.Keys.Rate("db"))
	b.comes()
	b.until("done", func(s *job.State) bool { return s.Tasks["a"].Done })
	b.until("its place is given back", func(*job.State) bool { return b.client.ZCard(ctx, b.s.Keys.Slots("db")).Val() == 0 })
	stop()
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

package listeners

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

const (
	// slotPatience is how long a worker waits for a slot of its process before it requeues the task, which another
	// process may execute; of a listener with several sources also for its source.
	slotPatience = time.Second
	// slotPoll is how often one of the first slotPolls tasks polls that wait for a slot of a source. Those after them
	// poll less often, at least every slotPollMax.
	slotPoll    = 50 * time.Millisecond
	slotPolls   = 8
	slotPollMax = time.Second
	// freeTime is the timeout for releasing a slot.
	freeTime = 5 * time.Second
)

// takeSlot takes one of the slots of the source, which all processes share, until release is called. It waits in line
// for it, or returns a wait if patienceEnds.
func (r *tasks) takeSlot(ctx context.Context, t *task) (release func(), err error) {
	source, limits, lease := t.Listener.Source, t.o.Scripts.Limits, t.o.Limits.Lease
	who := scripts.Holder{ID: t.ID, Attempt: t.Attempt, Listener: t.Listener.Name, Worker: t.o.Consumer,
		Entry: t.own.Entry.ID}
	leave := func() {
		quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), freeTime)
		defer cancel()
		_ = limits.ReleaseSlot(quick, source, who) // or its lease ends
	}
	waits := false
	defer func() {
		if err != nil && waits {
			leave()
		}
	}()
	slots, slack := 0, scripts.SlotSlack
	if len(r.sources) > 1 {
		slack = t.Report.Timeout + time.Hour // it loses its place when it is requeued
	}
	for began := time.Now(); ; {
		if slots = slotsOf(ctx, t); slots == 0 { // people change it while it waits
			if waits {
				leave()
			}
			return func() {}, nil
		}
		back := t.slot.lend()
		n, err := step.Insist(ctx, t.log, "take slot",
			func() (int, error) { return limits.TakeSlot(ctx, source, who, slots, lease, slack) }, step.UnlessFull)
		if back(); err != nil {
			return nil, away(err)
		}
		if n == 0 {
			break
		}
		waits = true
		what := fmt.Sprintf("one of the %d slots of %s", slots, source)
		if r.patienceEnds(began) {
			return nil, wait{slotPatience + rand.N(slotPatience), what, job.BlameSlots}
		}
		if err := say(ctx, t, what, job.BlameSlots); err != nil {
			return nil, err
		}
		poll := min(slotPollMax, slotPoll*time.Duration(max(1, n/slotPolls)))
		if err := r.sleep(ctx, poll/2+rand.N(poll)); err != nil {
			return nil, err
		}
	}
	// If the slot is lost because this process was paused, the task continues: it exceeds the limit
	// by one for a while.
	_, stop := step.Renew(ctx, lease, func(ctx context.Context) (bool, error) {
		_, err := limits.TakeSlot(ctx, source, who, slots, lease, slack)
		return true, err
	})
	return func() {
		stop()
		leave()
	}, nil
}

// patienceEnds tells whether a task that has waited for its source since then is requeued. It usually waits on: a task
// that was requeued would be behind younger ones. But if its listener has other sources in other reports, their tasks
// would wait behind it.
func (r *tasks) patienceEnds(since time.Time) bool {
	return len(r.sources) > 1 && time.Since(since) > slotPatience
}

// sleep waits for d. It returns step.ErrStopping if no task may begin any more.
func (r *tasks) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-r.stop:
		return step.ErrStopping
	case <-ctx.Done():
		return away(context.Cause(ctx))
	}
}

// slotsOf returns how many tasks may use the source of a task at once; 0: any number. If Redis does not say whether
// people have changed that, it is the number of the configuration.
func slotsOf(ctx context.Context, t *task) int {
	holds, err := t.o.Scripts.Gate.Recent(ctx)
	if err != nil {
		t.log.Debug("could not read the limit of a source", "source", t.Listener.Source, "err", err)
	}
	return holds.Limit(scripts.PausedSource(t.Listener.Source), t.o.Bounds[t.Listener.Source].Parallel)
}

// waitForRate is Task.RateLimit.
func (t *task) waitForRate(ctx context.Context, patience time.Duration) error {
	source := t.Listener.Source
	rate, mine := t.o.Bounds[source].Rate, false
	after, err := callRedis(ctx, t, "reserve rate", func() (after time.Duration, err error) {
		after, mine, err = t.o.Scripts.Limits.Reserve(ctx, source, rate.Distance(), patience)
		return after, err
	})
	if err != nil {
		return err
	}
	what := fmt.Sprintf("the rate limit of %s: %d in %s", source, rate.Count, rate.Per)
	if !mine {
		return wait{after + rand.N(after/8+1), what, job.BlameRate}
	}
	defer t.clock.Pause()()
	if err := sayFor(ctx, t, after, what, job.BlameRate); err != nil {
		return err
	}
	if err := step.Wait(ctx, after); err != nil {
		return err
	}
	return say(ctx, t, "", "")
}

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
	// slotPatience is how long a worker waits for a slot of its process or of a source before it
	// requeues the task.
	slotPatience = time.Second
	// slotPoll is how often it polls.
	slotPoll = 50 * time.Millisecond
	// freeTime is the timeout for releasing a slot.
	freeTime = 5 * time.Second
)

// takeSlot takes one of the slots of the source, which all processes share, until release is called.
func (t *task) takeSlot(ctx context.Context) (release func(), err error) {
	source, limits, lease := t.Listener.Source, t.o.Scripts.Limits, t.o.Limits.Lease
	slots := slotsOf(ctx, t)
	if slots == 0 {
		return func() {}, nil
	}
	who := scripts.Holder{ID: t.ID, Attempt: t.Attempt, Listener: t.Listener.Name, Worker: t.o.Consumer,
		Entry: t.own.Entry.ID}
	what := fmt.Sprintf("one of the %d slots of %s", slots, source)
	for end := time.Now().Add(slotPatience); ; {
		back := t.slot.lend()
		held, err := step.Insist(ctx, t.log, "take slot",
			func() (bool, error) { return limits.TakeSlot(ctx, source, who, slots, lease) }, step.UnlessFull)
		if back(); err != nil {
			return nil, away(err)
		}
		if held {
			break
		}
		if time.Now().After(end) {
			return nil, wait{slotPatience + rand.N(slotPatience), what, job.BlameSlots}
		}
		if err := say(ctx, t, what, job.BlameSlots); err != nil {
			return nil, err
		}
		if err := step.Wait(ctx, slotPoll/2+rand.N(slotPoll)); err != nil {
			return nil, err
		}
	}
	// If the slot is lost because this process was paused, the task continues: it exceeds the limit
	// by one for a while.
	_, stop := step.Renew(ctx, lease, func(ctx context.Context) (bool, error) {
		_, err := limits.TakeSlot(ctx, source, who, slots, lease)
		return true, err
	})
	return func() {
		stop()
		quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), freeTime)
		defer cancel()
		_ = limits.ReleaseSlot(quick, source, who) // or its lease ends
	}, nil
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

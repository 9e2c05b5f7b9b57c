package listeners

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
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

// slot takes one of the slots of a source, which all processes share, until release is called.
func (r *Runner) slot(ctx context.Context, t *task, source string, own *taskSlot) (release func(), err error) {
	slots := r.o.Bounds[source].Parallel
	if slots == 0 {
		return func() {}, nil
	}
	who := scripts.Holder{ID: t.ID, Attempt: t.Attempt, Listener: t.Task.Listener, Worker: r.o.Consumer, Entry: t.Entry.ID}
	lease := r.o.Limits.Lease
	for end := time.Now().Add(slotPatience); ; {
		var held bool
		if err := own.without(func() error {
			return r.insist(ctx, "take slot", func() (err error) {
				held, err = r.o.Scripts.Limits.TakeSlot(ctx, source, who, slots, lease)
				return err
			})
		}); err != nil {
			return nil, away(err)
		}
		if held {
			break
		}
		if time.Now().After(end) {
			return nil, wait{slotPatience + rand.N(slotPatience), fmt.Sprintf("one of the %d slots of %s", slots, source), job.BlameSlots}
		}
		if err := step.Wait(ctx, slotPoll/2+rand.N(slotPoll)); err != nil {
			return nil, err
		}
	}
	// If the slot is lost because this process was paused, the task continues: it exceeds the limit
	// by one for a while.
	_, stop := step.Renew(ctx, lease, func(ctx context.Context) (bool, error) {
		_, err := r.o.Scripts.Limits.TakeSlot(ctx, source, who, slots, lease)
		return true, err
	})
	return func() {
		stop()
		quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), freeTime)
		defer cancel()
		_ = r.o.Scripts.Limits.ReleaseSlot(quick, source, who) // or its lease ends
	}, nil
}

// rateLimit returns Task.RateLimit for a source; nil if it has no limit.
func (r *Runner) rateLimit(source string, limit *limit) func(context.Context, time.Duration) error {
	rate := r.o.Bounds[source].Rate
	if rate.Count == 0 {
		return nil
	}
	return func(ctx context.Context, patience time.Duration) error {
		var after time.Duration
		var mine bool
		if err := limit.without(func() error {
			return r.insist(ctx, "reserve rate", func() (err error) {
				after, mine, err = r.o.Scripts.Limits.Reserve(ctx, source, rate.Distance(), patience)
				return err
			})
		}); err != nil {
			return away(err)
		}
		if !mine {
			return wait{after + rand.N(after/8+1), fmt.Sprintf("the rate limit of %s: %d in %s", source, rate.Count, rate.Per), job.BlameRate}
		}
		return limit.Stopped(func() error { return step.Wait(ctx, after) })
	}
}

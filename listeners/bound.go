package listeners

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fanfold/fanfold/internal/step"
)

const (
	// placePatience is how long a worker waits for a place at a source before it gives
	// the task up for a while.
	placePatience = time.Second
	// placeLook is how often it looks.
	placeLook = 50 * time.Millisecond
	// leaveTime is how long giving a place back is worth a stop's patience.
	leaveTime = 5 * time.Second
)

// place takes a place at a source, of those that all processes together have. The
// place is held until release is called.
func (r *Runner) place(ctx context.Context, t *task, source string) (release func(), err error) {
	places := r.o.Bounds[source].Parallel
	if places == 0 {
		return func() {}, nil
	}
	who, lease := r.o.Consumer+"/"+t.Entry.ID, r.o.Limits.Lease
	for end := time.Now().Add(placePatience); ; {
		held, err := insist(ctx, r, "take slot", func() (bool, error) { return r.o.Scripts.Gate.TakeSlot(ctx, source, who, places, lease) })
		if err != nil {
			return nil, away(err)
		}
		if held {
			break
		}
		if time.Now().After(end) {
			return nil, Wait(placePatience+rand.N(placePatience), fmt.Sprintf("one of the %d places at %s", places, source))
		}
		if err := step.Wait(ctx, placeLook/2+rand.N(placeLook)); err != nil {
			return nil, err
		}
	}
	// That the place was lost meanwhile, to a pause of this process, does not end the
	// task: it is one too many for a while.
	_, stop := step.Keep(ctx, lease, func(ctx context.Context) (bool, error) {
		_, err := r.o.Scripts.Gate.TakeSlot(ctx, source, who, places, lease)
		return true, err
	})
	return func() {
		stop()
		quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
		defer cancel()
		_ = r.o.Scripts.Gate.FreeSlot(quick, source, who) // or its lease ends
	}, nil
}

// turn is Task.Turn for a source; nil where nothing bounds it.
func (r *Runner) turn(source string, limit *limit) func(context.Context, time.Duration) error {
	rate := r.o.Bounds[source].Rate
	if rate.Count == 0 {
		return nil
	}
	return func(ctx context.Context, patience time.Duration) error {
		var wait time.Duration
		var mine bool
		if err := limit.without(func() error {
			return r.insist(ctx, "take turn", func() (err error) {
				wait, mine, err = r.o.Scripts.Gate.Reserve(ctx, source, rate.Distance(), patience)
				return err
			})
		}); err != nil {
			return away(err)
		}
		if !mine {
			return Wait(wait+rand.N(wait/8+1), fmt.Sprintf("a turn at %s, which is asked %d times in %s", source, rate.Count, rate.Per))
		}
		return limit.Stopped(func() error { return step.Wait(ctx, wait) })
	}
}

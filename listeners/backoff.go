package listeners

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/step"
)

// Backoff keeps all processes from calling a source that refuses calls for a while. After that, one call at a time is
// tried, until one succeeds. One goroutine uses it. A nil Backoff does nothing.
type Backoff struct {
	task  *task
	trial bool // the call that is made is the only one
}

// Wait waits until a call may be made. Trial is the maximum duration of one. If the wait would exceed the patience, it
// returns a Wait, which Source.Read returns unchanged.
func (b *Backoff) Wait(ctx context.Context, patience, trial time.Duration) error {
	if b == nil {
		return nil
	}
	t, end, waited := b.task, time.Now().Add(patience), false
	for {
		var after time.Duration
		var why string
		alone, err := callRedis(ctx, t, "ask for a call", func() (alone bool, err error) {
			alone, after, why, err = t.o.Scripts.Health.MayCall(ctx, t.Listener.Source, trial)
			return alone, err
		})
		if err != nil {
			return err
		}
		if b.trial = alone; after == 0 {
			return nil
		}
		says := &busy{reasonRefused, "the API " + t.Listener.Source + " is busy: it has answered " + why}
		if time.Now().Add(after).After(end) {
			return says.puts(t, after)
		}
		if !waited {
			says.count(t)
			waited = true
		}
		resume := t.clock.Pause()
		err = step.Wait(ctx, after+rand.N(busyPoll))
		if resume(); err != nil {
			return err
		}
	}
}

// Refused says that the source wants no calls for a time. Why is what it has answered.
func (b *Backoff) Refused(ctx context.Context, d time.Duration, why string) {
	b.tell(ctx, func(ctx context.Context) error {
		_, err := b.task.o.Scripts.Health.BackOff(ctx, b.task.Listener.Source, d, report.Shorten(why))
		return err
	})
}

// Called says how a call has ended that was not refused: whether the source takes calls again.
func (b *Backoff) Called(ctx context.Context, succeeded bool) {
	switch {
	case b == nil || !b.trial:
	case succeeded:
		b.tell(ctx, func(ctx context.Context) error {
			return b.task.o.Scripts.Health.Called(ctx, b.task.Listener.Source)
		})
	default:
		b.Refused(ctx, 0, "nothing")
	}
}

// tell tells the other processes something. If Redis is away, they do not hear of it, and the source refuses them, too.
func (b *Backoff) tell(ctx context.Context, what func(context.Context) error) {
	if b == nil {
		return
	}
	b.trial = false
	quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), freeTime)
	defer cancel()
	if err := what(quick); err != nil && !errors.Is(err, context.Canceled) {
		b.task.log.Warn("cannot share whether a source takes calls", "source", b.task.Listener.Source, "err", err)
	}
}

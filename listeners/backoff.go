package listeners

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
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
			return say(ctx, t, "", "")
		}
		says := &busy{reasonRefused, "the API " + t.Listener.Source + " is busy: its last answer is " + why}
		if time.Now().Add(after).After(end) {
			return says.puts(t, after)
		}
		if !waited {
			says.count(t)
			waited = true
		}
		resume := t.clock.Pause()
		err = sayFor(ctx, t, after, says.text, job.BlameBusy)
		if err == nil {
			err = step.Wait(ctx, after+rand.N(busyPoll))
		}
		if resume(); err != nil {
			return err
		}
	}
}

// Refused says that the source wants no calls for a time. Why is what it has answered.
func (b *Backoff) Refused(ctx context.Context, d time.Duration, why string) {
	b.tell(ctx, func(ctx context.Context, of scripts.Health, source string) error {
		_, err := of.BackOff(ctx, source, d, report.Shorten(why))
		return err
	})
}

// Failed says that a call has another answer than a refusal, or none: if it was tried alone, the next one is. Why is
// what the source has answered; empty: nothing.
func (b *Backoff) Failed(ctx context.Context, why string) {
	if b != nil && b.trial {
		b.Refused(ctx, 0, why)
	}
}

// Succeeded says that the source takes calls.
func (b *Backoff) Succeeded(ctx context.Context) {
	if b != nil && b.trial {
		b.tell(ctx, func(ctx context.Context, of scripts.Health, source string) error { return of.Called(ctx, source) })
	}
}

// tell tells the other processes something. If Redis is away, they do not hear of it, and the source refuses them, too.
func (b *Backoff) tell(ctx context.Context, what func(context.Context, scripts.Health, string) error) {
	if b == nil {
		return
	}
	b.trial = false
	quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), freeTime)
	defer cancel()
	source := b.task.Listener.Source
	if err := what(quick, b.task.o.Scripts.Health, source); err != nil {
		b.task.log.Warn("cannot share whether a source takes calls", "source", source, "err", err)
	}
}

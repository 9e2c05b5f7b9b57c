package ask

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// Patience is a time limit that can be paused, because storing rows or waiting for a rate limit is
// not the service's fault. It must be used by one goroutine.
type Patience struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	end    time.Time
	cause  error // of the context when the time is over
}

// unlimited is a limit that is never reached.
const unlimited = 100 * 365 * 24 * time.Hour

// NewPatience starts a time limit; 0: none. Cause is the cause of its context when the time is over.
func NewPatience(parent context.Context, limit time.Duration, cause error) *Patience {
	limit = cmp.Or(limit, unlimited)
	p := &Patience{end: time.Now().Add(limit), cause: cause}
	p.ctx, p.cancel = context.WithCancelCause(parent)
	p.timer = time.AfterFunc(limit, func() { p.cancel(cause) })
	return p
}

// Context ends with the time limit, its parent, or Stop.
func (p *Patience) Context() context.Context { return p.ctx }

// Pause stops the time until resume is called.
func (p *Patience) Pause() (resume func()) {
	if !p.timer.Stop() {
		return func() {}
	}
	began := time.Now()
	return func() {
		p.end = p.end.Add(time.Since(began))
		p.timer.Reset(time.Until(p.end))
	}
}

// Restart starts the time limit again, with another limit.
func (p *Patience) Restart(limit time.Duration) {
	limit = cmp.Or(limit, unlimited)
	p.end = time.Now().Add(limit)
	p.timer.Reset(limit)
}

// Over reports whether the time is over.
func (p *Patience) Over() bool {
	return p.cause != nil && errors.Is(context.Cause(p.ctx), p.cause)
}

// Stop ends the time limit and its context.
func (p *Patience) Stop() {
	p.timer.Stop()
	p.cancel(nil)
}

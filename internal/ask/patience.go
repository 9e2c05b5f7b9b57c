package ask

import (
	"context"
	"errors"
	"time"
)

// Patience is a time limit that can be stopped: that rows are being stored, or that a task
// waits for its rate limit, is not the service's fault. It is used by one goroutine.
type Patience struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	end    time.Time
	cause  error // of the end of ctx where the time is over
}

// NewPatience begins a time limit. Cause is that of its context when it is over.
func NewPatience(parent context.Context, limit time.Duration, cause error) *Patience {
	p := &Patience{end: time.Now().Add(limit), cause: cause}
	p.ctx, p.cancel = context.WithCancelCause(parent)
	p.timer = time.AfterFunc(limit, func() { p.cancel(cause) })
	return p
}

// Context ends with the time limit, with its parent, or with Stop.
func (p *Patience) Context() context.Context { return p.ctx }

// Without runs f, whose time does not count.
func (p *Patience) Without(f func() error) error {
	began := time.Now()
	err := f()
	if took := time.Since(began); took > time.Millisecond && p.timer.Stop() {
		p.end = p.end.Add(took)
		p.timer.Reset(time.Until(p.end))
	}
	return err
}

// Stopped is Without for what may take longer than there is time left. Of nil it is f.
func (p *Patience) Stopped(f func() error) error {
	if p == nil || !p.timer.Stop() {
		return f()
	}
	began := time.Now()
	err := f()
	p.end = p.end.Add(time.Since(began))
	p.timer.Reset(time.Until(p.end))
	return err
}

// Restart gives it a whole limit from now on. Of nil it does nothing.
func (p *Patience) Restart(limit time.Duration) {
	if p != nil {
		p.end = time.Now().Add(limit)
		p.timer.Reset(limit)
	}
}

// Over tells whether the time is over.
func (p *Patience) Over() bool { return errors.Is(context.Cause(p.ctx), p.cause) }

// Stop ends the time limit and its context.
func (p *Patience) Stop() {
	p.timer.Stop()
	p.cancel(nil)
}

package ask

import (
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

// NewPatience starts a time limit. Cause is the cause of its context when the time is over.
func NewPatience(parent context.Context, limit time.Duration, cause error) *Patience {
	p := &Patience{end: time.Now().Add(limit), cause: cause}
	p.ctx, p.cancel = context.WithCancelCause(parent)
	p.timer = time.AfterFunc(limit, func() { p.cancel(cause) })
	return p
}

// Context ends with the time limit, its parent, or Stop.
func (p *Patience) Context() context.Context { return p.ctx }

// Without runs f without counting its time.
func (p *Patience) Without(f func() error) error {
	began := time.Now()
	err := f()
	if took := time.Since(began); took > time.Millisecond && p.timer.Stop() {
		p.end = p.end.Add(took)
		p.timer.Reset(time.Until(p.end))
	}
	return err
}

// Stopped is Without for functions that may take longer than the time that is left. A nil Patience
// only runs f.
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

// Restart starts the time limit again. A nil Patience does nothing.
func (p *Patience) Restart(limit time.Duration) {
	if p != nil {
		p.end = time.Now().Add(limit)
		p.timer.Reset(limit)
	}
}

// Over reports whether the time is over.
func (p *Patience) Over() bool { return errors.Is(context.Cause(p.ctx), p.cause) }

// Stop ends the time limit and its context.
func (p *Patience) Stop() {
	p.timer.Stop()
	p.cancel(nil)
}

package http

import (
	"context"
	"errors"
	"time"
)

// patience is the time of one request, or of a task. That rows are being stored, or that a
// task waits for its turn, does not count: it is not the API's fault. It is used by one
// goroutine.
type patience struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	end    time.Time
	cause  error // of the end of ctx where the time is over
}

var errSlow = errors.New("no whole answer in time")

func newPatience(parent context.Context, limit time.Duration, cause error) *patience {
	p := &patience{end: time.Now().Add(limit), cause: cause}
	p.ctx, p.cancel = context.WithCancelCause(parent)
	p.timer = time.AfterFunc(limit, func() { p.cancel(cause) })
	return p
}

// without runs f, whose time does not count.
func (p *patience) without(f func() error) error {
	began := time.Now()
	err := f()
	if took := time.Since(began); took > time.Millisecond && p.timer.Stop() {
		p.end = p.end.Add(took)
		p.timer.Reset(time.Until(p.end))
	}
	return err
}

// stopped is without for what may take longer than there is time left. Of nil it is f.
func (p *patience) stopped(f func() error) error {
	if p == nil || !p.timer.Stop() {
		return f()
	}
	began := time.Now()
	err := f()
	p.end = p.end.Add(time.Since(began))
	p.timer.Reset(time.Until(p.end))
	return err
}

// over tells whether the time is over.
func (p *patience) over() bool { return errors.Is(context.Cause(p.ctx), p.cause) }

func (p *patience) stop() {
	p.timer.Stop()
	p.cancel(nil)
}

package http

import (
	"context"
	"errors"
	"time"
)

// patience is the time of one request. That rows are being stored does not count: it
// is not the API's fault. It is used by one goroutine.
type patience struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	end    time.Time
}

var errSlow = errors.New("no whole answer in time")

func newPatience(parent context.Context, limit time.Duration) *patience {
	p := &patience{end: time.Now().Add(limit)}
	p.ctx, p.cancel = context.WithCancelCause(parent)
	p.timer = time.AfterFunc(limit, func() { p.cancel(errSlow) })
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

// over tells whether the time is over.
func (p *patience) over() bool { return errors.Is(context.Cause(p.ctx), errSlow) }

func (p *patience) stop() {
	p.timer.Stop()
	p.cancel(nil)
}

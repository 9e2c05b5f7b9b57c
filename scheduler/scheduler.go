package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/scripts"
)

const (
	// most is how much one pass of a loop takes.
	most = 100
	// pause is the longest sleep of a loop.
	pause = time.Second
)

// Options configures a Scheduler.
type Options struct {
	Scripts *scripts.Scripts
	Log     *slog.Logger // nil: silent
}

// Scheduler does what time asks for. Run may be called once.
type Scheduler struct {
	scripts *scripts.Scripts
	log     *slog.Logger
}

// New returns a Scheduler. It does no I/O.
func New(o Options) (*Scheduler, error) {
	if o.Scripts == nil {
		return nil, errors.New("scheduler: Scripts is needed")
	}
	s := &Scheduler{scripts: o.Scripts, log: o.Log}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s, nil
}

// Run works until ctx ends, and returns nil then. An outage of Redis is waited
// out.
func (s *Scheduler) Run(ctx context.Context) error {
	var group errgroup.Group
	group.Go(func() error { return s.loop(ctx, "move what is due", s.moveDue) })
	group.Go(func() error { return s.loop(ctx, "fail what is overdue", s.failOverdue) })
	return group.Wait()
}

// loop calls once again and again; it says how long to sleep in between.
func (s *Scheduler) loop(ctx context.Context, what string, once func(context.Context) (time.Duration, error)) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		sleep, err := once(ctx)
		if err != nil {
			sleep = pause
			if ctx.Err() == nil {
				s.log.Warn("scheduler", "what", what, "err", err)
			}
		}
		timer.Reset(min(sleep, pause))
	}
}

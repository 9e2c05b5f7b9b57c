package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/past"
	"github.com/fanfold/fanfold/step"
)

const (
	// most is the maximum number of members per pass of a loop.
	most = 100
	// pause is the maximum sleep of a loop.
	pause = time.Second
)

// TimerEvents receives events of timers in Redis. Its methods must not block: they are called in
// order, and the next event waits.
type TimerEvents interface {
	// Touched reports an event of a timer's key, by Redis's name of the event.
	Touched(name, event string)
	// Changed reports a change of the set of timers.
	Changed()
	// Subscribed says that events arrive from now on and that earlier ones may have been missed. If
	// all is false, Touched is not called for every event, because Redis does not publish all
	// events of a timer's key.
	Subscribed(all bool)
	// Deaf says that no events arrive until Subscribed is called.
	Deaf()
}

// Options configures a Scheduler.
type Options struct {
	Scripts  *scripts.Scripts
	Consumer string                // unique for this process
	Timers   TimerEvents           // nil: none
	Metrics  prometheus.Registerer // nil: none
	Log      *slog.Logger          // nil: silent
}

// Scheduler does what becomes due. Run may be called once.
type Scheduler struct {
	*base
	mover        *mover
	deadlines    *deadlines
	lost         *lost
	progress     *progress
	tally        *counter
	subscription *subscription
}

// base is what all services of a Scheduler have. Each is in a file of its own; only the
// subscription knows others, to wake them.
type base struct {
	scripts *scripts.Scripts
	metrics *metrics
	log     *slog.Logger
	pace    pace
	hears   atomic.Bool // keyspace notifications arrive
}

// New returns a Scheduler. It does no I/O.
func New(o Options) (*Scheduler, error) {
	if o.Scripts == nil || o.Consumer == "" {
		return nil, errors.New("Scripts and Consumer are required")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &base{scripts: o.Scripts, metrics: newMetrics(o.Metrics), log: o.Log, pace: defaultPace}
	move, find := &mover{base: s, bell: step.NewBell()}, &lost{base: s}
	expire := &deadlines{base: s, lost: find, next: step.NewBell(), event: step.NewBell(), sweep: step.NewBell()}
	return &Scheduler{
		base: s, mover: move, deadlines: expire, lost: find,
		progress:     &progress{s, past.New(o.Scripts)},
		tally:        &counter{base: s},
		subscription: &subscription{base: s, consumer: o.Consumer, mover: move, deadlines: expire, timers: o.Timers},
	}, nil
}

// Run works until ctx ends, and then returns nil. It waits for the end of an outage of Redis.
func (s *Scheduler) Run(ctx context.Context) error {
	var group errgroup.Group
	loop := func(what string, max time.Duration, bell step.Bell, once func(context.Context) (time.Duration, error)) {
		group.Go(func() error { return step.Loop(ctx, s.log, what, max, bell, once) })
	}
	loop("move what is due", pause, s.mover.bell, s.mover.once)
	loop("touch the wake key", pause, s.deadlines.next, s.deadlines.touchWake)
	loop("fail what has expired", pause, s.deadlines.event, s.deadlines.failExpired)
	loop("fail what is overdue", pause, s.deadlines.sweep, s.deadlines.failOverdue)
	loop("find what is lost", pause, step.Bell{}, s.lost.once)
	loop("write the progress of jobs", s.pace.progress, step.Bell{}, s.progress.once)
	loop("count what happens to jobs", s.pace.tally, step.Bell{}, s.tally.once)
	group.Go(func() error { return s.subscription.run(ctx) })
	return group.Wait()
}

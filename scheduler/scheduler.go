package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/bsm/redislock"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/internal/past"
	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/scripts"
)

const (
	// most is how much one pass of a loop takes.
	most = 100
	// pause is the longest sleep of a loop.
	pause = time.Second
)

// TimerEvents is told what happens to timers in Redis. Its methods must not
// block: they are called in the order of what happened, and the next event waits.
type TimerEvents interface {
	// Touched says that something happened to a timer's key: the event, as Redis
	// names it.
	Touched(name, event string)
	// Changed says that the set of timers was changed.
	Changed()
	// Subscribed says that the others are called from now on, and that what
	// happened before may have been missed. Where all is false, Touched is not called
	// for each event: Redis does not publish all that can happen to a timer's key.
	Subscribed(all bool)
	// Deaf says that they are not called any more, until Subscribed is.
	Deaf()
}

// Options configures a Scheduler.
type Options struct {
	// Redis is where it takes locks, and tells with its options how to connect for
	// the subscription, which has connections of its own.
	Redis    redis.UniversalClient
	Scripts  *scripts.Scripts
	Consumer string                // unique for this process
	Timers   TimerEvents           // nil: none
	Metrics  prometheus.Registerer // nil: none
	Log      *slog.Logger          // nil: silent
}

// Scheduler does what time asks for. Run may be called once.
type Scheduler struct {
	redis   redis.UniversalClient
	scripts *scripts.Scripts
	locks   *redislock.Client
	name    string // of the consumer
	timers  TimerEvents
	metrics *metrics
	log     *slog.Logger
	pace    pace

	hears   atomic.Bool // events are coming in
	expired atomic.Bool // the wake key has expired since failExpired
	passed  int64       // of touchWake: the last deadline (ms) that it has read
	lost    time.Time   // when this process last checked for lost messages
	past    *past.Runs  // of the reports of this partition

	// Of subscribe alone.
	subscribed bool // once at least
	refused    bool // it was said that notifications cannot be switched on
	part       bool // it was said that only a part of them is published

	// What wakes the loops before their time.
	delayed, deadlines, wake, sweeps step.Bell
}

// New returns a Scheduler. It does no I/O.
func New(o Options) (*Scheduler, error) {
	if o.Redis == nil || o.Scripts == nil || o.Consumer == "" {
		return nil, errors.New("scheduler: Redis, Scripts and Consumer are needed")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Scheduler{
		redis: o.Redis, scripts: o.Scripts, locks: redislock.New(o.Redis), name: o.Consumer, timers: o.Timers,
		metrics: newMetrics(o.Metrics), log: o.Log, pace: defaultPace,
		past:    past.New(o.Redis, o.Scripts.Keys.Events()),
		delayed: step.NewBell(), deadlines: step.NewBell(), wake: step.NewBell(), sweeps: step.NewBell(),
	}, nil
}

// Run works until ctx ends, and returns nil then. An outage of Redis is waited
// out.
func (s *Scheduler) Run(ctx context.Context) error {
	var group errgroup.Group
	group.Go(func() error { return step.Loop(ctx, s.log, "move what is due", pause, s.delayed, s.moveDue) })
	group.Go(func() error { return step.Loop(ctx, s.log, "touch the wake key", pause, s.deadlines, s.touchWake) })
	group.Go(func() error { return step.Loop(ctx, s.log, "fail what has expired", pause, s.wake, s.failExpired) })
	group.Go(func() error { return step.Loop(ctx, s.log, "fail what is overdue", pause, s.sweeps, s.failOverdue) })
	group.Go(func() error { return step.Loop(ctx, s.log, "find what is lost", pause, step.NewBell(), s.findLost) })
	group.Go(func() error {
		return step.Loop(ctx, s.log, "tell how far jobs are", s.pace.progress, step.NewBell(), s.tellProgress)
	})
	group.Go(func() error { return s.subscribe(ctx) })
	return group.Wait()
}

// wakeAll has each loop look, as after a time in which nothing was heard. Timers
// look through the whole db, and are told only once something is heard.
func (s *Scheduler) wakeAll() {
	s.delayed.Ring()
	s.deadlines.Ring()
	s.sweeps.Ring()
}

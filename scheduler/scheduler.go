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
	// Redis is where it takes locks, and tells with its options how to connect for
	// the subscription, which has connections of its own.
	Redis    redis.UniversalClient
	Scripts  *scripts.Scripts
	Consumer string                // unique for this process
	Timers   TimerEvents           // nil: none
	Metrics  prometheus.Registerer // nil: none
	Log      *slog.Logger          // nil: silent
}

// Scheduler does what becomes due. Run may be called once.
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
		return nil, errors.New("scheduler: Redis, Scripts and Consumer are required")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Scheduler{
		redis: o.Redis, scripts: o.Scripts, locks: redislock.New(o.Redis), name: o.Consumer, timers: o.Timers,
		metrics: newMetrics(o.Metrics), log: o.Log, pace: defaultPace,
		past:    past.New(o.Redis, o.Scripts.Keys.Events),
		delayed: step.NewBell(), deadlines: step.NewBell(), wake: step.NewBell(), sweeps: step.NewBell(),
	}, nil
}

// Run works until ctx ends, and then returns nil. It waits for the end of an outage of Redis.
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

// wakeAll makes every loop poll, as after a time without events. Timers scan the whole db, and are
// woken only when events arrive.
func (s *Scheduler) wakeAll() {
	s.delayed.Ring()
	s.deadlines.Ring()
	s.sweeps.Ring()
}

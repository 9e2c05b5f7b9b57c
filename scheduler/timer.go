package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler/action"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
)

// TimerOptions configures Timers.
type TimerOptions struct {
	Scripts   *scripts.Scripts
	Redis     redis.UniversalClient // for blocking reads
	Timers    report.Timers
	Actions   action.Kinds     // those of Timers
	Submitter action.Submitter // needed where the action of a timer inserts records
	Reports   map[string]*report.Report
	Records   Records // needed where a report tells of its jobs
	Schedules bool    // set the timers of schedules: in the first partition only
	// actions of timers at once in this process, and a quarter as many ends that are told; 0 means 32
	Slots    int
	Lease    time.Duration // silence after which another process does an action; 0 means 10 s
	Stop     time.Duration // how long actions may go on after a stop
	Consumer string        // unique for this process
	Log      *slog.Logger  // nil: silent
}

// Timers fires timers and executes their actions. Run may be called once. The methods of
// TimerEvents may be called at any time and never block.
type Timers struct {
	o       TimerOptions
	scripts *scripts.Scripts
	log     *slog.Logger
	tools   action.Tools
	*adopter
	schedules  *schedules
	announce   time.Duration // the time between two announcements of schedules
	bringLater step.Bell     // an action waits for its next try
	began      time.Time
	unread     atomic.Int64 // when a record could not be read last (ns); 0: never
}

// NewTimers returns Timers. It does no I/O.
func NewTimers(o TimerOptions) (*Timers, error) {
	if o.Scripts == nil || o.Redis == nil || o.Consumer == "" {
		return nil, errors.New("Scripts, Redis and Consumer are required")
	}
	for _, t := range o.Timers {
		if t.Records && o.Submitter == nil {
			return nil, errors.New("a Submitter is required for timer " + t.Name)
		}
		if _, ok := o.Actions.Of(t.Action); !ok && t.Schedule == nil {
			return nil, fmt.Errorf("no action %q for timer %s", t.Action, t.Name)
		}
	}
	if o.Slots == 0 {
		o.Slots = 32
	}
	if o.Lease == 0 {
		o.Lease = 10 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Timers{
		o: o, scripts: o.Scripts, log: o.Log,
		tools:   action.Tools{Scripts: o.Scripts, Submitter: o.Submitter, Client: ask.New(0), Log: o.Log},
		adopter: newAdopter(o.Scripts, o.Log), bringLater: step.NewBell(), began: time.Now(),
		schedules: newSchedules(o), announce: scripts.AnnounceEvery,
	}, nil
}

// Run works until ctx ends, and then returns nil. It waits for the end of an outage of Redis.
func (t *Timers) Run(ctx context.Context) error {
	defer t.tools.Client.Close()
	var group errgroup.Group
	group.Go(func() error { return step.Loop(ctx, t.log, "fire timers", pause, t.fire, t.fireDue) })
	group.Go(func() error { return step.Loop(ctx, t.log, "hear of timers", pause, t.heard, t.adoptHeard) })
	group.Go(func() error { return step.Loop(ctx, t.log, "bring firings back", pause, t.bringLater, t.bringBack) })
	group.Go(func() error { return t.scanAll(ctx) })
	if t.o.Schedules {
		group.Go(func() error {
			return step.Every(ctx, t.log, t.announce, "set the timers of schedules", t.setSchedules)
		})
	}
	group.Go(func() error { return t.reader(t.scripts.Keys.Fired, t.o.Slots).Run(ctx) })
	group.Go(func() error { return t.reader(t.scripts.Keys.Finished, max(1, t.o.Slots/4)).Run(ctx) })
	return group.Wait()
}

// reader reads a stream of firings. Every stream has its own slots, so that a service that is slow
// to receive notifications delays no timer.
func (t *Timers) reader(stream string, slots int) *step.Reader {
	return step.New(step.Options{
		Redis: t.o.Redis, Scripts: t.scripts, Stream: stream, Consumer: t.o.Consumer,
		Slots: slots, MinIdle: t.o.Lease, Patience: t.o.Stop, Log: t.log,
		Handle: step.Singles(actions{t, stream}, t.o.Lease, &step.Leases{}),
	})
}

// setSchedules announces the schedules of this process, and sets and removes their timers.
func (t *Timers) setSchedules(ctx context.Context) error {
	changed, err := t.schedules.once(ctx)
	if changed > 0 {
		t.log.Info("set or removed timers of schedules", "timers", changed)
		t.fire.Ring()
	}
	return err
}

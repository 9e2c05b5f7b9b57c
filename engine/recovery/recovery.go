package recovery

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/trigger"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
)

const (
	// passEvery is the time between two passes over the records.
	passEvery = 5 * time.Minute
	// lease is how long a lock outlives the process that holds it.
	lease = 10 * time.Second
)

// Jobs starts records that Redis has lost. *trigger.Trigger implements it.
type Jobs interface {
	StartLost(ctx context.Context, records []engine.Record, epoch string,
		valid func(context.Context) error) (trigger.Lost, error)
}

// Options configures a Recovery. The fields up to Rate are required.
type Options struct {
	Scripts *scripts.Scripts
	Jobs    Jobs
	Records Records
	Grace   time.Duration // records that have changed in this time are left alone
	Rate    int           // records that a pass looks at in a second

	Store         Store                 // nil: due times and timers do not outlive Redis
	PassEvery     time.Duration         // between passes over the records; 0 means 5 minutes
	SnapshotEvery time.Duration         // between snapshots of due times and timers; 0 means 5 s
	Metrics       prometheus.Registerer // nil: none
	Log           *slog.Logger          // nil: silent
}

// Recovery restores what Redis has lost. Any number of processes may run one: with locks, one of
// them works at a time. Run may be called once.
type Recovery struct {
	o       Options
	log     *slog.Logger
	metrics metrics
	want    chan struct{} // a pass is wanted at once

	mu     sync.Mutex
	epoch  string // that Redis and MySQL agree on; empty as long as they do not
	stored bool   // the tables of the store exist
}

// New returns a Recovery. It does no I/O.
func New(o Options) (*Recovery, error) {
	if o.Scripts == nil || o.Jobs == nil || o.Records == nil || o.Grace <= 0 || o.Rate <= 0 {
		return nil, errors.New("recovery: Scripts, Jobs, Records, Grace and Rate are required")
	}
	o.PassEvery, o.SnapshotEvery = cmp.Or(o.PassEvery, passEvery), cmp.Or(o.SnapshotEvery, snapshotEvery)
	r := &Recovery{o: o, log: o.Log, metrics: newMetrics(o.Metrics), want: make(chan struct{}, 1)}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	return r, nil
}

// Run works until ctx ends, and then returns nil. It waits for the end of an outage of Redis or
// MySQL.
func (r *Recovery) Run(ctx context.Context) error {
	var group errgroup.Group
	group.Go(func() error { return r.watch(ctx) })
	group.Go(func() error { return r.passes(ctx) })
	group.Go(func() error { return r.snapshots(ctx) })
	return group.Wait()
}

// agreed returns the epoch that Redis and MySQL agree on, empty if they do not, and whether MySQL
// has the tables of the store.
func (r *Recovery) agreed() (epoch string, stored bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.epoch, r.stored
}

// agree sets the agreed epoch. A new one requests a pass.
func (r *Recovery) agree(epoch string, stored bool) {
	r.mu.Lock()
	fresh := epoch != r.epoch
	r.epoch, r.stored = epoch, stored
	r.mu.Unlock()
	if fresh {
		select {
		case r.want <- struct{}{}:
		default: // one is wanted already
		}
	}
}

// doubt makes the watch compare Redis with MySQL again; until then they agree on nothing.
func (r *Recovery) doubt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch = ""
}

// lock takes a lock that is renewed until release is called. The context that it returns ends if
// the lock is lost; it is nil if another process has the lock.
func (r *Recovery) lock(ctx context.Context, what string) (leased context.Context, release func(), err error) {
	lock, err := r.o.Scripts.Locker().Obtain(ctx, r.o.Scripts.Keys.Lock(what), lease, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	held, stop := step.Renew(ctx, lease, func(ctx context.Context) (bool, error) {
		err := lock.Refresh(ctx, lease, nil)
		if errors.Is(err, redislock.ErrNotObtained) {
			return false, nil
		}
		return true, err
	})
	return held, func() {
		stop()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = lock.Release(ctx) // it ends by itself, too
	}, nil
}

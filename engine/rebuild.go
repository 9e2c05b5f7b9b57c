package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/internal/stream"
)

const (
	// lookEvery is how often Redis is asked whether it has its memory.
	lookEvery = time.Second
	// rebuildEvery is the time between two passes over the records.
	rebuildEvery = 5 * time.Minute
	// rebuildLease is how long a lock outlives the process that holds it.
	rebuildLease = 10 * time.Second
	// roomPause is how long a rebuild waits for room before it asks again. The
	// trigger asks far more often, and so comes first.
	roomPause = 200 * time.Millisecond
)

// rebuilder gives back to Redis what it has lost. Each process has one, with three
// loops:
//
//   - watch looks whether this Redis has the memory that MySQL knows
//     (rebuild_epoch.go), and restores due times and timers where it has
//     not (rebuild_restore.go);
//   - passes walks over the records and starts those that Redis does not know:
//     rebuild_pass.go;
//   - mirror keeps the copy of due times and timers in MySQL: mirror.go.
type rebuilder struct {
	e     *Engine
	locks *redislock.Client
	want  chan struct{} // a pass is wanted at once

	mu       sync.Mutex
	epoch    string // that Redis and MySQL agree on; empty as long as they do not
	mirrored bool   // the tables are there
}

func newRebuilder(e *Engine) *rebuilder {
	return &rebuilder{e: e, locks: e.o.Scripts.Locker(), want: make(chan struct{}, 1)}
}

// run works until ctx ends, and returns nil then.
func (r *rebuilder) run(ctx context.Context) error {
	var group errgroup.Group
	group.Go(func() error { return r.watch(ctx) })
	group.Go(func() error { return r.passes(ctx) })
	group.Go(func() error { return r.mirror(ctx) })
	return group.Wait()
}

// memory returns the epoch that Redis and MySQL agree on, empty where they
// do not, and whether MySQL has the tables at all.
func (r *rebuilder) memory() (epoch string, mirrored bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.epoch, r.mirrored
}

// agree notes an epoch. One that was not agreed on before wants a pass.
func (r *rebuilder) agree(epoch string, mirrored bool) {
	r.mu.Lock()
	fresh := epoch != r.epoch
	r.epoch, r.mirrored = epoch, mirrored
	r.mu.Unlock()
	if fresh {
		r.wantPass()
	}
}

// doubt has the next look compare Redis with MySQL again; until then they agree on
// nothing.
func (r *rebuilder) doubt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.epoch = ""
}

// counted returns how many writes to the mirror Redis remembers, and whether these
// are fewer than MySQL has. Redis persists and copies its writes in their order,
// and counts one before MySQL has it: with as many it remembers all that is
// mirrored, and what it has not was removed; with fewer it has lost the last ones.
func (r *rebuilder) counted(ctx context.Context) (number int64, older bool, err error) {
	mirrored, err := r.e.o.Memory.Mirrored(ctx) // read first, since both only grow
	if err != nil {
		return 0, false, err
	}
	number, err = r.e.o.Scripts.ReadMirrored(ctx)
	return number, number < mirrored, err
}

func (r *rebuilder) wantPass() {
	select {
	case r.want <- struct{}{}:
	default: // one is wanted already
	}
}

// lock takes a lock that is kept until release is called. The context that it
// returns ends where the lock is lost. Without the lock it is nil.
func (r *rebuilder) lock(ctx context.Context, what string) (held context.Context, release func(), err error) {
	lock, err := r.locks.Obtain(ctx, r.e.o.Scripts.Lock(what), rebuildLease, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	held, stop := stream.Keep(ctx, rebuildLease, func(ctx context.Context) (bool, error) {
		err := lock.Refresh(ctx, rebuildLease, nil)
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

// every calls once at once and then again and again, until ctx ends. An error is
// logged when it is another one than before.
func (e *Engine) every(ctx context.Context, d time.Duration, what string, once func(context.Context) error) error {
	tick := time.NewTicker(d)
	defer tick.Stop()
	said := ""
	for {
		err := once(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			said = ""
		case said != err.Error():
			said = err.Error()
			e.log.Warn("trying again", "what", what, "err", err)
		}
		if !wait(ctx, tick.C) {
			return nil
		}
	}
}

// wait waits for a tick, and tells whether it came before the end of ctx.
func wait(ctx context.Context, tick <-chan time.Time) bool {
	select {
	case <-ctx.Done():
		return false
	case <-tick:
		return true
	}
}

package chaos

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// rage pushes the jobs while faults happen, and returns after the last fault.
func (r havoc) rage(ctx context.Context, list []incident) {
	for _, w := range r.workers {
		w.crashing.Store(slices.Contains(r.kinds, faultCrash))
	}
	storm, calm := context.WithTimeout(ctx, r.storm)
	defer calm()
	var missed atomic.Int64
	var all sync.WaitGroup
	all.Go(func() { r.push(ctx) })
	all.Go(func() { verdict{r.round}.watch(storm) })
	if slices.Contains(r.kinds, faultDouble) {
		all.Go(func() { r.double(storm) })
	}
	for _, f := range list {
		all.Go(func() {
			elapse(storm, f.at)
			if err := r.cause(ctx, storm, f); errors.Is(err, errTooLate) {
				return
			} else if err != nil && ctx.Err() == nil {
				// On a busy machine, the set elects new masters by itself; that is not an error of Fanfold.
				r.t.Logf("the test could not cause %s: %v", f, err)
				if missed.Add(1) > maxMissed {
					r.violated("the test could not cause %d faults, the last one %s: %v", missed.Load(), f, err)
				}
				return
			}
			r.totals.add("fault "+f.kind, 1)
		})
	}
	all.Wait()
	for _, w := range r.workers {
		w.crashing.Store(false)
	}
}

// maxMissed is the maximum number of faults of a round that do not take effect.
const maxMissed = 2

// errTooLate: the servers did not recover before the end of the storm.
var errTooLate = errors.New("the storm is over")

// cause makes a fault happen during the storm and returns when it is over.
func (r havoc) cause(ctx, storm context.Context, f incident) error {
	w := r.workers[f.worker]
	switch f.kind {
	case faultKill:
		w.signal(syscall.SIGKILL)
	case faultTerm:
		w.signal(syscall.SIGTERM)
	case faultZombie:
		if w.signal(syscall.SIGSTOP) {
			elapse(ctx, f.lasts)
			w.signal(syscall.SIGCONT)
		}
	case faultRedis, faultFreeze, faultFlush, faultFull, faultHandOver, faultApart, faultSlot:
		return r.redis.cause(ctx, storm, f)
	case faultMySQL:
		r.mysqlDown.Lock()
		defer r.mysqlDown.Unlock()
		if f.worker%2 == 0 {
			r.mariadb.Kill()
		} else {
			r.mariadb.Stop()
		}
		elapse(ctx, f.lasts)
		return r.mariadb.Start(ctx, withLog)
	case faultCancel:
		r.cancel(ctx)
	case faultSegment:
		r.spoil(ctx, f)
	case faultDisk:
		if w.signal(diskFull) {
			elapse(ctx, f.lasts)
			w.signal(diskFree)
		}
	case faultSink:
		r.sink.bad.Store(true)
		elapse(ctx, f.lasts)
		r.sink.bad.Store(false)
	default:
		w.busy[f.server].Lock()
		defer w.busy[f.server].Unlock()
		return map[string]func(context.Context, testmain.Proxy, time.Duration) error{
			faultLatency: late, faultCut: cut, faultHalf: swallow,
		}[f.kind](ctx, w.proxies[f.server], f.lasts)
	}
	return nil
}

// cancel tries to cancel a job. It fails silently if a server is down.
func (r havoc) cancel(ctx context.Context) {
	var id string
	if r.db.QueryRowContext(ctx, "SELECT id FROM file_download_record WHERE status IN ('PENDING', 'PROCESSING') ORDER BY status DESC, RAND() LIMIT 1").Scan(&id) != nil {
		return
	}
	if _, err := r.fanfold("cancel", id); err == nil {
		r.totals.add("CANCELLED", 1)
	} else {
		r.totals.add("cancels that failed or were refused", 1)
	}
}

// push pushes all ids during the first part of the storm, some with a delay and some twice. It
// repeats a failed push, as a service does.
func (r havoc) push(ctx context.Context) {
	random := rand.New(rand.NewPCG(r.seed, 4))
	ids := random.Perm(r.jobs)
	began, lasts := time.Now(), r.storm*4/5
	for i, id := range ids {
		id++
		elapse(ctx, time.Until(began.Add(lasts*time.Duration(i)/time.Duration(len(ids)))))
		times := 1
		if slices.Contains(r.kinds, faultDouble) && random.IntN(20) == 0 {
			times = 2
		}
		dice, later := random.IntN(20), time.Duration(random.IntN(5000))*time.Millisecond
		for range times {
			for ctx.Err() == nil && r.pushOne(ctx, id, dice, later) != nil {
				elapse(ctx, 20*time.Millisecond)
			}
		}
	}
}

func (r havoc) pushOne(ctx context.Context, id, dice int, later time.Duration) error {
	due, to := time.Now().Add(later), r.redis.pushed(strconv.Itoa(id), dice)
	switch dice {
	case 0:
		return r.redis.client.ZAdd(ctx, to.Keys.Delayed, redis.Z{Score: float64(due.UnixMilli()), Member: id}).Err()
	case 1:
		return r.redis.client.ZAdd(ctx, to.Keys.Delayed, redis.Z{Score: float64(due.Unix()), Member: id}).Err()
	}
	return r.redis.client.XAdd(ctx, &redis.XAddArgs{Stream: to.Keys.Jobs, Values: []any{"id", id}}).Err()
}

// double appends copies of stream entries, marked for the judge.
func (r havoc) double(ctx context.Context) {
	random := rand.New(rand.NewPCG(r.seed, 5))
	streams := r.redis.streams()
	for ctx.Err() == nil {
		elapse(ctx, 50*time.Millisecond)
		stream := streams[random.IntN(len(streams))]
		for _, m := range r.redis.client.XRangeN(ctx, stream, "-", "+", 3).Val() {
			fields := maps.Clone(m.Values)
			fields["copy"] = "1"
			if r.redis.client.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: fields}).Err() == nil {
				r.totals.add("doubled entries", 1)
			}
		}
	}
}

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/internal/trace"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/sink"
)

// triggerBatch is the maximum number of ids per read of the trigger: one query and one update in
// MySQL, one round trip to Redis.
const triggerBatch = 100

// Options configures an Engine. The fields up to Consumer are required.
type Options struct {
	Redis      redis.UniversalClient // for blocking reads
	Scripts    *scripts.Scripts      // of this engine's partition
	Partitions scripts.Partitions    // all partitions; nil: there is one
	Records    Records
	Sink       sink.Sink
	Reports    map[string]*report.Report // by name
	Limits     report.Limits
	Consumer   string       // unique per process
	Log        *slog.Logger // nil: silent

	// Installation is the tag in the names of this installation's files, see NewTag. It separates
	// the files of installations that share a sink. If it is empty, no file is ever removed.
	Installation string

	SweepEvery time.Duration         // between sweeps of the sink for orphaned files; 0 means a day
	OrphanAge  time.Duration         // minimum age of the files that it deletes; 0 means a day
	DeletedAge time.Duration         // minimum age of those whose row was deleted; 0 means 30 days
	Deletions  Deletions             // nil: files of deleted rows stay
	Metrics    prometheus.Registerer // nil: none
	Trace      *trace.Tracer         // nil: no job is traced
}

// Engine triggers jobs and folds them. Run may be called once.
type Engine struct {
	o           Options
	log         *slog.Logger
	definitions map[string]*report.Report // by hash
	known       []string                  // their hashes
	plans       map[*report.Report]scripts.Plan
	full        atomic.Bool  // Redis is nearly full
	made        time.Time    // when the Engine was created
	looked      atomic.Int64 // last poll of Redis's memory, as time since made; 0: never
	claims      atomic.Int64 // makes worker names unique
	columns     columns
	leases      step.Leases // leases of claimed jobs
	handed      sync.Map    // definitions of jobs that were handed back; each is logged once
	jobs        *jobMetrics
}

// New returns an Engine. It does no I/O.
func New(o Options) (*Engine, error) {
	if o.Redis == nil || o.Scripts == nil || o.Records == nil || o.Sink == nil || o.Consumer == "" {
		return nil, errors.New("engine: Redis, Scripts, Records, Sink and Consumer are required")
	}
	if o.Installation != "" && !ValidTag(o.Installation) {
		return nil, fmt.Errorf("engine: installation %q is not a tag as NewTag returns it: 6 letters and digits", o.Installation)
	}
	if o.Partitions == nil {
		o.Partitions = scripts.Partitions{o.Scripts}
	}
	o.SweepEvery, o.OrphanAge = cmp.Or(o.SweepEvery, sweepEvery), cmp.Or(o.OrphanAge, orphanAge)
	o.DeletedAge = cmp.Or(o.DeletedAge, deletedAge)
	e := &Engine{o: o, made: time.Now(), log: o.Log, jobs: newJobMetrics(o.Metrics), definitions: map[string]*report.Report{}, plans: map[*report.Report]scripts.Plan{}}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	for _, r := range o.Reports {
		hash := r.Hash()
		e.definitions[hash], e.plans[r] = r, planOf(r, hash)
		e.known = append(e.known, hash)
	}
	return e, nil
}

// Run triggers and folds until ctx ends, and then returns nil. It waits for the end of an outage of
// Redis. It starts jobs only in a Redis that has an epoch: engine/recovery, which must run beside
// it, sets one.
func (e *Engine) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		step.Listen(ctx, e.o.Redis, e.o.Scripts.Keys.Cancelled, e.leases.Hint)
		return nil
	})
	group.Go(func() error { return e.triggerReader().Run(ctx) })
	group.Go(func() error { return e.fanInReader().Run(ctx) })
	group.Go(func() error { return e.largeReader().Run(ctx) })
	group.Go(func() error { return e.release(ctx) })
	group.Go(func() error { return e.findOrphans(ctx) })
	if e.o.Scripts == e.o.Partitions.Home() {
		group.Go(func() error {
			return step.Every(ctx, e.log, e.o.SweepEvery/10, "delete orphaned files", e.sweepDaily)
		})
	}
	return group.Wait()
}

func (e *Engine) triggerReader() *step.Reader {
	return step.New(step.Options{
		Redis: e.o.Redis, Stream: e.o.Scripts.Keys.Jobs, Scripts: e.o.Scripts, Consumer: e.o.Consumer,
		Slots: triggerBatch, Batch: true, MinIdle: e.o.Limits.Lease, Log: e.log,
		Admit: e.admit, Handle: e.trigger, KeepAlive: true,
		Patience: e.o.Limits.Stop,
	})
}

func (e *Engine) fanInReader() *step.Reader {
	return step.New(step.Options{
		Redis: e.o.Redis, Stream: e.o.Scripts.Keys.FanIn, Scripts: e.o.Scripts, Consumer: e.o.Consumer,
		Slots: fanInBatch, Batch: true, Alone: alone, MinIdle: e.o.Limits.Lease, Log: e.log,
		Handle: e.fanIn, KeepAlive: true,
		Patience: e.o.Limits.Stop,
	})
}

// largeReader reads at most as many large jobs as may be folded at once. They have their own
// stream, so that no other job waits for them.
func (e *Engine) largeReader() *step.Reader {
	large := folds{Engine: e, stream: e.o.Scripts.Keys.FanInLarge}
	return step.New(step.Options{
		Redis: e.o.Redis, Stream: large.stream, Scripts: e.o.Scripts, Consumer: e.o.Consumer,
		Slots: e.o.Limits.Folds, Batch: true, Alone: func(step.Entry) bool { return true }, MinIdle: e.o.Limits.Lease, Log: e.log,
		Handle:   step.Singles(large, e.o.Limits.Lease, &e.leases),
		Patience: e.o.Limits.Stop,
	})
}

// admit returns how many jobs may still be started. It is none while Redis is nearly full, because
// running jobs need the rest to end. Several processes may see the same number: the limit can be
// exceeded by one batch per process.
func (e *Engine) admit(ctx context.Context) (int, error) {
	if err := e.lookAtMemory(ctx); err != nil || e.full.Load() {
		return 0, err
	}
	running, err := e.o.Scripts.Jobs.Running(ctx)
	return e.o.Limits.RunningJobs - int(running), err
}

// memoryEvery is the time between two polls of Redis's memory.
const memoryEvery = time.Second

// lookAtMemory stores whether Redis is nearly full.
func (e *Engine) lookAtMemory(ctx context.Context) error {
	now := int64(time.Since(e.made)) // monotonic
	if last := e.looked.Load(); last != 0 && now-last < int64(memoryEvery) {
		return nil
	}
	usage, err := e.o.Scripts.Memory.Usage(ctx)
	if err != nil {
		return err
	}
	e.looked.Store(now)
	if full := usage.Percent() > e.o.Limits.Memory; full != e.full.Swap(full) {
		e.log.Warn("memory of Redis crossed limits.memory", "percent", usage.Percent(), "limit", e.o.Limits.Memory, "starting jobs", !full)
	}
	return nil
}

// insist repeats an operation until its server is back. It gives up if repeating cannot help.
func (e *Engine) insist(ctx context.Context, what string, f func() error) error {
	return step.Insist(ctx, e.log, what, func() error {
		err := f()
		if errors.Is(err, scripts.ErrBroken) || errors.Is(err, ErrRefused) {
			return step.Final(err)
		}
		return err
	})
}

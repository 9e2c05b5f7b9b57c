package listeners

import (
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

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/spool"
	"github.com/fanfold/fanfold/step"
	"github.com/fanfold/fanfold/trace"
)

// Options configures a Runner. All fields except Partitions, Only, Bounds, Guards, Slots, Spool, Log, Metrics and
// Trace are required.
type Options struct {
	Redis   redis.UniversalClient // for blocking reads: one connection for some hundred listeners
	Scripts *scripts.Scripts
	// All partitions, of which Scripts is one; nil: it is the only one.
	Partitions scripts.Partitions
	Reports    map[string]*report.Report // by name
	// whether a listener runs here; nil: all. Replies of external ones are always applied
	Only     func(listener string) bool
	Sources  map[string]Source       // by report.Listener.Source
	Bounds   map[string]report.Bound // by report.Listener.Source; a missing one is unlimited
	Guards   *Guards                 // shared by the Runners of this process; nil: no database is protected
	Limits   report.Limits
	Slots    *Slots                // shared by the Runners of this process; nil: not shared
	Spool    *spool.Spool          // where large datasets lie; nil: in Redis
	Consumer string                // unique for this process
	Log      *slog.Logger          // nil: silent
	Metrics  prometheus.Registerer // nil: none
	Trace    *trace.Tracer         // nil: no job is traced
}

// Runner executes the tasks of listeners. Run may be called once.
type Runner struct {
	o           Options
	log         *slog.Logger
	metrics     *metrics
	slots       *Slots
	definitions map[string]*report.Report // by hash
	stored      map[string]stored         // by hash
	known       map[string][]string       // hashes of the definitions that have a listener
	silences    map[string]time.Duration  // by external listener, the longest of all reports
	takes       atomic.Int64              // makes owners unique
	leases      step.Leases               // running tasks
	handed      sync.Map                  // definitions whose handing back was logged
	memory      *memory
}

// New returns a Runner. It does no I/O.
func New(o Options) (*Runner, error) {
	if o.Redis == nil || o.Scripts == nil || o.Consumer == "" {
		return nil, errors.New("Redis, Scripts and Consumer are required")
	}
	r := &Runner{
		o: o, log: o.Log, slots: o.Slots, metrics: newMetrics(o.Metrics),
		definitions: map[string]*report.Report{}, stored: map[string]stored{}, known: map[string][]string{},
		silences: map[string]time.Duration{},
	}
	if o.Partitions == nil {
		r.o.Partitions = scripts.Partitions{o.Scripts}
	}
	if r.slots == nil {
		r.slots = NewSlots(o.Limits, nil)
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.memory = &memory{o: &r.o, log: r.log, metrics: r.metrics}
	for _, rep := range o.Reports {
		r.definitions[rep.Hash()], r.stored[rep.Hash()] = rep, storedOf(rep)
		for _, stage := range rep.Stages {
			for _, l := range stage.Listeners {
				if l.Kind == report.External {
					r.silences[l.Name] = max(r.silences[l.Name], l.Silence)
				} else if o.Only != nil && !o.Only(l.Name) {
					continue
				} else if o.Sources[l.Source] == nil {
					return nil, fmt.Errorf("no source %q for listener %s", l.Source, l.Name)
				}
				r.known[l.Name] = append(r.known[l.Name], rep.Hash())
			}
		}
	}
	return r, nil
}

// Run does tasks until ctx ends, and returns nil then. An outage of Redis is waited
// out.
func (r *Runner) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		step.Listen(ctx, r.o.Redis, r.o.Scripts.Keys.Cancelled, r.leases.Hint)
		return nil
	})
	if len(r.silences) > 0 {
		external := &external{r}
		group.Go(func() error { return external.replies().Run(ctx) })
		group.Go(func() error { return silence{external}.watch(ctx) })
		group.Go(func() error { return silence{external}.tidy(ctx) })
	}
	var names []string
	for listener := range r.known {
		if _, external := r.silences[listener]; !external { // its service reads it
			names = append(names, listener)
		}
	}
	shared, end := r.shared(ctx, len(names))
	defer end()
	for i, listener := range names {
		tasks := r.tasks(ctx, listener)
		reader := step.New(step.Options{
			Redis: r.o.Redis, Shared: shared[i/step.MaxShared], Stream: r.o.Scripts.Keys.Task(listener),
			Scripts: r.o.Scripts, Consumer: r.o.Consumer,
			Slots: cap(tasks.share.taken), MinIdle: r.o.Limits.Lease, Log: r.log,
			Handle:   step.Singles(tasks, r.o.Limits.Lease, &r.leases),
			Patience: r.o.Limits.ShutdownTimeout,
			Admit:    tasks.admit,
		})
		group.Go(func() error { return reader.Run(ctx) })
	}
	return group.Wait()
}

// shared starts the readers for n listeners, with one connection for some hundred listeners each. They
// run until end is called, which waits for them.
func (r *Runner) shared(ctx context.Context, listeners int) (all []*step.Shared, end func()) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	for left := listeners; left > 0; left -= step.MaxShared {
		s := step.NewShared(r.o.Redis, r.o.Consumer, min(left, step.MaxShared))
		running.Go(func() { s.Run(work) })
		all = append(all, s)
	}
	return all, func() {
		cancel()
		running.Wait()
	}
}

package listeners

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/internal/stream"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Options configures a Runner. All fields but Bounds, Log and Metrics are needed.
type Options struct {
	Redis    redis.UniversalClient // for blocking reads: one connection for some hundred listeners
	Scripts  *scripts.Scripts
	Reports  map[string]*report.Report // by name
	Sources  map[string]Source         // by report.Listener.Source
	Bounds   map[string]config.Bound   // by report.Listener.Source; what is not in it is not bounded
	Limits   config.Limits
	Consumer string                // unique for this process
	Log      *slog.Logger          // nil: silent
	Metrics  prometheus.Registerer // nil: none
}

// Runner does the tasks of listeners. Run may be called once.
type Runner struct {
	o           Options
	log         *slog.Logger
	metrics     *metrics
	definitions map[string]*report.Report // by hash
	known       map[string][]string       // hashes of the definitions that have a listener
	takes       atomic.Int64              // makes owners unique
	holds       stream.Holds              // the tasks that are worked on
	handed      sync.Map                  // definitions of tasks that were handed back, which is logged once
}

// New returns a Runner. It does no I/O.
func New(o Options) (*Runner, error) {
	if o.Redis == nil || o.Scripts == nil || o.Consumer == "" {
		return nil, errors.New("listeners: Redis, Scripts and Consumer are needed")
	}
	r := &Runner{o: o, log: o.Log, definitions: map[string]*report.Report{}, known: map[string][]string{}}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if r.metrics, err = newMetrics(o.Metrics); err != nil {
		return nil, err
	}
	for _, rep := range o.Reports {
		r.definitions[rep.Hash()] = rep
		for _, stage := range rep.Stages {
			for _, l := range stage.Listeners {
				if l.Kind != report.External && o.Sources[l.Source] == nil {
					return nil, fmt.Errorf("listeners: no source %q for listener %s", l.Source, l.Name)
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
		stream.Listen(ctx, r.o.Redis, r.o.Scripts.Cancelled(), r.holds.Hint)
		return nil
	})
	external := r.newExternal()
	if external != nil {
		group.Go(func() error { return external.replies().Run(ctx) })
		group.Go(func() error { return external.watch(ctx) })
	}
	var names []string
	for listener := range r.known {
		if !external.has(listener) { // its service reads it
			names = append(names, listener)
		}
	}
	shared, end := r.shared(ctx, len(names))
	defer end()
	for i, listener := range names {
		reader := stream.New(stream.Options{
			Redis: r.o.Redis, Shared: shared[i/stream.MostShared], Stream: r.o.Scripts.Task(listener), Group: scripts.Group, Consumer: r.o.Consumer,
			Slots: r.o.Limits.Tasks, MinIdle: r.o.Limits.Lease, Log: r.log,
			Handle:   func(ctx context.Context, entries []stream.Entry) { r.handle(ctx, listener, entries[0]) },
			Patience: r.o.Limits.Stop, Tidy: r.o.Scripts.Tidy(r.o.Scripts.Task(listener)),
			Admit: func(ctx context.Context) (int, error) { return r.admit(ctx, listener) },
		})
		group.Go(func() error { return reader.Run(ctx) })
	}
	return group.Wait()
}

// shared starts what reads for n listeners, a connection for some hundred each. It works
// until end is called, which waits for it.
func (r *Runner) shared(ctx context.Context, listeners int) (all []*stream.Shared, end func()) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	for left := listeners; left > 0; left -= stream.MostShared {
		s := stream.NewShared(r.o.Redis, scripts.Group, r.o.Consumer, min(left, stream.MostShared))
		running.Go(func() { s.Run(work) })
		all = append(all, s)
	}
	return all, func() {
		cancel()
		running.Wait()
	}
}

// admit returns how many tasks of a listener may be under way here: none that is new
// while it is paused.
func (r *Runner) admit(ctx context.Context, listener string) (int, error) {
	paused, err := r.o.Scripts.IsPaused(ctx, scripts.PausedListener(listener))
	if err != nil || paused {
		return 0, err
	}
	return r.o.Limits.Tasks, nil
}

// handle does a task, which it takes first unless it is delivered for the first time.
func (r *Runner) handle(ctx context.Context, listener string, entry stream.Entry) {
	from := r.o.Scripts.Task(listener)
	message, ok := scripts.ParseMessage(entry.Fields)
	if !ok {
		r.quarantine(ctx, from, entry, "not a task: id and attempt are needed")
		return
	}
	task, first := r.o.Scripts.NewTask(message, listener, scripts.Entry{Stream: from, Group: scripts.Group, Consumer: r.o.Consumer, ID: entry.ID}, entry.Fields)
	if entry.Fields["cancel"] == "1" {
		r.cancel(ctx, task, entry)
		return
	}
	if n, err := r.admit(ctx, listener); err == nil && n == 0 {
		// It was paused while this read waited for an entry.
		r.leave(task, r.insist(ctx, "put task back", func() error { return r.o.Scripts.PutBack(ctx, from, entry.ID, entry.Fields) }))
		return
	}
	var outcome scripts.Outcome
	err := r.insist(ctx, "take task", func() (err error) {
		if first && entry.Deliveries == 1 {
			if outcome = scripts.Unknown; slices.Contains(r.known[listener], task.Definition) {
				outcome, err = task.Load(ctx)
			}
			return err
		}
		outcome, err = task.Take(ctx, scripts.Take{
			Owner: r.o.Consumer + "/" + strconv.FormatInt(r.takes.Add(1), 10), Known: r.known[listener], Silent: entry.Deliveries > 1,
		})
		return err
	})
	switch {
	case errors.Is(err, scripts.ErrBroken):
		r.quarantine(ctx, from, entry, err.Error())
		return
	case err != nil, outcome == scripts.Busy:
		// Not done: the entry is delivered again.
	case outcome == scripts.Unknown:
		if _, said := r.handed.LoadOrStore(task.Definition, true); !said {
			r.log.Info("tasks are handed back: their definition is not in this configuration", "report", task.Report, "definition", task.Definition, "first", task.ID, "listener", listener)
		}
		err = task.HandBack(ctx)
	case outcome == scripts.OK:
		err = r.work(ctx, task)
	default:
		err = ErrEnded
	}
	if errors.Is(err, ErrEnded) {
		err = r.ack(ctx, from, entry.ID)
	}
	r.leave(task, err)
}

// leave says that an entry is left to be delivered again, if there is an error.
func (r *Runner) leave(t *scripts.Task, err error) {
	if err != nil && !errors.Is(err, errLeft) && !errors.Is(err, context.Canceled) {
		r.log.Warn("left for later", "stream", t.Entry.Stream, "job", t.ID, "err", err)
	}
}

// quarantine puts an entry aside that cannot be used.
func (r *Runner) quarantine(ctx context.Context, from string, entry stream.Entry, why string) {
	r.log.Warn("quarantined", "stream", from, "entry", entry.ID, "why", why)
	err := r.o.Scripts.Quarantine(ctx, from, entry.ID, entry.Fields, why)
	if err == nil {
		err = r.ack(ctx, from, entry.ID)
	}
	if err != nil && ctx.Err() == nil {
		r.log.Warn("left for later", "stream", from, "err", err)
	}
}

// ackTime is how long an acknowledgement is worth a stop's patience.
const ackTime = 5 * time.Second

// ack acknowledges an entry whose effect exists, also in a process that is about to stop:
// what is done need not be delivered again.
func (r *Runner) ack(ctx context.Context, from, entry string) error {
	quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackTime)
	defer cancel()
	return r.o.Scripts.Ack(quick, from, entry)
}

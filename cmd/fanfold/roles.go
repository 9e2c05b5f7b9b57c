package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/record"
	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler"
	"github.com/fanfold/fanfold/scripts"
	"github.com/prometheus/client_golang/prometheus"
)

// roles are what a process can do; any number of processes can do each.
var roles = []string{"engine", "listeners", "scheduler"}

// runner is a role at work.
type runner interface {
	Run(ctx context.Context) error
}

// together is several runners in one.
type together []runner

// Run implements runner.
func (ts together) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, t := range ts {
		group.Go(func() error { return t.Run(ctx) })
	}
	return group.Wait()
}

// role makes one of the roles, for each partition.
func (b *backend) role(ctx context.Context, role, consumer string, log *slog.Logger) (runner, error) {
	make := b.scheduler
	switch role {
	case "engine":
		if err := b.beforeEngine(ctx, log); err != nil {
			return nil, err
		}
		make = b.engine
	case "listeners":
		if err := b.beforeListeners(); err != nil {
			return nil, err
		}
		make = b.listeners
	}
	var all together
	for i, s := range b.partitions {
		p := partition{Scripts: s, index: i, limits: b.config.Limits.Share(len(b.partitions)), metrics: b.metrics, log: log}
		if len(b.partitions) > 1 {
			p.log = log.With("partition", i)
			if b.metrics != nil {
				p.metrics = prometheus.WrapRegistererWith(prometheus.Labels{"partition": strconv.Itoa(i)}, b.metrics)
			}
		}
		r, err := make(ctx, p, consumer)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// partition is what the roles of one partition have of their own.
type partition struct {
	*scripts.Scripts
	index   int
	limits  report.Limits
	metrics prometheus.Registerer
	log     *slog.Logger
}

// beforeEngine opens what all engines of this process share, and checks it.
func (b *backend) beforeEngine(ctx context.Context, log *slog.Logger) error {
	if err := b.records.Check(ctx); err != nil {
		return fmt.Errorf("%w; fanfold migrate makes the table, fanfold doctor says more", err)
	}
	files, err := b.sink(ctx)
	if err != nil {
		return err
	}
	if d, ok := files.(*sink.Dir); ok {
		if err := d.Make(); err != nil {
			return err
		}
	}
	b.files = sink.Watch(files)
	if err := b.files.Check(ctx); err != nil {
		log.Warn("the sink does not take files now: jobs will fail", "sink", b.config.Sink.String(), "err", err)
	}
	if _, err := engine.CheckScratch(ctx); err != nil {
		log.Warn("no scratch file can be written: large joins will fail", "hint", inspect.ScratchHint, "err", err)
	}
	b.tag, err = b.records.Install(ctx)
	if errors.Is(err, recovery.ErrNoTables) {
		log.Warn("no file is ever deleted from the sink, since nothing tells whose it is: fanfold migrate makes the tables that name this installation", "err", err)
		return nil
	}
	return err
}

// engine is the role that starts jobs and ends them, and gives back to Redis what it has
// lost.
func (b *backend) engine(_ context.Context, p partition, consumer string) (runner, error) {
	e, err := engine.New(engine.Options{
		Redis: b.blocking, Scripts: p.Scripts, Partitions: b.partitions, Records: b.records, Sink: b.files,
		Reports: b.config.Reports, Limits: p.limits, Consumer: consumer, Log: p.log,
		Installation: b.tag, Metrics: p.metrics,
	})
	if err != nil {
		return nil, err
	}
	part := b.records.Partition(p.index, len(b.partitions))
	r, err := recovery.New(recovery.Options{
		Scripts: p.Scripts, Jobs: e, Records: part, Grace: p.limits.Grace, Rate: p.limits.Rebuild,
		Store: part, Redis: b.redis, Metrics: p.metrics, Log: p.log,
	})
	return together{e, r}, err
}

// beforeListeners opens the sources, which all partitions share.
func (b *backend) beforeListeners() error {
	b.sources, b.bounds = map[string]listeners.Source{}, map[string]report.Bound{}
	b.slots = listeners.NewSlots(b.config.Limits.Tasks)
	for name, d := range b.config.Databases {
		source, err := b.source(name)
		if err != nil {
			return err
		}
		b.sources[name], b.bounds[name] = source, d.Bound
	}
	for name, a := range b.config.APIs {
		b.sources[name], b.bounds[name] = b.apis[name], a.Bound
	}
	return nil
}

// listeners is the role that runs queries and asks APIs.
func (b *backend) listeners(_ context.Context, p partition, consumer string) (runner, error) {
	return listeners.New(listeners.Options{
		Redis: b.blocking, Scripts: p.Scripts, Reports: b.config.Reports, Only: b.only, Sources: b.sources, Bounds: b.bounds,
		Limits: p.limits, Slots: b.slots, Consumer: consumer, Log: p.log, Metrics: p.metrics,
	})
}

// scheduler is the role that keeps time.
func (b *backend) scheduler(ctx context.Context, p partition, consumer string) (runner, error) {
	if b.config.Timers.Submit() {
		// A database that is away now proves nothing.
		if err := b.records.CheckFirings(ctx); errors.Is(err, record.ErrNoFirings) || err != nil && !mysqldb.Away(err) {
			return nil, fmt.Errorf("a timer submits a report: %w; fanfold migrate makes what it needs, fanfold doctor says more", err)
		}
	}
	timers, err := scheduler.NewTimers(scheduler.TimerOptions{
		Scripts: p.Scripts, Redis: b.blocking, Timers: b.config.Timers, Submitter: submitter{b.records},
		Lease: b.config.Limits.Lease, Stop: b.config.Limits.Stop, Consumer: consumer, Log: p.log,
	})
	if err != nil {
		return nil, err
	}
	s, err := scheduler.New(scheduler.Options{
		Redis: b.redis, Scripts: p.Scripts, Consumer: consumer, Timers: timers, Metrics: p.metrics, Log: p.log,
	})
	return together{s, timers}, err
}

// submitter is the record table for timers.
type submitter struct{ records *record.Store }

var _ scheduler.Submitter = submitter{}

// Submit implements scheduler.Submitter.
func (s submitter) Submit(ctx context.Context, name string, due int64, report string, parameters []byte) (string, error) {
	id, err := s.records.Submit(ctx, name, due, report, parameters)
	switch {
	case errors.Is(err, record.ErrNotCounted):
		err = fmt.Errorf("%w: %w", scheduler.ErrRefused, err)
	case mysqldb.Away(err):
		err = fmt.Errorf("%w: %w", scheduler.ErrOutage, err)
	}
	return id, err
}

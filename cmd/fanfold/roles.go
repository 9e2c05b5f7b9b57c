package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

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

// role makes one of the roles.
func (b *backend) role(ctx context.Context, role, consumer string, log *slog.Logger) (runner, error) {
	switch role {
	case "engine":
		return b.engine(ctx, consumer, log)
	case "listeners":
		return b.listeners(consumer, log)
	}
	return b.scheduler(ctx, consumer, log)
}

// engine is the role that starts jobs and ends them, and gives back to Redis what it has
// lost.
func (b *backend) engine(ctx context.Context, consumer string, log *slog.Logger) (runner, error) {
	if err := b.records.Check(ctx); err != nil {
		return nil, fmt.Errorf("%w; fanfold migrate makes the table, fanfold doctor says more", err)
	}
	files, err := b.sink(ctx)
	if err != nil {
		return nil, err
	}
	if d, ok := files.(*sink.Dir); ok {
		if err := d.Make(); err != nil {
			return nil, err
		}
	}
	b.files = sink.Watch(files)
	if err := b.files.Check(ctx); err != nil {
		log.Warn("the sink does not take files now: jobs will fail", "sink", b.config.Sink.String(), "err", err)
	}
	if _, err := engine.CheckScratch(ctx); err != nil {
		log.Warn("no scratch file can be written: large joins will fail", "hint", inspect.ScratchHint, "err", err)
	}
	tag, err := b.records.Install(ctx)
	if errors.Is(err, recovery.ErrNoTables) {
		log.Warn("no file is ever deleted from the sink, since nothing tells whose it is: fanfold migrate makes the tables that name this installation", "err", err)
	} else if err != nil {
		return nil, err
	}
	e, err := engine.New(engine.Options{
		Redis: b.blocking, Scripts: b.scripts, Records: b.records, Sink: b.files,
		Reports: b.config.Reports, Limits: b.config.Limits, Consumer: consumer, Log: log,
		Installation: tag, Metrics: b.metrics,
	})
	if err != nil {
		return nil, err
	}
	r, err := recovery.New(recovery.Options{
		Scripts: b.scripts, Jobs: e, Records: b.records, Grace: b.config.Limits.Grace, Rate: b.config.Limits.Rebuild,
		Store: b.records, Redis: b.redis, Metrics: b.metrics, Log: log,
	})
	return together{e, r}, err
}

// listeners is the role that runs queries and asks APIs.
func (b *backend) listeners(consumer string, log *slog.Logger) (runner, error) {
	sources, bounds := map[string]listeners.Source{}, map[string]report.Bound{}
	for name, d := range b.config.Databases {
		source, err := b.source(name)
		if err != nil {
			return nil, err
		}
		sources[name], bounds[name] = source, d.Bound
	}
	for name, a := range b.config.APIs {
		sources[name], bounds[name] = b.apis[name], a.Bound
	}
	return listeners.New(listeners.Options{
		Redis: b.blocking, Scripts: b.scripts, Reports: b.config.Reports, Sources: sources, Bounds: bounds,
		Limits: b.config.Limits, Consumer: consumer, Log: log, Metrics: b.metrics,
	})
}

// scheduler is the role that keeps time.
func (b *backend) scheduler(ctx context.Context, consumer string, log *slog.Logger) (runner, error) {
	if b.config.Timers.Submit() {
		// A database that is away now proves nothing.
		if err := b.records.CheckFirings(ctx); errors.Is(err, record.ErrNoFirings) || err != nil && !mysqldb.Away(err) {
			return nil, fmt.Errorf("a timer submits a report: %w; fanfold migrate makes what it needs, fanfold doctor says more", err)
		}
	}
	timers, err := scheduler.NewTimers(scheduler.TimerOptions{
		Scripts: b.scripts, Redis: b.blocking, Timers: b.config.Timers, Submitter: submitter{b.records},
		Lease: b.config.Limits.Lease, Stop: b.config.Limits.Stop, Consumer: consumer, Log: log,
	})
	if err != nil {
		return nil, err
	}
	s, err := scheduler.New(scheduler.Options{
		Redis: b.redis, Scripts: b.scripts, Consumer: consumer, Timers: timers, Metrics: b.metrics, Log: log,
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

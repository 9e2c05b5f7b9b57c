package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/inspect"
)

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

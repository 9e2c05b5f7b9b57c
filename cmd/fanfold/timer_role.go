package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/engine/record"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/scheduler"
)

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

// checkSubmits proves, before the role scheduler starts, that timers can insert
// records, if any does. A database that is away now proves nothing.
func (b *backend) checkSubmits(ctx context.Context) error {
	if !b.config.Timers.Submit() {
		return nil
	}
	err := b.records.CheckFirings(ctx)
	if err != nil && !errors.Is(err, record.ErrNoFirings) && mysqldb.Away(err) {
		return nil
	}
	return err
}

// timersOf makes what fires timers in the role scheduler.
func (b *backend) timersOf(consumer string, log *slog.Logger) (*scheduler.Timers, error) {
	return scheduler.NewTimers(scheduler.TimerOptions{
		Scripts: b.scripts, Redis: b.blocking, Timers: b.config.Timers, Submitter: submitter{b.records},
		Lease: b.config.Limits.Lease, Stop: b.config.Limits.Stop, Consumer: consumer, Log: log,
	})
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

package e2e

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/fanin"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/engine/trigger"
	"github.com/fanfold/fanfold/sink"
)

// Roles run the roles of a stack with parts that a test has exchanged.
type Roles struct {
	testing.TB
	open  func(file string) *process.Process
	file  string // the configuration
	files Files
}

// With runs all roles with these records and this sink until the test ends or stop is called.
func (r Roles) With(records engine.Records, to sink.Sink) (stop func()) {
	r.Helper()
	return r.run(r.open(r.file), slog.New(slog.NewTextHandler(testLog{r}, nil)), records, to, nil)
}

// Rebuilding runs all roles of a configuration with a recovery whose options change may set.
func (r Roles) Rebuilding(file string, change func(*recovery.Options)) (stop func()) {
	r.Helper()
	p := r.open(file)
	log := slog.New(slog.NewTextHandler(testLog{r}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return r.run(p, log, p.Records, r.files.Sink(), func(o *recovery.Options) {
		part := p.Records.Partition(0, 1)
		o.Records, o.Store, o.SnapshotEvery = part, part, 50*time.Millisecond
		o.Metrics, o.Log = prometheus.NewRegistry(), log
		if change != nil {
			change(o)
		}
	})
}

// run runs all roles. The recovery has no tables unless change sets them.
func (r Roles) run(
	p *process.Process, log *slog.Logger, records engine.Records, to sink.Sink, change func(*recovery.Options),
) (stop func()) {
	r.Helper()
	ctx, cancel := context.WithCancel(r.Context())
	var group errgroup.Group
	limits := p.Config.Limits
	e, err := engine.New(engine.Options{
		Redis: p.Blocking, Scripts: p.Partitions.First(), Records: records,
		Reports: p.Config.Reports, Limits: limits, Consumer: process.ConsumerName(), Log: log,
	})
	if err != nil {
		r.Fatal(err)
	}
	large, err := p.Spool(ctx, log)
	if err != nil {
		r.Fatal(err)
	}
	f, err := files.New(e, files.Options{
		Sink: to, Spool: large, Formats: kinds.Standard().Formats, Installation: r.files.Tag(),
		Sharing: p.Records.Sharing(),
	})
	if err != nil {
		r.Fatal(err)
	}
	starts := trigger.New(e, f)
	o := recovery.Options{
		Scripts: p.Partitions.First(), Jobs: starts, Records: p.Records,
		Grace: limits.RecoverAfter, Rate: limits.RebuildPerSecond,
	}
	if change != nil {
		change(&o)
	}
	recovers, err := recovery.New(o)
	if err != nil {
		r.Fatal(err)
	}
	all := []func(context.Context) error{starts.Run, fanin.New(e, f).Run, f.Run, recovers.Run}
	for _, role := range []string{"listeners", "scheduler"} {
		runs, err := p.Role(ctx, role, process.ConsumerName(), log)
		if err != nil {
			r.Fatal(err)
		}
		all = append(all, runs.Run)
	}
	for _, run := range all {
		group.Go(func() error { return run(ctx) })
	}
	stop = sync.OnceFunc(func() {
		cancel()
		if err := group.Wait(); err != nil {
			r.Error(err)
		}
	})
	r.Cleanup(stop)
	return stop
}

// Sweep deletes the orphaned files of the stack's sink, whatever their age.
func (r Roles) Sweep() {
	r.Helper()
	p := r.open(r.file)
	e, err := engine.New(engine.Options{
		Redis: p.Redis, Scripts: p.Partitions.First(), Records: p.Records, Consumer: "sweep",
	})
	if err != nil {
		r.Fatal(err)
	}
	large, err := p.Spool(r.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		r.Fatal(err)
	}
	f, err := files.New(e, files.Options{
		Sink: r.files.Sink(), Spool: large, Formats: kinds.Standard().Formats, Installation: r.files.Tag(),
		Deletions: p.Records.Deletions(), Sharing: p.Records.Sharing(), OrphanAge: 1,
	})
	if err != nil {
		r.Fatal(err)
	}
	if _, err := f.Sweep(r.Context()); err != nil {
		r.Fatal(err)
	}
}

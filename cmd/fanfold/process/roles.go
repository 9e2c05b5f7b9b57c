package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/fanin"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/engine/trigger"
	"github.com/fanfold/fanfold/internal/spooled"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/spool"
)

// Roles are the roles of processes. Any number of processes can have the same role.
var Roles = []string{"engine", "listeners", "scheduler"}

// Runner runs a role until ctx ends or the role fails.
type Runner interface {
	Run(ctx context.Context) error
}

// together runs several Runners as one.
type together []Runner

// Run implements Runner.
func (ts together) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, t := range ts {
		group.Go(func() error { return t.Run(ctx) })
	}
	return group.Wait()
}

// builder prepares what the partitions share, and returns a function that makes the Runner of one partition.
type builder func(ctx context.Context, p *Process, log *slog.Logger) (func(partition) (Runner, error), error)

// builders has the builder of every role.
var builders = map[string]builder{"engine": buildEngine, "listeners": buildListeners, "scheduler": buildScheduler}

// Role makes a role, with one Runner for every partition.
func (p *Process) Role(ctx context.Context, role, consumer string, log *slog.Logger) (Runner, error) {
	build, err := builders[role](ctx, p, log)
	if err != nil {
		return nil, err
	}
	var all together
	for i, s := range p.Partitions {
		of := partition{
			Scripts: s, index: i, limits: p.Config.Limits.Share(len(p.Partitions)),
			metrics: p.Metrics, consumer: consumer, log: log,
		}
		if len(p.Partitions) > 1 {
			of.log = log.With("partition", strconv.Itoa(i))
			if p.Metrics != nil {
				of.metrics = prometheus.WrapRegistererWith(prometheus.Labels{"partition": strconv.Itoa(i)}, p.Metrics)
			}
		}
		r, err := build(of)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// partition is what the roles of one partition do not share with other partitions.
type partition struct {
	*scripts.Scripts
	index    int
	limits   report.Limits
	metrics  prometheus.Registerer
	consumer string
	log      *slog.Logger
}

// openEngine opens and checks what the engines of all partitions share. The tag identifies this installation in the
// names of files; empty: unknown.
func openEngine(ctx context.Context, p *Process, log *slog.Logger) (tag string, err error) {
	if err := p.Records.Check(ctx); err != nil {
		return "", fmt.Errorf("%w; create the table with fanfold migrate, or see fanfold doctor", err)
	}
	if err := p.Records.CheckHistory(ctx); p.Config.Records.History > 0 && err != nil {
		log.Warn("what jobs did is not kept: run fanfold migrate, or see fanfold doctor", "err", err)
	}
	if p.Config.Records.Audit > 0 {
		if err := p.Records.Acts().Check(ctx); err != nil {
			log.Warn("acts are only in Redis: run fanfold migrate, or see fanfold doctor", "err", err)
		}
	}
	for _, r := range p.Config.Reports {
		if r.Once == nil {
			continue
		}
		if err := p.Records.CheckSharing(ctx); err != nil {
			return "", fmt.Errorf("report %s has once: %w", r.Name, err)
		}
	}
	opened, err := makePlace(ctx, p, p.Config.Sink)
	if err != nil {
		return "", err
	}
	p.files = sink.Watch(opened)
	if err := p.files.Check(ctx); err != nil {
		log.Warn("the sink does not accept files: jobs will fail", "sink", p.Config.Sink.URL, "err", err)
	}
	if _, err := files.CheckScratch(ctx); err != nil {
		log.Warn("cannot write a scratch file: large joins will fail", "hint", files.ScratchHint, "err", err)
	}
	if _, err := p.Spool(ctx, log); err != nil {
		return "", err
	}
	tag, err = p.Records.Install(ctx)
	if errors.Is(err, recovery.ErrNoTables) {
		log.Warn("orphaned files stay in the sink: run fanfold migrate, "+
			"which creates the tables that identify this installation", "err", err)
		return "", nil
	}
	return tag, err
}

// makePlace opens the sink or the spool, and makes its directory.
func makePlace(ctx context.Context, p *Process, of report.Sink) (sink.Sink, error) {
	opened, err := sinkOf(p, of)(ctx)
	if err != nil {
		return nil, err
	}
	if place, ok := opened.(sink.Maker); ok {
		err = place.Make()
	}
	return opened, err
}

// Spool opens and checks the spool of the configuration, and makes its directory; nil: there is none. The roles of the
// process share it, and Close closes it. The roles are made one after the other.
func (p *Process) Spool(ctx context.Context, log *slog.Logger) (*spool.Spool, error) {
	if p.Config.Spool.URL == "" || p.spool != nil {
		return p.spool, nil
	}
	opened, err := makePlace(ctx, p, p.Config.Spool.Sink)
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	if err := opened.Check(ctx); err != nil {
		log.Warn("the spool does not accept objects: jobs with large datasets wait", "spool", p.Config.Spool.URL, "err", err)
	}
	tag, err := p.Records.Install(ctx)
	if errors.Is(err, recovery.ErrNoTables) {
		log.Warn("segments of ended jobs stay in the spool: run fanfold migrate, "+
			"which creates the tables that identify this installation", "err", err)
	} else if err != nil {
		return nil, err
	}
	p.spool = spool.New(spool.Options{
		Sink: opened, Tag: tag, Above: p.Config.Spool.Above, Plain: p.Config.Spool.Plain,
		SegmentBytes: spooled.SegmentBytes,
	})
	return p.spool, nil
}

// buildEngine builds the role engine.
func buildEngine(ctx context.Context, p *Process, log *slog.Logger) (func(partition) (Runner, error), error) {
	tag, err := openEngine(ctx, p, log)
	return func(of partition) (Runner, error) { return newEngine(p, of, tag) }, err
}

// newEngine makes the engine of a partition. It starts and ends jobs, and rebuilds what Redis lost.
func newEngine(p *Process, of partition, tag string) (Runner, error) {
	e, err := engine.New(engine.Options{
		Redis: p.Blocking, Scripts: of.Scripts, Partitions: p.Partitions, Records: p.Records,
		Reports: p.Config.Reports, Limits: of.limits, Consumer: of.consumer,
		Log: of.log, Metrics: of.metrics, Trace: p.trace,
	})
	if err != nil {
		return nil, err
	}
	f, err := files.New(e, files.Options{
		Sink: p.files, Spool: p.spool, Formats: p.kinds.Formats, Installation: tag, Deletions: p.Records.Deletions(),
		Sharing: p.Records.Sharing(), History: p.Records, Acts: p.Records.Acts(),
	})
	if err != nil {
		return nil, err
	}
	t := trigger.New(e, f)
	part := p.Records.Partition(of.index, len(p.Partitions))
	r, err := recovery.New(recovery.Options{
		Scripts: of.Scripts, Jobs: t, Records: part, Grace: of.limits.RecoverAfter, Rate: of.limits.RebuildPerSecond,
		Store: part, Metrics: of.metrics, Log: of.log,
	})
	return together{t, fanin.New(e, f), f, r}, err
}

// buildListeners builds the role listeners. The listeners of all partitions share their slots.
func buildListeners(ctx context.Context, p *Process, log *slog.Logger) (func(partition) (Runner, error), error) {
	large, err := p.Spool(ctx, log)
	if err != nil {
		return nil, err
	}
	limits, sources := map[string]int{}, map[string]listeners.Source{}
	for name, s := range p.Config.Sources {
		limits[name] = s.MaxTasks
	}
	for name, s := range p.sources {
		sources[name] = s
	}
	slots := listeners.NewSlots(p.Config.Limits, limits)
	guards := listeners.NewGuards(sources, p.Config.Protections(), log)
	return func(of partition) (Runner, error) {
		r, err := listeners.New(listeners.Options{
			Redis: p.Blocking, Scripts: of.Scripts, Partitions: p.Partitions, Reports: p.Config.Reports,
			Only: p.only, Sources: sources, Bounds: p.Config.Bounds(), Guards: guards, Limits: of.limits,
			Slots: slots, Spool: large, Consumer: of.consumer, Log: of.log, Metrics: of.metrics, Trace: p.trace,
		})
		p.listeners = append(p.listeners, r)
		return r, err
	}, nil
}

// buildScheduler builds the role scheduler.
func buildScheduler(ctx context.Context, p *Process, _ *slog.Logger) (func(partition) (Runner, error), error) {
	if p.Config.Timers.InsertRecords() {
		// If the database cannot be reached now, the table may still exist.
		err := p.Records.CheckFirings(ctx)
		if errors.Is(err, record.ErrNoFirings) || err != nil && !p.Records.Kind().Away(err) {
			return nil, fmt.Errorf("a timer or schedule submits a report: %w; run fanfold migrate, or see fanfold doctor", err)
		}
	}
	return func(of partition) (Runner, error) { return newScheduler(p, of) }, nil
}

// newScheduler makes the scheduler of a partition. It acts on due times, deadlines and timers.
func newScheduler(p *Process, of partition) (Runner, error) {
	timers, err := scheduler.NewTimers(scheduler.TimerOptions{
		Scripts: of.Scripts, Redis: p.Blocking, Timers: p.Config.Timers, Actions: p.kinds.Actions,
		Submitter: Submitter{p.Records},
		Reports:   p.Config.Reports, Records: Ends{p.Records}, Schedules: of.index == 0,
		Lease: p.Config.Limits.Lease, Stop: p.Config.Limits.ShutdownTimeout, Consumer: of.consumer, Log: of.log,
	})
	if err != nil {
		return nil, err
	}
	s, err := scheduler.New(scheduler.Options{
		Scripts: of.Scripts, Consumer: of.consumer, Timers: timers, Metrics: of.metrics, Log: of.log,
	})
	return together{s, timers}, err
}

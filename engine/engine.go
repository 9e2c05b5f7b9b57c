package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/trace"
)

// Options configures an Engine. The fields up to Consumer are required.
type Options struct {
	Redis      redis.UniversalClient // for blocking reads
	Scripts    *scripts.Scripts      // of this engine's partition
	Records    Records
	Consumer   string                    // unique per process
	Partitions scripts.Partitions        // all partitions; nil: there is one
	Reports    map[string]*report.Report // by name
	Limits     report.Limits
	Log        *slog.Logger          // nil: silent
	Metrics    prometheus.Registerer // nil: none
	Trace      *trace.Tracer         // nil: no job is traced
}

// Engine is what trigger, fan-in and files of one partition share. It is safe for concurrent use.
type Engine struct {
	Options
	finished *prometheus.CounterVec // jobs by report and status
	shared   *prometheus.CounterVec // jobs that got the file of another, by report
	reused   *prometheus.CounterVec // datasets by report and listener
}

// New returns an Engine. It does no I/O.
func New(o Options) (*Engine, error) {
	if o.Redis == nil || o.Scripts == nil || o.Records == nil || o.Consumer == "" {
		return nil, errors.New("Redis, Scripts, Records and Consumer are required")
	}
	if o.Partitions == nil {
		o.Partitions = scripts.Partitions{o.Scripts}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Engine{o, newFinished(o.Metrics), newShared(o.Metrics), newReused(o.Metrics)}, nil
}

// Notifies tells whether the end of a job must be reported to a service. A report that is not in
// this configuration may be in a scheduler's.
func (e *Engine) Notifies(report string) bool {
	r := e.Reports[report]
	return r == nil || r.Notify != nil
}

// Running returns how many jobs of a report may run at once; 0: any number. If Redis does not say whether people have
// changed that, it is the number of the configuration.
func (e *Engine) Running(ctx context.Context, r *report.Report) int {
	holds, err := e.Scripts.Gate.Recent(ctx)
	if err != nil {
		e.Log.Debug("could not read the limit of a report", "report", r.Name, "err", err)
	}
	return holds.Limit(scripts.PausedReport(r.Name), r.Running)
}

// SlotsTime bounds the calls to the partition that has the slots of all jobs.
const SlotsTime = time.Second

// ReleaseJobSlots gives the slots of jobs back that have ended, by report. If that fails, the trigger
// finds them.
func (e *Engine) ReleaseJobSlots(ctx context.Context, ended map[string][]string) {
	for of, ids := range ended {
		if r := e.Reports[of]; r == nil || e.Running(ctx, r) == 0 {
			continue
		}
		short, cancel := context.WithTimeout(ctx, SlotsTime)
		if err := e.Scripts.Limits.ReleaseJobSlots(short, of, ids...); err != nil {
			e.Log.Debug("could not give slots back; they are found later", "jobs", len(ids), "report", of, "err", err)
		}
		cancel()
	}
}

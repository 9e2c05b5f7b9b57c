package listeners

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// What becomes of a task that was taken.
const (
	taskDone    = "done"    // completed, or its job has ended meanwhile
	taskRetry   = "retry"   // a try failed, and another one follows
	taskOutage  = "outage"  // its source was away: no try was used
	taskWaits   = "waits"   // for somebody else: it comes again, and no try was used
	taskFailed  = "failed"  // and its job with it
	taskOmitted = "omitted" // given up, and its job goes on without it
	taskStale   = "stale"   // given up, and its job has older data of its listener
	taskLeft    = "left"    // lost to another worker, or handed back at a stop
)

// metrics count the tasks of a Runner.
type metrics struct {
	tasks     *prometheus.CounterVec   // by listener and outcome
	seconds   *prometheus.HistogramVec // by listener
	busy      *prometheus.CounterVec   // by source and reason
	preempted prometheus.Counter
}

// newMetrics registers the metrics; with a nil registerer they only count.
func newMetrics(to prometheus.Registerer) *metrics {
	with := promauto.With(to)
	return &metrics{
		tasks: with.NewCounterVec(prometheus.CounterOpts{
			Name: "fanfold_tasks_total",
			Help: "Tasks that were worked on here, by listener and outcome: done, retry, outage, waits, failed, omitted, stale or left.",
		}, []string{"listener", "outcome"}),
		seconds: with.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "fanfold_query_duration_seconds",
			Help:    "How long a try of a task took, with storing its rows, however it ended.",
			Buckets: []float64{.005, .02, .1, .5, 2, 10, 30, 60, 180, 600, 1800},
		}, []string{"listener"}),
		busy: with.NewCounterVec(prometheus.CounterOpts{
			Name: "fanfold_source_busy_total",
			Help: "Tasks that waited here and pauses between parts because a source was busy, by source and reason: threads_running, replica_lag, statement_p95, unanswered or refused.",
		}, []string{"source", "reason"}),
		preempted: with.NewCounter(prometheus.CounterOpts{
			Name: "fanfold_jobs_preempted_total",
			Help: "Jobs that were stopped here because Redis was full, so that an older job could go on. They start again later.",
		}),
	}
}

package engine

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// jobMetrics count the ends of jobs in this process. A crash can count an end twice or not at all:
// the records are the truth.
type jobMetrics struct {
	finished *prometheus.CounterVec // by report and status
	requeued *prometheus.CounterVec // by step and why
}

// Reasons for which fan-in requeues a job.
const (
	requeuedRefused = "refused" // by the sink; counts as a try
	requeuedOutage  = "outage"
	requeuedStop    = "stop"
)

// newJobMetrics registers the metrics; with a nil registerer they only count.
func newJobMetrics(to prometheus.Registerer) *jobMetrics {
	with := promauto.With(to)
	return &jobMetrics{
		finished: with.NewCounterVec(prometheus.CounterOpts{
			Name: "fanfold_jobs_finished_total", Help: "Jobs whose end this process has carried out, by report and final status.",
		}, []string{"report", "status"}),
		requeued: with.NewCounterVec(prometheus.CounterOpts{
			Name: "fanfold_fanin_requeued_total", Help: "Times that fan-in left a job for later, by step and reason: refused, outage or stop.",
		}, []string{"step", "reason"}),
	}
}

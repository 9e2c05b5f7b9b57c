package engine

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// newFinished registers the counter of ended jobs, by report and status; with a nil registerer it only counts.
func newFinished(to prometheus.Registerer) *prometheus.CounterVec {
	// A crash can count an end twice or not at all: the records are the truth.
	return promauto.With(to).NewCounterVec(prometheus.CounterOpts{
		Name: "fanfold_jobs_finished_total",
		Help: "Jobs whose end this process has carried out, by report and final status.",
	}, []string{"report", "status"})
}

// newReused registers the counter of datasets that attempts reuse.
func newReused(to prometheus.Registerer) *prometheus.CounterVec {
	return promauto.With(to).NewCounterVec(prometheus.CounterOpts{
		Name: "fanfold_datasets_reused_total",
		Help: "Datasets of earlier attempts with which this process has started jobs, by report and listener.",
	}, []string{"report", "listener"})
}

// CountReused counts a dataset that a job reuses.
func (e *Engine) CountReused(report, listener string) {
	e.reused.WithLabelValues(report, listener).Inc()
}

// CountEnd counts a job that has ended.
func (e *Engine) CountEnd(report, status string) { e.finished.WithLabelValues(report, status).Inc() }

// newShared registers the counter of jobs that got the file of another, by report.
func newShared(to prometheus.Registerer) *prometheus.CounterVec {
	return promauto.With(to).NewCounterVec(prometheus.CounterOpts{
		Name: "fanfold_jobs_shared_total",
		Help: "Jobs that got the file of an equal job instead of running (once), by report.",
	}, []string{"report"})
}

// CountShared counts a job that got the file of another.
func (e *Engine) CountShared(report string) { e.shared.WithLabelValues(report).Inc() }

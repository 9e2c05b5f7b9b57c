package fanin

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/fanfold/fanfold/scripts"
)

// Reasons for which fan-in requeues a job.
const (
	requeuedRefused = "refused" // by the sink; counts as a try
	requeuedOutage  = "outage"
	requeuedStop    = "stop"
)

// newRequeued registers the counter of requeued jobs, by step and reason; with a nil registerer it
// only counts.
func newRequeued(to prometheus.Registerer) *prometheus.CounterVec {
	return promauto.With(to).NewCounterVec(prometheus.CounterOpts{
		Name: "fanfold_fanin_requeued_total",
		Help: "Times that fan-in left a job for later, by step and reason: refused, outage or stop.",
	}, []string{"step", "reason"})
}

func requeueReason(a scripts.Requeue) string {
	switch {
	case a.Counts:
		return requeuedRefused
	case a.Error == "":
		return requeuedStop
	}
	return requeuedOutage
}

package recovery

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics count the work of a Recovery.
type metrics struct{ started, lost, snapshots prometheus.Counter }

// newMetrics registers the metrics; with a nil registerer they only count.
func newMetrics(to prometheus.Registerer) metrics {
	counter := func(name, help string) prometheus.Counter {
		return promauto.With(to).NewCounter(prometheus.CounterOpts{Name: "fanfold_" + name, Help: help})
	}
	return metrics{
		started: counter("rebuild_started_total",
			"Jobs that a rebuild started from their records, since Redis did not know them."),
		lost: counter("incarnations_lost_total",
			"Times that Redis was found to have lost its memory or the last of it, and got back what the snapshot has."),
		snapshots: counter("snapshots_total",
			"Snapshots of due times and timers that this process has saved in the database."),
	}
}

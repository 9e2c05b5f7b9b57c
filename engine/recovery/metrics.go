package recovery

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts what a Recovery does.
type metrics struct {
	started    prometheus.Counter
	epochsLost prometheus.Counter
	snapshots  prometheus.Counter
}

// newMetrics registers the metrics; with a nil registerer they only count.
func newMetrics(to prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "fanfold_" + name, Help: help})
	}
	m := &metrics{
		started:    counter("rebuild_started_total", "Jobs that a rebuild started from their records, since Redis did not know them."),
		epochsLost: counter("incarnations_lost_total", "Times that Redis was found to have lost its memory or the last of it, and got back what the snapshot has."),
		snapshots:  counter("snapshots_total", "Snapshots of due times and timers that this process has saved in MySQL."),
	}
	if to == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.started, m.epochsLost, m.snapshots} {
		if err := to.Register(c); err != nil {
			return nil, fmt.Errorf("recovery: metrics: %w", err)
		}
	}
	return m, nil
}

package otlp

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// newDropped registers the counter of spans that are not sent; with a nil registerer it only counts.
func newDropped(to prometheus.Registerer) prometheus.Counter {
	return promauto.With(to).NewCounter(prometheus.CounterOpts{
		Name: "fanfold_spans_dropped_total",
		Help: "Spans that were not sent because the collector does not accept them or is too slow.",
	})
}

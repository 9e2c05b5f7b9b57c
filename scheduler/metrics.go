package scheduler

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// What detected a timeout.
const (
	byEvent = "event" // the key's expired event
	bySweep = "sweep" // a poll of the deadlines
)

// metrics measure how punctual a Scheduler is.
type metrics struct {
	timeouts *prometheus.HistogramVec // by what found it
	delayed  prometheus.Histogram
	heard    prometheus.Gauge
	again    prometheus.Counter
}

// buckets go from a millisecond to an hour.
var buckets = []float64{.001, .002, .005, .01, .02, .05, .1, .25, .5, 1, 2, 5, 10, 60, 600, 3600}

// newMetrics registers the metrics; with a nil registerer they only count.
func newMetrics(to prometheus.Registerer) *metrics {
	with := promauto.With(to)
	m := &metrics{
		timeouts: with.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fanfold_timeout_lateness_seconds", Buckets: buckets,
			Help: "How long after its deadline it was decided that a job fails, by what found it.",
		}, []string{"found_by"}),
		delayed: with.NewHistogram(prometheus.HistogramOpts{
			Name: "fanfold_delayed_lateness_seconds", Buckets: buckets,
			Help: "How long after it was due a member of the delayed set was moved to its stream.",
		}),
		heard: with.NewGauge(prometheus.GaugeOpts{
			Name: "fanfold_notifications_heard",
			Help: "Whether keyspace notifications of Redis are heard: 1, or 0 where only sweeps find what is due.",
		}),
		again: with.NewCounter(prometheus.CounterOpts{
			Name: "fanfold_resubscriptions_total",
			Help: "How often the subscription to keyspace notifications was lost and made anew.",
		}),
	}
	for _, found := range []string{byEvent, bySweep} {
		m.timeouts.WithLabelValues(found)
	}
	return m
}

func (m *metrics) timeout(found string, late time.Duration) {
	m.timeouts.WithLabelValues(found).Observe(late.Seconds())
}

func (m *metrics) moved(late []time.Duration) {
	for _, l := range late {
		m.delayed.Observe(l.Seconds())
	}
}

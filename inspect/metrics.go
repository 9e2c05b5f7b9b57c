package inspect

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// NewCollector returns a collector of the Figures. All processes export the same values: use their
// maximum, not their sum.
func NewCollector(in *Inspector) prometheus.Collector {
	g := &gauges{in: in, descs: map[string]*prometheus.Desc{}}
	g.up = prometheus.NewDesc("fanfold_redis_up",
		"1 if all of Redis answered this scrape, else 0: the figures of the partitions that did not are missing.",
		nil, nil)
	for _, f := range in.Figures.Measured() {
		var labels []string
		if f.Label != "" {
			labels = append(labels, f.Label)
		}
		if f.Part != "" {
			labels = append(labels, "partition")
		}
		g.descs[f.Name] = prometheus.NewDesc("fanfold_"+f.Name, f.Help, labels, nil)
	}
	return g
}

type gauges struct {
	in    *Inspector
	up    *prometheus.Desc
	descs map[string]*prometheus.Desc // by name
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	out <- g.up
	for _, d := range g.descs {
		out <- d
	}
}

// scrapeTime is the timeout of a scrape.
const scrapeTime = 3 * time.Second

// Collect implements prometheus.Collector.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	all, err := g.in.Figures.Read(ctx)
	up := 1.0
	if err != nil {
		up = 0
	}
	for _, f := range all {
		var labels []string
		if f.Label != "" {
			labels = append(labels, f.Of)
		}
		if f.Part != "" {
			labels = append(labels, f.Part)
		}
		out <- prometheus.MustNewConstMetric(g.descs[f.Name], prometheus.GaugeValue, f.Value, labels...)
	}
	out <- prometheus.MustNewConstMetric(g.up, prometheus.GaugeValue, up)
}

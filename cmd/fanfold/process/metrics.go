package process

import (
	"fmt"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/fanfold/fanfold/inspect"
)

// RegisterMetrics registers the metrics of the process and of Redis; the roles add theirs.
func (p *Process) RegisterMetrics(registry prometheus.Registerer) error {
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fanfold_build_info",
		Help: "1. Its labels are the release of this process and the version of Go that built it.",
	}, []string{"version", "go"})
	build.WithLabelValues(p.Version, runtime.Version()).Set(1)
	for _, c := range []prometheus.Collector{
		build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), inspect.NewCollector(p.Inspect),
	} {
		if err := registry.Register(c); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
	}
	return nil
}

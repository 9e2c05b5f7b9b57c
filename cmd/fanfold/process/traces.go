package process

import (
	"context"
	"log/slog"

	"github.com/fanfold/fanfold/trace/otlp"
)

// Traces starts the sending of spans, if the configuration names a collector. Only roles that are made
// after the call have spans. end sends the last ones.
func (p *Process) Traces(ctx context.Context, consumer string, log *slog.Logger) (end func(), err error) {
	if p.Config.Traces.URL == "" {
		return func() {}, nil
	}
	p.trace, end, err = otlp.Open(ctx, otlp.Options{
		Traces: p.Config.Traces, Version: p.Version, Instance: consumer, Log: log, Metrics: p.Metrics,
	})
	return end, err
}

package process

import (
	"context"
	"log/slog"

	"github.com/fanfold/fanfold/internal/trace/otlp"
)

// Traces has the roles that are made from then on send spans, if the configuration names a
// collector. The last ones are sent when end is called.
func (p *Process) Traces(ctx context.Context, consumer string, log *slog.Logger) (end func(), err error) {
	if p.Config.Traces.URL == "" {
		return func() {}, nil
	}
	p.trace, end, err = otlp.Open(ctx, otlp.Options{Traces: p.Config.Traces, Redis: p.Redis, Version: p.Version, Instance: consumer, Log: log, Metrics: p.Metrics})
	return end, err
}

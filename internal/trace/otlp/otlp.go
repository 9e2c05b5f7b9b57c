// Package otlp answers one question: how do spans get to a collector? It sends them with OTLP
// over HTTP, from a bounded queue: a collector that is away costs spans and nothing else.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/internal/trace"
	"github.com/fanfold/fanfold/report"
)

// Options configures Open. All fields but Metrics are needed.
type Options struct {
	report.Traces
	Redis    redis.Cmdable
	Version  string // of the program
	Instance string // unique for this process
	Log      *slog.Logger
	Metrics  prometheus.Registerer // nil: none
}

const (
	// every is how often spans are sent that are fewer than a batch.
	every = time.Second
	// batch is how many spans one request has at most.
	batch = 512
	// lastTime is how long the last spans may take when the process ends.
	lastTime = 2 * time.Second
)

// Open returns a Tracer whose spans are sent until close is called, which sends those that are
// left. It connects to nothing yet.
func Open(ctx context.Context, o Options) (t *trace.Tracer, close func(), err error) {
	headers := map[string]string{}
	var secrets []string
	for name, value := range o.Headers {
		headers[name] = value.Reveal()
		secrets = append(secrets, value.Reveal())
	}
	client, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(o.URL+"/v1/traces"), otlptracehttp.WithHeaders(headers), otlptracehttp.WithTimeout(o.Timeout),
		otlptracehttp.WithHTTPClient(&http.Client{Timeout: o.Timeout, CheckRedirect: stay}),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: every, MaxInterval: o.Timeout, MaxElapsedTime: o.Timeout}))
	if err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	of, err := resource.Merge(resource.Environment(), resource.NewSchemaless(
		attribute.String("service.name", "fanfold"), attribute.String("service.version", o.Version), attribute.String("service.instance.id", o.Instance)))
	if err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	dropped := promauto.With(o.Metrics).NewCounter(prometheus.CounterOpts{
		Name: "fanfold_spans_dropped_total", Help: "Spans that were not sent: the collector does not take them, or not as fast as they come.",
	})
	q := &queue{size: int64(o.Queue), dropped: dropped, secrets: secrets, log: o.Log}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(q.tell)) // what the exporter says beside its results
	batches := sdk.NewBatchSpanProcessor(exporter{client, q}, sdk.WithMaxQueueSize(o.Queue), sdk.WithMaxExportBatchSize(min(batch, o.Queue)), sdk.WithBatchTimeout(every), sdk.WithExportTimeout(o.Timeout))
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(processor{batches, q}), sdk.WithIDGenerator(ids{}), sdk.WithSampler(sdk.AlwaysSample()), sdk.WithResource(of))
	ratio := sdk.TraceIDRatioBased(float64(o.Sample))
	return trace.New(trace.Options{
			Tracer: provider.Tracer("github.com/fanfold/fanfold"), Redis: o.Redis,
			Sampled: func(id oteltrace.TraceID) bool {
				return ratio.ShouldSample(sdk.SamplingParameters{TraceID: id}).Decision == sdk.RecordAndSample
			},
		}), func() {
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
			defer cancel()
			_ = provider.Shutdown(limited)
			_ = client.Shutdown(limited) // ends a request that takes longer
		}, nil
}

// stay follows no redirect: the headers of the configuration, which are secret, would go to another host.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// ids are those of spans. Most are random; the span of a job has had its id since the job started.
type ids struct{}

var _ sdk.IDGenerator = ids{}

// NewIDs implements sdk.IDGenerator. It is not called: a job's trace has an id before its first span.
func (g ids) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	a, b := trace.NewSpanID(), trace.NewSpanID()
	return oteltrace.TraceID(append(a[:], b[:]...)), g.NewSpanID(ctx, oteltrace.TraceID{})
}

// NewSpanID implements sdk.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ oteltrace.TraceID) oteltrace.SpanID {
	if id := trace.WantedSpanID(ctx); id.IsValid() {
		return id
	}
	return trace.NewSpanID()
}

// queue counts the spans on their way, so that those are counted, too, that have no room.
type queue struct {
	size    int64
	waiting atomic.Int64
	failing atomic.Bool // which was logged
	dropped prometheus.Counter
	secrets []string
	log     *slog.Logger
}

// processor puts spans into the queue.
type processor struct {
	sdk.SpanProcessor
	*queue
}

// OnEnd implements sdk.SpanProcessor.
func (p processor) OnEnd(span sdk.ReadOnlySpan) {
	if p.waiting.Add(1) > p.size {
		p.waiting.Add(-1)
		p.drop(1, errFull)
		return
	}
	p.SpanProcessor.OnEnd(span)
}

var errFull = errors.New("the queue is full: raise traces.queue, or lower traces.sample")

// exporter sends spans from the queue.
type exporter struct {
	sdk.SpanExporter
	*queue
}

// ExportSpans implements sdk.SpanExporter.
func (e exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	e.waiting.Add(-int64(len(spans)))
	if err != nil {
		e.drop(len(spans), err)
	} else if e.failing.Swap(false) {
		e.log.Info("the collector takes spans again")
	}
	return nil
}

// drop counts spans that are not sent, and logs the first ones.
func (q *queue) drop(n int, err error) {
	q.dropped.Add(float64(n))
	if !q.failing.Swap(true) {
		q.log.Warn("spans are dropped; jobs go on", "metric", "fanfold_spans_dropped_total", "err", ask.Excerpt([]byte(err.Error()), q.secrets))
	}
}

// tell logs what is no result of a request.
func (q *queue) tell(err error) {
	q.log.Warn("traces", "err", ask.Excerpt([]byte(err.Error()), q.secrets))
}

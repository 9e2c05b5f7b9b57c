// Package otlp answers one question: how do spans get to a collector? It sends them with OTLP over
// HTTP, from a bounded queue. If the collector is unreachable, spans are dropped, and jobs continue.
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
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/trace"
)

// Options configures Open. All fields but Metrics are needed.
type Options struct {
	report.Traces
	Version  string // of the program
	Instance string // unique for this process
	Log      *slog.Logger
	Metrics  prometheus.Registerer // nil: none
}

const (
	// every is the time between requests while there are fewer spans than a batch.
	every = time.Second
	// batch is the maximum number of spans in a request.
	batch = 512
	// shutdownTime bounds the sending of the last spans when the process ends.
	shutdownTime = 2 * time.Second
)

// Open returns a Tracer whose spans are sent until close is called. close sends the remaining spans,
// for at most 2 seconds. Open does no I/O.
func Open(ctx context.Context, o Options) (t *trace.Tracer, close func(), err error) {
	headers := map[string]string{}
	var secrets []string
	for name, value := range o.Headers {
		headers[name] = value.Reveal()
		secrets = append(secrets, value.Reveal())
	}
	client, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(o.URL+"/v1/traces"),
		otlptracehttp.WithHeaders(headers), otlptracehttp.WithTimeout(o.Timeout),
		otlptracehttp.WithHTTPClient(&http.Client{Timeout: o.Timeout, CheckRedirect: stay}),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: every,
			MaxInterval: o.Timeout, MaxElapsedTime: o.Timeout}))
	if err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	of, err := resource.Merge(resource.Environment(), resource.NewSchemaless(
		attribute.String("service.name", "fanfold"), attribute.String("service.version", o.Version),
		attribute.String("service.instance.id", o.Instance)))
	if err != nil {
		return nil, nil, fmt.Errorf("traces: %w", err)
	}
	q := &queue{size: int64(o.Queue), dropped: newDropped(o.Metrics), secrets: secrets, log: o.Log}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(q.logError)) // errors that ExportSpans does not return
	batches := sdk.NewBatchSpanProcessor(exporter{client, q}, sdk.WithMaxQueueSize(o.Queue),
		sdk.WithMaxExportBatchSize(min(batch, o.Queue)), sdk.WithBatchTimeout(every), sdk.WithExportTimeout(o.Timeout))
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(processor{batches, q}), sdk.WithIDGenerator(ids{}),
		sdk.WithSampler(sdk.AlwaysSample()), sdk.WithResource(of))
	ratio := sdk.TraceIDRatioBased(float64(o.Sample))
	return trace.New(trace.Options{
			Tracer: provider.Tracer("github.com/fanfold/fanfold"),
			Sampled: func(id oteltrace.TraceID) bool {
				return ratio.ShouldSample(sdk.SamplingParameters{TraceID: id}).Decision == sdk.RecordAndSample
			},
		}), func() {
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
			defer cancel()
			_ = provider.Shutdown(limited)
			_ = client.Shutdown(limited) // ends a request that takes longer
		}, nil
}

// stay follows no redirect, because the secret headers of the configuration would go to another host.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// ids generates the ids of spans. Most are random; the span of a job has had its id since the start of
// the job.
type ids struct{}

var _ sdk.IDGenerator = ids{}

// NewIDs implements sdk.IDGenerator. It is not called, because a trace has its id before the first span.
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

// queue counts the waiting spans, so that spans dropped from a full queue are counted, too.
type queue struct {
	size    int64
	waiting atomic.Int64
	failing atomic.Bool // spans are dropped, which was logged
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
		e.log.Info("the collector accepts spans again")
	}
	return nil
}

// drop counts spans that are not sent, and logs the first error.
func (q *queue) drop(n int, err error) {
	q.dropped.Add(float64(n))
	if !q.failing.Swap(true) {
		q.log.Warn("spans are dropped: jobs continue without them", "metric", "fanfold_spans_dropped_total", "err",
			ask.Excerpt([]byte(err.Error()), q.secrets))
	}
}

// logError logs an error of the exporter that is not the result of a request.
func (q *queue) logError(err error) {
	q.log.Warn("the exporter of traces reports an error", "err", ask.Excerpt([]byte(err.Error()), q.secrets))
}

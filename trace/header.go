package trace

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// Field is the field of an entry in the job stream, and the header of a request, that names the span
// that sent it: traceparent of https://www.w3.org/TR/trace-context/.
const Field = "traceparent"

var form propagation.TraceContext

// contextOf reads a traceparent. The result is not valid if the text is not a traceparent.
func contextOf(traceparent string) oteltrace.SpanContext {
	return oteltrace.SpanContextFromContext(WithParent(context.Background(), traceparent))
}

func headerOf(of oteltrace.SpanContext) string {
	return Parent(oteltrace.ContextWithSpanContext(context.Background(), of))
}

// WithParent returns a context whose span is that of a traceparent. A text that is not a traceparent
// changes nothing.
func WithParent(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return form.Extract(ctx, propagation.MapCarrier{Field: traceparent})
}

// Parent returns the traceparent of the span in a context; empty: no span.
func Parent(ctx context.Context) string {
	if !oteltrace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	header := propagation.MapCarrier{}
	form.Inject(ctx, header)
	return header[Field]
}

// Inject adds the traceparent of the span in ctx to the headers of a request, unless they have one.
func Inject(ctx context.Context, headers http.Header) {
	if parent := Parent(ctx); parent != "" && headers.Get(Field) == "" {
		headers.Set(Field, parent)
	}
}

package trace

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// Field is the field of an entry of the stream of jobs, and the header of a request, that says
// which span has sent it: traceparent of https://www.w3.org/TR/trace-context/.
const Field = "traceparent"

var form propagation.TraceContext

// contextOf reads a traceparent. It is not valid if the text is none.
func contextOf(traceparent string) oteltrace.SpanContext {
	return oteltrace.SpanContextFromContext(WithParent(context.Background(), traceparent))
}

func headerOf(of oteltrace.SpanContext) string {
	return Parent(oteltrace.ContextWithSpanContext(context.Background(), of))
}

// WithParent notes that what follows was asked for by the span of a traceparent; a text that is
// none changes nothing.
func WithParent(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return form.Extract(ctx, propagation.MapCarrier{Field: traceparent})
}

// Parent returns the traceparent of the span in a context; empty: there is none.
func Parent(ctx context.Context) string {
	if !oteltrace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	header := propagation.MapCarrier{}
	form.Inject(ctx, header)
	return header[Field]
}

// Inject has a request say which span sends it, if there is one and the headers have none.
func Inject(ctx context.Context, headers http.Header) {
	if parent := Parent(ctx); parent != "" && headers.Get(Field) == "" {
		headers.Set(Field, parent)
	}
}

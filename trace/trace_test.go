package trace

import (
	"net/http"
	"strings"
	"testing"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/fanfold/fanfold/scripts"
)

const pushed = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestBegin: the traceparent of a push decides; without a valid one, the sampler does.
func TestBegin(t *testing.T) {
	t.Parallel()
	all := New(Options{Sampled: func(oteltrace.TraceID) bool { return true }})
	none := New(Options{Sampled: func(oteltrace.TraceID) bool { return false }})
	at := time.UnixMilli(1763773822000)
	for _, c := range []struct {
		name, field string
		tracer      *Tracer
		trace       string // its trace id; empty: it is not traced
		pushed      string
	}{
		{"sampled", pushed, none, "0af7651916cd43dd8448eb211c80319c", "1763773822000 b7ad6b7169203331"},
		{"not sampled", strings.TrimSuffix(pushed, "1") + "0", all, "", ""},
		{"a later version", "01" + pushed[2:] + "-more", none, "0af7651916cd43dd8448eb211c80319c", "1763773822000 b7ad6b7169203331"},
		{"none", "", all, "-", "1763773822000"},
		{"none, by the sampler", "", none, "", ""},
		{"zeros", "00-00000000000000000000000000000000-b7ad6b7169203331-01", all, "-", "1763773822000"},
		{"something else", "x", all, "-", "1763773822000"},
		{"off", pushed, nil, "", ""},
	} {
		got := c.tracer.Begin(c.field, at)
		of := contextOf(got.Parent)
		switch {
		case got.Pushed != c.pushed, of.IsValid() != (c.trace != ""), of.IsValid() && (!of.IsSampled() || of.SpanID().String() == "b7ad6b7169203331"):
			t.Errorf("%s: %+v", c.name, got)
		case c.trace != "-" && c.trace != "" && of.TraceID().String() != c.trace:
			t.Errorf("%s: the trace is %s", c.name, of.TraceID())
		case c.trace == "-" && strings.Contains(pushed, of.TraceID().String()):
			t.Errorf("%s: it continues %s", c.name, of.TraceID())
		}
	}
}

// TestInject: a request has the traceparent of its span, unless it has one of its own.
func TestInject(t *testing.T) {
	t.Parallel()
	headers := http.Header{}
	Inject(t.Context(), headers)
	if len(headers) > 0 {
		t.Errorf("without a span: %v", headers)
	}
	ctx := WithParent(t.Context(), pushed)
	if Inject(ctx, headers); headers.Get("traceparent") != pushed {
		t.Errorf("%v", headers)
	}
	own := http.Header{"Traceparent": {"mine"}}
	if Inject(ctx, own); own.Get("traceparent") != "mine" {
		t.Errorf("%v", own)
	}
	if Parent(WithParent(t.Context(), "x")) != "" {
		t.Error("a text that is not a traceparent is accepted")
	}
}

// TestOffCostsNothing: no method of a nil Tracer allocates or uses Redis.
func TestOffCostsNothing(t *testing.T) {
	var off *Tracer
	ctx, now := t.Context(), time.Now()
	of := Job{ID: "1111", Attempt: 1, Report: "r"}
	if n := testing.AllocsPerRun(100, func() {
		of.Trace = off.Begin(pushed, now)
		_ = off.Read(ctx, scripts.Hashes{}, "1111")
		_, span := off.Start(ctx, Listener, of)
		span.Text(ListenerName, "l")
		span.Number(Rows, 7)
		span.End("why")
		off.Trigger(of, now, "")
		off.End(of, "SUCCESS", "")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

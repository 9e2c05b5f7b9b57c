package otlp

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/trace"
)

// TestDroppedSpansAreCounted: spans that a full queue or the collector refuses are counted, and the
// first error is logged.
func TestDroppedSpansAreCounted(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	metrics := prometheus.NewRegistry()
	tracer, end, err := Open(t.Context(), Options{
		Traces: report.Traces{URL: "http://127.0.0.1:1", Sample: 1, Timeout: 100 * time.Millisecond, Queue: 2},
		Log:    slog.New(slog.NewTextHandler(&log, nil)), Metrics: metrics,
	})
	if err != nil {
		t.Fatal(err)
	}
	of := trace.Job{ID: "1111", Attempt: 1, Trace: tracer.Begin("", time.Now())}
	for range 10 {
		_, span := tracer.Start(t.Context(), trace.Fold, of)
		span.End("")
	}
	end()
	const want = "# HELP fanfold_spans_dropped_total Spans that were not sent because the collector does not accept them or is too slow.\n" +
		"# TYPE fanfold_spans_dropped_total counter\nfanfold_spans_dropped_total 10\n"
	if err := testutil.GatherAndCompare(metrics, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "spans are dropped"); n != 1 {
		t.Errorf("%d lines: %s", n, log.String())
	}
}

// TestSampleIsAShare: the sample is the share of the new traces that are sent.
func TestSampleIsAShare(t *testing.T) {
	t.Parallel()
	for sample, want := range map[report.Share][2]int{0: {0, 0}, 0.1: {50, 150}, 1: {1000, 1000}} { // 5 deviations
		tracer, end, err := Open(t.Context(), Options{Traces: report.Traces{URL: "http://127.0.0.1:1", Sample: sample, Timeout: time.Second, Queue: 1}, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for range 1000 {
			if tracer.Begin("", time.Now()).Parent != "" {
				n++
			}
		}
		if end(); n < want[0] || n > want[1] {
			t.Errorf("%v: %d of 1000", sample, n)
		}
	}
}

package otlp

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/trace"
)

// TestRedirectsAreNotFollowed: the secret headers go only to the collector.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var asked, led int
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { led++ }))
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	tracer, end, err := Open(t.Context(), Options{
		Traces:  report.Traces{URL: collector.URL, Sample: 1, Timeout: time.Second, Queue: 10, Headers: map[string]report.Secret{"X-Key": "k"}},
		Version: "v", Instance: "i", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	tracer.End(trace.Job{ID: "1", Attempt: 1, Report: "r", Trace: tracer.Begin("", time.Now())}, "SUCCESS", "")
	end()
	collector.Close() // waits for the requests
	other.Close()
	if asked != 1 || led != 0 {
		t.Errorf("the collector was asked %d times, another server %d times", asked, led)
	}
}

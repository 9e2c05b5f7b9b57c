package dashboard

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
)

// TestSearchOfSources: the name of a source opens its row, and that of a listener its own.
func TestSearchOfSources(t *testing.T) {
	t.Parallel()
	of := &report.Report{Stages: []report.Stage{{Listeners: []report.Listener{{Name: "pay", Source: "billing"}}}}}
	in := inspect.New(inspect.Options{Config: inspect.Config{Reports: map[string]*report.Report{"daily": of}}})
	d := New(Options{Inspect: in, Listeners: []string{"pay"}})
	d.sampler.now.Store(&sample{At: time.Now(), Full: true})
	for query, want := range map[string]string{"billing": "/sources#source-billing", "pay": "/listeners?only=pay"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1/search?q="+query, nil)
		loggedIn(t, d).ServeHTTP(w, r)
		if got := w.Header().Get("Location"); got != want {
			t.Errorf("%s leads to %q: %d %s", query, got, w.Code, w.Body)
		}
	}
}

// TestParameterOf: spaces around the = mean nothing, and those in a value stay.
func TestParameterOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"customer=7": "customer=7", " customer = 7 ": "customer=7", "name=Jane  Doe": "name=Jane  Doe", "a=b=c": "a=b=c", "a=": "a=",
	} {
		if got, ok := parameterOf(text); !ok || got.String() != want {
			t.Errorf("%q: %v %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "customer", " =7"} {
		if got, ok := parameterOf(text); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}

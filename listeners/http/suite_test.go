package http

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/listenertest"
	"github.com/fanfold/fanfold/report"
)

// TestSource is what every source does.
func TestSource(t *testing.T) {
	t.Parallel()
	listenertest.Test(t, func(t *testing.T) listenertest.Fixture {
		server := httptest.NewServer(http.HandlerFunc(everything))
		t.Cleanup(server.Close)
		source := New(report.API{Name: "vendor", URL: server.URL, Timeout: time.Minute, MaxBytes: 1 << 30}, "p:")
		t.Cleanup(func() { _ = source.Close() })
		task := func(r Request, columns ...string) listeners.Task {
			l := &report.Listener{Name: "l", Kind: Name, Source: "vendor", Timeout: time.Minute, Columns: columns}
			f := &Fields{Batch: 1000, Result: Result{Request: r, Rows: path(t, "$")}}
			f.Result.Method = http.MethodPost
			l.Own = f
			for _, c := range columns {
				f.Columns = append(f.Columns, Field{Path: path(t, "$."+c)})
			}
			return listeners.Task{ID: "1", Attempt: 1, Listener: l, Parameters: map[string]any{}}
		}
		return listenertest.Fixture{
			Source: source,
			Rows: func(_ *testing.T, n int) listeners.Task {
				return task(Request{Path: fmt.Sprintf("/rows/%d", n)}, "n", "nothing")
			},
			Echo: func(_ *testing.T, text string) listeners.Task {
				echo := task(Request{Path: "/echo", Query: []Pair{{Name: "text", Value: ":text"}}, JSON: map[string]any{"text": ":text"}}, "text")
				echo.Parameters["text"] = text
				return echo
			},
			Values: func(*testing.T) listeners.Task {
				values := task(Request{Path: "/values", JSON: map[string]any{"values": ":s.v"}}, "n")
				values.Listener.From = &report.Ref{Listener: "s", Column: "v"}
				return values
			},
			Endless: func(*testing.T) listeners.Task { return task(Request{Path: "/endless"}, "n") },
			Wrong:   func(*testing.T) listeners.Task { return task(Request{Path: "/nowhere"}, "n") },
			Away: func(*testing.T) (listeners.Source, listeners.Task) {
				return New(report.API{Name: "vendor", URL: "http://127.0.0.1:1", Timeout: time.Minute, MaxBytes: 1 << 20}, "p:"), task(Request{Path: "/rows/1"}, "n")
			},
		}
	})
}

// everything is an API for the suite.
func everything(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Text   string
		Values []json.RawMessage
	}
	var n int
	_ = json.NewDecoder(r.Body).Decode(&asked)
	switch {
	case r.URL.Path == "/echo" && r.URL.Query().Get("text") == asked.Text:
		_ = json.NewEncoder(w).Encode([]any{map[string]any{"text": asked.Text}})
	case r.URL.Path == "/values":
		var rows []string
		for _, v := range asked.Values {
			rows = append(rows, fmt.Sprintf(`{"n": %s}`, v))
		}
		fmt.Fprintf(w, "[%s]", strings.Join(rows, ","))
	case r.URL.Path == "/endless":
		fmt.Fprint(w, `[{"n": 0}`)
		for r.Context().Err() == nil {
			if _, err := fmt.Fprint(w, `,{"n": 1}`); err != nil {
				return
			}
		}
	default:
		if _, err := fmt.Sscanf(r.URL.Path, "/rows/%d", &n); err != nil {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "[")
		for i := range n {
			fmt.Fprintf(w, `%s{"n": %d, "nothing": null}`, strings.Repeat(",", min(i, 1)), i+1)
		}
		fmt.Fprint(w, "]")
	}
}

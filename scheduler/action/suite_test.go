package action_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler/action"
	"github.com/fanfold/fanfold/scheduler/action/actiontest"
	"github.com/fanfold/fanfold/scripts"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// receiver is what the actions of a test reach.
type receiver struct {
	mu    sync.Mutex
	ids   []string
	fails atomic.Pointer[error] // of Submit
}

func (r *receiver) note(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids = append(r.ids, id)
}

func (r *receiver) got(*testing.T) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ids
}

// Submit implements action.Submitter.
func (r *receiver) Submit(_ context.Context, name string, due int64, _ string, parameters []byte) (string, error) {
	if err := r.fails.Load(); err != nil {
		return "", *err
	}
	r.note(fmt.Sprint(name, due, string(parameters)))
	return "1", nil
}

func templates(name string) map[string]report.Template {
	return map[string]report.Template{name: report.NewTemplate("{user}")}
}

// open returns the tools of a test, with keys of its own, and the client of Redis.
func open(t *testing.T, r *receiver) (action.Tools, *redis.Client) {
	client, name := testmain.SharedRedis(t).Client(), testmain.Name(t)
	t.Cleanup(func() { _ = client.Close() })
	asks := ask.New(0)
	t.Cleanup(asks.Close)
	return action.Tools{
		Scripts:   scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: name + ":", Hash: name + "-"}}),
		Submitter: r, Client: asks, Log: slog.New(slog.DiscardHandler),
	}, client
}

// TestSubmitKind is what every action does.
func TestSubmitKind(t *testing.T) {
	t.Parallel()
	actiontest.Run(t, action.Submit, func(t *testing.T) actiontest.Fixture {
		r := &receiver{}
		tools, _ := open(t, r)
		fail := func(err error) func(*testing.T) { return func(*testing.T) { r.fails.Store(&err) } }
		return actiontest.Fixture{
			Tools: tools, Own: &action.SubmitFields{Report: "r", Parameters: templates("user")}, IDs: r.got,
			Away: fail(action.Outage(errors.New("away"))), Refuse: fail(action.Permanent(errors.New("refused"))),
		}
	})
}

// TestAppendKind is what every action does.
func TestAppendKind(t *testing.T) {
	t.Parallel()
	actiontest.Run(t, action.Append, func(t *testing.T) actiontest.Fixture {
		tools, client := open(t, nil)
		stream := testmain.Name(t)
		return actiontest.Fixture{
			Tools: tools, Own: &action.AppendFields{Stream: stream, Fields: templates("user")},
			IDs: func(t *testing.T) (ids []string) {
				for _, m := range client.XRange(t.Context(), stream, "-", "+").Val() {
					ids = append(ids, fmt.Sprint(m.Values["timer"], m.Values["due"], m.Values["user"]))
				}
				return ids
			},
			Away: func(*testing.T) { _ = client.Close() },
			Refuse: func(t *testing.T) {
				if err := client.Set(t.Context(), stream, "no stream", 0).Err(); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

// TestCallKind is what every action does.
func TestCallKind(t *testing.T) {
	t.Parallel()
	actiontest.Run(t, action.Call, func(t *testing.T) actiontest.Fixture {
		r := &receiver{}
		var refuses atomic.Bool
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			if r.note(request.Header.Get("Idempotency-Key")); refuses.Load() {
				w.WriteHeader(http.StatusForbidden)
			}
		}))
		t.Cleanup(service.Close)
		tools, _ := open(t, nil)
		return actiontest.Fixture{
			Tools: tools, IDs: r.got,
			Own:  &action.CallFields{URL: report.NewTemplate(service.URL), Method: "POST", Timeout: 10 * time.Second},
			Away: func(*testing.T) { service.Close() }, OutageIsATry: true,
			Refuse: func(*testing.T) { refuses.Store(true) },
		}
	})
}

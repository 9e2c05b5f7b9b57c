package trigger

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// newScripts returns scripts with keys of the test's own in the shared server, and a client.
func newScripts(t testing.TB) (*scripts.Scripts, *redis.Client) {
	t.Helper()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	name := testmain.Name(t)
	return scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: name + ":", Hash: name + "-"}}), client
}

// newTrigger returns a Trigger without a sink and without a reader.
func newTrigger(o engine.Options) *Trigger {
	o.Log = slog.New(slog.DiscardHandler)
	e := &engine.Engine{Options: o}
	return New(e, &files.Files{Engine: e})
}

// running starts attempt 1 of a job.
func running(t testing.TB, s *scripts.Scripts, id string, timeout time.Duration) {
	t.Helper()
	outcomes, err := s.Jobs.Start(t.Context(), "", scripts.Start{ID: id, Attempt: 1, Parameters: []byte("{}"), Plan: scripts.Plan{
		Report: "r", Definition: "d", Timeout: timeout, Listeners: "a",
	}})
	if err != nil || outcomes[0] != scripts.OK {
		t.Fatal(outcomes, err)
	}
}

// oneListener is a report of one listener.
func oneListener() *report.Report {
	return &report.Report{Name: "r", Timeout: time.Hour, Stages: []report.Stage{{Listeners: []report.Listener{{Name: "a"}}}}}
}

// startable records take every attempt.
type startable struct{ engine.Records }

func (startable) Start(_ context.Context, runs []engine.Run) ([]bool, error) {
	started := make([]bool, len(runs))
	for i := range started {
		started[i] = true
	}
	return started, nil
}

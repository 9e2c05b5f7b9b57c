package fanin

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/sink"
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

// start starts attempt 1 of a job with the definition d.
func start(t testing.TB, s *scripts.Scripts, id, definition string, timeout time.Duration, listeners ...string) {
	t.Helper()
	outcomes, err := s.Jobs.Start(t.Context(), "", scripts.Start{ID: id, Attempt: 1, Parameters: []byte("{}"), Plan: scripts.Plan{
		Report: "r", Definition: definition, Timeout: timeout, Listeners: strings.Join(listeners, ","),
	}})
	if err != nil || outcomes[0] != scripts.OK {
		t.Fatal(outcomes, err)
	}
}

// complete completes a task whose entry was delivered for the first time, with one column of
// one row.
func complete(t testing.TB, s *scripts.Scripts, id, listener, value string) {
	t.Helper()
	columns := []dataset.Column{{Name: "v", Kind: report.KindText}}
	b := dataset.NewBuilder(columns)
	b.Text(0, []byte(value))
	if err := b.EndRow(); err != nil {
		t.Fatal(err)
	}
	completeWith(t, s, id, listener, scripts.Chunk{Rows: 1, Columns: columns, Names: []string{"v"}, Fields: b.Fields()})
}

func completeWith(t testing.TB, s *scripts.Scripts, id, listener string, chunk scripts.Chunk) {
	t.Helper()
	task, _ := s.Tasks.New(scripts.Message{ID: id, Attempt: 1}, listener, scripts.Entry{})
	if outcome, err := task.Complete(t.Context(), chunk, 0); outcome < scripts.OK || err != nil {
		t.Fatal(outcome, err)
	}
}

// delivered delivers the new entries of a stream to a worker.
func delivered(t testing.TB, client *redis.Client, stream, consumer string) (entries []scripts.Entry) {
	t.Helper()
	client.XGroupCreate(t.Context(), stream, scripts.Group, "0")
	found, err := client.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: scripts.Group, Consumer: consumer, Streams: []string{stream, ">"}}).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range found[0].Messages {
		entries = append(entries, scripts.Entry{Stream: stream, Consumer: consumer, ID: m.ID})
	}
	return entries
}

// claim claims attempt 1 of a job.
func claim(t testing.TB, s *scripts.Scripts, id string, c scripts.Claim) *scripts.Fold {
	t.Helper()
	c.Message = scripts.Message{ID: id, Attempt: 1}
	if c.Known == nil {
		c.Known = []string{"d"}
	}
	outcome, f, err := s.Folds.Claim(t.Context(), c)
	if err != nil || outcome != scripts.OK {
		t.Fatal(outcome, err)
	}
	return f
}

// newFanIn returns a FanIn that writes its files to a sink.
func newFanIn(t testing.TB, o engine.Options, to sink.Sink) *FanIn {
	t.Helper()
	e, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	f, err := files.New(e, files.Options{Sink: to, Formats: kinds.Standard().Formats, Installation: "abc234"})
	if err != nil {
		t.Fatal(err)
	}
	return New(e, f)
}

// folding runs the fan-in of an engine until stop is called.
func folding(t testing.TB, e *FanIn) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// until polls until something holds.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("not within 30 s: %s", what)
		case <-tick.C:
		}
	}
}

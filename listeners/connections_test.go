package listeners_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/cmd/fanfold/process"
)

// TestTasksBeyondConnections: listeners of one database never run more queries than it has
// connections, whatever limits.tasks is. A task that waits for a connection uses no try and is no
// outage, even if it waits longer than its timeout.
func TestTasksBeyondConnections(t *testing.T) {
	t.Parallel()
	const jobs = 5
	const query = "SELECT 1 AS k, SLEEP(1.2) AS slept_"
	s := e2e.New(t, `
  two:
    retry: 0
    listeners: {a: {database: few, timeout: 2s, query: "`+query+`a"}, b: {database: few, timeout: 2s, query: "`+query+`b"}}
    join: {key: k}
`, "databases: {db: {dsn: \"{dsn}\"}, few: {dsn: \"{dsn}\", max_connections: 1}}")
	b := s.Open(s.File)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var log bytes.Buffer // complete when done is closed
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := b.Serve(ctx, process.Roles, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))); err != nil {
			t.Error(err)
		}
	}()
	var ids []string
	for range jobs {
		ids = append(ids, s.Records.Insert("two", ""))
	}
	s.Jobs.Push(ids...)
	for _, v := range s.Jobs.Wait(ids...) {
		if s.Files.Content(v) != "k,slept_a,slept_b\r\n1,0,0\r\n" {
			t.Errorf("%+v", v)
		}
	}
	cancel()
	<-done
	if strings.Contains(log.String(), "task is tried again") || strings.Contains(log.String(), "task failed") {
		t.Errorf("a task has failed or had an outage:\n%s", log.String())
	}
	if !strings.Contains(log.String(), `"task waits"`) || !strings.Contains(log.String(), "one of the 1 connections of a process to few") {
		t.Errorf("no task has waited for a connection:\n%s", log.String())
	}
}

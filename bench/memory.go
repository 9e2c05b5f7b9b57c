package main

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/sink"
)

// memory keeps records and counts files in the process, so that coordination is
// measured apart from MySQL and disks.
type memory struct {
	commits atomic.Int64

	mu      sync.Mutex
	records map[string]engine.Record
	lines   map[string]int // of each file that was committed
	doubles int            // files that were committed again
}

var (
	_ engine.Records = (*memory)(nil)
	_ sink.Sink      = (*memory)(nil)
)

func newMemory() *memory {
	return &memory{records: map[string]engine.Record{}, lines: map[string]int{}}
}

// check proves that every job was folded exactly once, with all of its rows.
func (m *memory) check(jobs int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.lines) != jobs || m.doubles != 0 {
		return fmt.Errorf("%d files and %d doubles for %d jobs", len(m.lines), m.doubles, jobs)
	}
	for name, lines := range m.lines {
		if lines != 101 {
			return fmt.Errorf("%s has %d lines, not 101", name, lines)
		}
	}
	return nil
}

// The records: every id is PENDING until it is started.

func (m *memory) get(id string) engine.Record {
	r, ok := m.records[id]
	if !ok {
		r = engine.Record{ID: id, Report: "bench", Status: engine.Pending}
	}
	return r
}

func (m *memory) Read(_ context.Context, ids []string) (map[string]engine.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[string]engine.Record{}
	for _, id := range ids {
		found[id] = m.get(id)
	}
	return found, nil
}

// Startable has nothing: what is measured does not lose its memory.
func (m *memory) Startable(context.Context, string, time.Duration, int) ([]engine.Record, error) {
	return nil, nil
}

func (m *memory) Start(_ context.Context, runs []engine.Run) ([]bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	started := make([]bool, len(runs))
	for i, run := range runs {
		r := m.get(run.ID)
		if started[i] = r.Attempt == run.Attempt && !r.Status.Final(); started[i] {
			r.Attempt, r.Status = r.Attempt+1, engine.Processing
			m.records[run.ID] = r
		}
	}
	return started, nil
}

func (m *memory) Succeed(_ context.Context, run engine.Run, file string, _ int64) (bool, error) {
	return m.finish(run, engine.Success, file)
}

func (m *memory) Fail(_ context.Context, run engine.Run, reason string) (bool, error) {
	return m.finish(run, engine.Failed, reason)
}

func (m *memory) finish(run engine.Run, status engine.Status, file string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.get(run.ID)
	if r.Attempt != run.Attempt || r.Status != engine.Processing {
		return false, nil
	}
	r.Status, r.File = status, file
	m.records[run.ID] = r
	return true, nil
}

// The sink: counts the lines of each file.

type counter struct {
	m     *memory
	name  string
	lines int
	bytes int64
}

func (m *memory) Create(_ context.Context, o sink.Object) (sink.Writer, error) {
	return &counter{m: m, name: o.Name}, nil
}

func (c *counter) Write(b []byte) (int, error) {
	c.lines += bytes.Count(b, []byte{'\n'})
	c.bytes += int64(len(b))
	return len(b), nil
}

func (c *counter) Commit() (sink.Committed, error) {
	if bytes.HasSuffix([]byte(c.name), []byte(".json")) {
		return sink.Committed{Bytes: c.bytes}, nil
	}
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if _, ok := c.m.lines[c.name]; ok {
		c.m.doubles++
	}
	c.m.lines[c.name] = c.lines
	c.m.commits.Add(1)
	return sink.Committed{Bytes: c.bytes}, nil
}

func (*counter) Abort()                              {}
func (*memory) Remove(context.Context, string) error { return nil }
func (*memory) Clean(context.Context, string) error  { return nil }
func (*memory) URL(name string) string               { return "memory:" + name }
func (*memory) Name(url string) (string, bool)       { return url, true }
func (*memory) Check(context.Context) error          { return nil }
func (*memory) Close() error                         { return nil }

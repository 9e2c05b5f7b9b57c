package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// memory keeps records and reads files in the process, so that coordination is
// measured apart from MySQL and disks.
type memory struct {
	folded func(id string, err error) // a job's file was committed
	// apart: others have the rest of the records. A job may end here that began there,
	// and what has ended is not kept: a million of them would be measured as Fanfold's.
	apart bool

	mu      sync.Mutex
	records map[string]engine.Record
}

var (
	_ records   = (*memory)(nil)
	_ sink.Sink = (*memory)(nil)
)

func newMemory(apart bool) *memory {
	return &memory{apart: apart, records: map[string]engine.Record{}}
}

// The records: every id is PENDING until it is started.

func (m *memory) get(id string) engine.Record {
	r, ok := m.records[id]
	if !ok {
		lane, _, _ := strings.Cut(id, "-")
		r = engine.Record{ID: id, Report: "bench", Status: report.Pending, Lane: lane}
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
			r.Attempt, r.Status = r.Attempt+1, report.Processing
			m.records[run.ID] = r
		}
	}
	return started, nil
}

// SucceedPartly is not used: no report here goes on without a listener.
func (m *memory) SucceedPartly(context.Context, engine.Run, string, int64, string) (bool, error) {
	return false, engine.ErrRefused
}

func (m *memory) Succeed(_ context.Context, run engine.Run, file string, _ int64) (bool, error) {
	return m.finish(run, report.Success, file)
}

func (m *memory) Fail(_ context.Context, run engine.Run, reason string) (bool, error) {
	return m.finish(run, report.Failed, reason)
}

func (m *memory) Cancel(_ context.Context, run engine.Run, reason string) (bool, error) {
	return m.finish(run, report.Cancelled, reason)
}

// Note does nothing: nobody reads the texts.
func (m *memory) Note(context.Context, []engine.Run, string) error { return nil }

func (m *memory) finish(run engine.Run, status report.Status, file string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.apart {
		delete(m.records, run.ID)
		return true, nil
	}
	r := m.get(run.ID)
	if r.Attempt != run.Attempt || r.Status != report.Processing {
		return false, nil
	}
	r.Status, r.File = status, file
	m.records[run.ID] = r
	return true, nil
}

// The sink: compares each file with what it should be.

type file struct {
	m    *memory
	name string
	bytes.Buffer
}

func (m *memory) Create(_ context.Context, o sink.Object) (sink.Writer, error) {
	return &file{m: m, name: o.Name}, nil
}

func (f *file) Commit() (sink.Committed, error) {
	committed := sink.Committed{Bytes: int64(f.Len())}
	name, ok := strings.CutSuffix(f.name, ".csv")
	if !ok { // the manifest
		return committed, nil
	}
	var err error
	if f.String() != numbersCSV {
		err = fmt.Errorf("its file of %d bytes begins with %.40q", f.Len(), f.String())
	}
	// report/id-attempt
	f.m.folded(name[strings.Index(name, "/")+1:strings.LastIndex(name, "-")], err)
	return committed, nil
}

func (*file) Abort() {}
func (*memory) Open(context.Context, string) (io.ReadCloser, error) {
	return nil, sink.ErrNoObject
}
func (*memory) Remove(context.Context, string) error { return nil }
func (*memory) URL(name string) string               { return "memory:" + name }
func (*memory) Name(url string) (string, bool)       { return url, true }
func (*memory) Check(context.Context) error          { return nil }
func (*memory) List(context.Context, string) iter.Seq2[sink.Listed, error] {
	return func(func(sink.Listed, error) bool) {}
}
func (*memory) Close() error { return nil }

package listenertest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/listeners"
)

// soon bounds the wait for something that must happen immediately.
const soon = 30 * time.Second

// numbers returns "1" to n.
func numbers(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = strconv.Itoa(i + 1)
	}
	return all
}

func chunks(t *testing.T, f Fixture) {
	const rows = 2*dataset.MaxChunkRows + 1
	d := read(t, f.Source, f.Rows(t, rows))
	want(t, "the first column", d.column(0), numbers(rows))
	if nulls := slices.Compact(d.column(1)); !slices.Equal(nulls, []string{"null"}) {
		t.Errorf("the second column has %q, not only null", nulls[:min(len(nulls), 5)])
	}
	if len(d.Chunks) < 3 {
		t.Errorf("%d rows in chunks of %v", rows, d.Chunks)
	}
}

func noRows(t *testing.T, f Fixture) {
	if d := read(t, f.Source, f.Rows(t, 0)); len(d.Rows) > 0 || len(d.Chunks) != 1 {
		t.Errorf("%d rows in %d chunks", len(d.Rows), len(d.Chunks))
	}
}

func again(t *testing.T, f Fixture) {
	task := f.Rows(t, 100)
	for range 3 {
		want(t, "the first column", read(t, f.Source, task).column(0), numbers(100))
	}
}

func manyAtOnce(t *testing.T, f Fixture) {
	var all sync.WaitGroup
	for n := range 8 {
		task := f.Rows(t, 1000+n)
		all.Go(func() {
			d, err := Read(t.Context(), f.Source, task)
			if err != nil || !slices.Equal(d.column(0), numbers(1000+n)) {
				t.Errorf("%d rows, not the %d of this task: %v", len(d.Rows), 1000+n, err)
			}
		})
	}
	all.Wait()
}

func begin(t *testing.T, f Fixture) {
	task := f.Rows(t, 5)
	task.Begin = nil
	read(t, f.Source, task)
	calls := 0
	task.Begin = func() { calls++ }
	read(t, f.Source, task)
	if calls > 1 {
		t.Errorf("Begin was called %d times", calls)
	}
}

func cancelledBefore(t *testing.T, f Fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, f.Source, f.Rows(t, 5)); err == nil {
		t.Error("a task whose context has ended succeeds")
	} else if errors.Is(err, listeners.ErrPermanent) {
		t.Errorf("the end of the context is permanent: %v", err)
	}
}

func cancelled(t *testing.T, f Fixture) {
	if f.Endless == nil {
		t.Skip("the fixture has no Endless")
	}
	ctx, cancel := context.WithCancel(t.Context())
	task := f.Endless(t)
	time.AfterFunc(200*time.Millisecond, cancel)
	done := make(chan error, 1)
	go func() {
		_, err := drain(ctx, f.Source, task)
		done <- err
	}()
	timer := time.NewTimer(soon)
	defer timer.Stop()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a cancelled task succeeds")
		} else if errors.Is(err, listeners.ErrPermanent) {
			t.Errorf("the end of the context is permanent: %v", err)
		}
	case <-timer.C:
		t.Fatalf("Read still runs %v after the end of its context", soon)
	}
}

// drain is Read for endless rows, which it does not keep.
func drain(ctx context.Context, source listeners.Source, task listeners.Task) (chunks int, err error) {
	out := listeners.NewWriter(func([]dataset.Column, *dataset.Builder, bool) error { chunks++; return nil })
	err = source.Read(ctx, task, out)
	out.Stop()
	return chunks, err
}

// errWriter is the error of a writer.
var errWriter = errors.New("listenertest: the writer's own error")

func writerFails(t *testing.T, f Fixture) {
	calls := 0
	out := listeners.NewWriter(func([]dataset.Column, *dataset.Builder, bool) error { calls++; return errWriter })
	err := f.Source.Read(t.Context(), f.Rows(t, 2*dataset.MaxChunkRows+1), out)
	out.Stop()
	if !errors.Is(err, errWriter) || errors.Is(err, listeners.ErrPermanent) || errors.Is(err, listeners.ErrOutage) {
		t.Errorf("Read returns %v, not the error of the writer unchanged", err)
	}
	if calls != 1 {
		t.Errorf("%d chunks were stored after an error", calls-1)
	}
}

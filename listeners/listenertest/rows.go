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

// soon is how long something may take that is to happen at once.
const soon = 30 * time.Second

// numbers are "1" to n.
func numbers(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = strconv.Itoa(i + 1)
	}
	return all
}

func chunks(t *testing.T, p Place) {
	const rows = 2*dataset.MaxChunkRows + 1
	d := read(t, p.Source, p.Rows(t, rows))
	want(t, "the first column", d.column(0), numbers(rows))
	if nulls := slices.Compact(d.column(1)); !slices.Equal(nulls, []string{"null"}) {
		t.Errorf("the second column has %q, not null alone", nulls[:min(len(nulls), 5)])
	}
	if len(d.Chunks) < 3 {
		t.Errorf("%d rows in chunks of %v", rows, d.Chunks)
	}
}

func noRows(t *testing.T, p Place) {
	if d := read(t, p.Source, p.Rows(t, 0)); len(d.Rows) > 0 || len(d.Chunks) != 1 {
		t.Errorf("%d rows in %d chunks", len(d.Rows), len(d.Chunks))
	}
}

func again(t *testing.T, p Place) {
	task := p.Rows(t, 100)
	for range 3 {
		want(t, "the first column", read(t, p.Source, task).column(0), numbers(100))
	}
}

func manyAtOnce(t *testing.T, p Place) {
	var all sync.WaitGroup
	for n := range 8 {
		task := p.Rows(t, 1000+n)
		all.Go(func() {
			d, err := Read(t.Context(), p.Source, task)
			if err != nil || !slices.Equal(d.column(0), numbers(1000+n)) {
				t.Errorf("%d rows, not the %d of this task: %v", len(d.Rows), 1000+n, err)
			}
		})
	}
	all.Wait()
}

func begin(t *testing.T, p Place) {
	task := p.Rows(t, 5)
	task.Begin = nil
	read(t, p.Source, task)
	calls := 0
	task.Begin = func() { calls++ }
	read(t, p.Source, task)
	if calls > 1 {
		t.Errorf("Begin was called %d times", calls)
	}
}

func cancelledBefore(t *testing.T, p Place) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, p.Source, p.Rows(t, 5)); err == nil {
		t.Error("a task whose context has ended succeeds")
	} else if errors.Is(err, listeners.ErrPermanent) {
		t.Errorf("the end of the context is permanent: %v", err)
	}
}

func cancelled(t *testing.T, p Place) {
	if p.Endless == nil {
		t.Skip("the place has no Endless")
	}
	ctx, cancel := context.WithCancel(t.Context())
	task := p.Endless(t)
	time.AfterFunc(200*time.Millisecond, cancel)
	done := make(chan error, 1)
	go func() {
		_, err := readAway(ctx, p.Source, task)
		done <- err
	}()
	timer := time.NewTimer(soon)
	defer timer.Stop()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a task that was ended succeeds")
		} else if errors.Is(err, listeners.ErrPermanent) {
			t.Errorf("the end of the context is permanent: %v", err)
		}
	case <-timer.C:
		t.Fatalf("Read goes on %v after the end of its context", soon)
	}
}

// readAway is Read for rows without end, which it forgets.
func readAway(ctx context.Context, source listeners.Source, task listeners.Task) (chunks int, err error) {
	out := listeners.NewWriter(func([]dataset.Column, *dataset.Builder, bool) error { chunks++; return nil })
	err = source.Read(ctx, task, out)
	out.Stop()
	return chunks, err
}

// errWriter is the error of a writer.
var errWriter = errors.New("listenertest: the writer's own error")

func writerFails(t *testing.T, p Place) {
	calls := 0
	out := listeners.NewWriter(func([]dataset.Column, *dataset.Builder, bool) error { calls++; return errWriter })
	err := p.Source.Read(t.Context(), p.Rows(t, 2*dataset.MaxChunkRows+1), out)
	out.Stop()
	if !errors.Is(err, errWriter) || errors.Is(err, listeners.ErrPermanent) || errors.Is(err, listeners.ErrOutage) {
		t.Errorf("Read returns %v, and the writer's error is to be returned as it is", err)
	}
	if calls != 1 {
		t.Errorf("%d chunks were stored behind an error", calls-1)
	}
}

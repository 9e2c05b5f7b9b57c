// Package listenertest answers one question: does a listeners.Source keep its contract? Test is a suite
// to run over every implementation. Read returns what a source writes.
package listenertest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/listeners"
)

// Fixture is a source with test data. The first two fields are needed; a test whose field is nil is
// skipped.
type Fixture struct {
	Source listeners.Source
	// Rows returns a task that finds n rows, from 0 to 25,000. The first column has the integers
	// 1 to n in this order, as numbers or texts. The second column is null in every row. The task
	// may be read several times, also concurrently.
	Rows func(t *testing.T, n int) listeners.Task
	// Echo returns a task whose parameter "text" has the given value. It finds one row of one
	// column with that value.
	Echo func(t *testing.T, text string) listeners.Task
	// Values returns a task that uses the values of an earlier stage: column v of listener s. It
	// finds one row of one column for every distinct value that is not null, in any order. The
	// suite sets Values of the task; the values are integers.
	Values func(t *testing.T) listeners.Task
	// Endless returns a task that does not end during a test: it waits, or its rows never end.
	Endless func(t *testing.T) listeners.Task
	// Wrong returns a task that fails in every try, such as one with a column that does not exist.
	Wrong func(t *testing.T) listeners.Task
	// Away returns a source whose server cannot be reached, and a task for it.
	Away func(t *testing.T) (listeners.Source, listeners.Task)
}

// Test runs the suite. It calls open once for every test; open registers what to clean up with
// t.Cleanup. Tests run in parallel. Run it in a package whose TestMain finds leaked goroutines, because
// a source must do nothing after Read has returned.
func Test(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(t *testing.T, f Fixture)
	}{
		{"rows come in chunks", chunks},
		{"no rows", noRows},
		{"the same task twice", again},
		{"many at once", manyAtOnce},
		{"begin is called once, and may be nil", begin},
		{"cancelled before", cancelledBefore},
		{"cancelled while it runs", cancelled},
		{"a writer that fails", writerFails},
		{"text stays as it is", echoes},
		{"values of an earlier stage", values},
		{"no values of an earlier stage", noValues},
		{"values that cannot be read", valuesFail},
		{"a permanent error", wrong},
		{"an outage", away},
		{"in parts", parts},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open(t))
		})
	}
}

// Dataset is what a source wrote.
type Dataset struct {
	Columns []dataset.Column
	Rows    [][]string // JSON of each value
	Chunks  []int      // rows of each
}

// Read runs a task of a source, as a Runner does but without a timeout and Redis. It returns what the
// source wrote, also before an error.
func Read(ctx context.Context, source listeners.Source, task listeners.Task) (Dataset, error) {
	return written(func(out *listeners.Writer) error { return source.Read(ctx, task, out) })
}

// written returns what a function writes.
func written(read func(out *listeners.Writer) error) (Dataset, error) {
	var d Dataset
	out := listeners.NewWriter(func(columns []dataset.Column, b *dataset.Builder, _ bool) error {
		chunk, err := dataset.DecodeChunk(columns, b.Fields())
		if err != nil {
			return err
		}
		d.Columns, d.Chunks = columns, append(d.Chunks, chunk.Rows())
		for row := range chunk.Rows() {
			cells := make([]string, len(columns))
			for column := range columns {
				cells[column] = string(chunk.Cell(column, row))
			}
			d.Rows = append(d.Rows, cells)
		}
		return nil
	})
	err := read(out)
	if err == nil {
		err = out.Close()
	}
	out.Stop()
	return d, err
}

// read is Read that must succeed with the columns of the listener.
func read(t *testing.T, source listeners.Source, task listeners.Task) Dataset {
	t.Helper()
	d, err := Read(t.Context(), source, task)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	var names []string
	for _, c := range d.Columns {
		names = append(names, c.Name)
		if c.Kind == "" {
			t.Errorf("column %s has no kind", c.Name)
		}
	}
	if task.Listener != nil && !slices.Equal(names, task.Listener.Columns) {
		t.Fatalf("the columns are %q, but the listener has %q", names, task.Listener.Columns)
	}
	return d
}

// column returns the values of a column, without quotes.
func (d Dataset) column(n int) []string {
	all := make([]string, 0, len(d.Rows))
	for _, row := range d.Rows {
		all = append(all, strings.Trim(row[n], `"`))
	}
	return all
}

func want(t *testing.T, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	if len(got)+len(want) > 100 {
		t.Fatalf("%s: %d values differ from the expected %d", what, len(got), len(want))
	}
	t.Fatalf("%s (-want +got):\n%s", what, cmp.Diff(want, got))
}

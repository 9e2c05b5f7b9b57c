// Package listenertest holds what every listeners.Source must do, as tests to be
// run over each implementation, and Read, which shows what a source writes.
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

// Place is a source with data to find. The first two fields are needed; a test whose
// field is nil is skipped, with the reason.
type Place struct {
	Source listeners.Source
	// Rows returns a task that finds n rows, of 0 up to 25,000. Its first column has
	// the integers 1 to n in this order, as numbers or texts, and null is the value of
	// its second one in each row. The task may be read any number of times, several at once.
	Rows func(t *testing.T, n int) listeners.Task
	// Echo returns a task with the parameter "text", which is that text, and finds one
	// row of one column that has it.
	Echo func(t *testing.T, text string) listeners.Task
	// Values returns a task that uses the values of an earlier stage: column v of
	// listener s. It finds one row of one column for each distinct value that is not
	// null, in any order. The suite sets Values of the task; the values are integers.
	Values func(t *testing.T) listeners.Task
	// Endless returns a task that finds its end in no time that a test has: it waits,
	// or has rows without end.
	Endless func(t *testing.T) listeners.Task
	// Wrong returns a task that fails with every try, such as one whose column is not
	// there.
	Wrong func(t *testing.T) listeners.Task
	// Away returns a source whose server is away, and a task for it.
	Away func(t *testing.T) (listeners.Source, listeners.Task)
}

// Test runs the suite. open is called once for each test, and what it makes goes when
// that test ends. Tests run in parallel. Run it in a package that looks for left-over
// goroutines, too: a source that has returned does nothing any more.
func Test(t *testing.T, open func(t *testing.T) Place) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(t *testing.T, p Place)
	}{
		{"rows come in chunks", chunks},
		{"no rows", noRows},
		{"the same again", again},
		{"many at once", manyAtOnce},
		{"begin is called once, and may be left out", begin},
		{"cancelled before", cancelledBefore},
		{"cancelled in the midst", cancelled},
		{"a writer that fails", writerFails},
		{"text stays as it is", echoes},
		{"values of an earlier stage", values},
		{"no values of an earlier stage", noValues},
		{"values that cannot be read", valuesFail},
		{"a permanent error", wrong},
		{"an outage", away},
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

// Read has a source do a task, and returns what it wrote: also beside an error, what
// was stored before it. It does what a Runner does, without a timeout and Redis.
func Read(ctx context.Context, source listeners.Source, task listeners.Task) (Dataset, error) {
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
	err := source.Read(ctx, task, out)
	if err == nil {
		err = out.Close()
	}
	out.Stop()
	return d, err
}

// read is Read that must succeed, and proves that the columns are those that the
// listener has.
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
		t.Fatalf("the columns are %q, and the listener's %q", names, task.Listener.Columns)
	}
	return d
}

// column are the values of a column, without quotes.
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
		t.Fatalf("%s: %d values, not these %d", what, len(got), len(want))
	}
	t.Fatalf("%s (-want +got):\n%s", what, cmp.Diff(want, got))
}

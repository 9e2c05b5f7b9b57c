package listenertest

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// JSON returns the values of a column as one JSON array.
func (d Dataset) JSON(column string) string {
	n := slices.IndexFunc(d.Columns, func(c dataset.Column) bool { return c.Name == column })
	all := make([]string, len(d.Rows))
	for i, row := range d.Rows {
		all[i] = row[n]
	}
	return "[" + strings.Join(all, ",") + "]"
}

// Values returns the values of a column. Numbers are json.Number.
func (d Dataset) Values(t testing.TB, column string) (all []any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(d.JSON(column)))
	decoder.UseNumber()
	if err := decoder.Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// From makes a task use a column of an earlier stage as :s.v.
func From(task listeners.Task, column dataset.Column, values iter.Seq2[[]byte, error]) listeners.Task {
	task.Listener.From = &report.Ref{Listener: "s", Column: "v"}
	task.Values = func(context.Context, string, string) (dataset.Column, iter.Seq2[[]byte, error], error) {
		return column, values, nil
	}
	return task
}

// FromValues is From for JSON values of a kind.
func FromValues(task listeners.Task, kind report.Kind, values ...string) listeners.Task {
	return From(task, dataset.Column{Name: "v", Kind: kind}, func(yield func([]byte, error) bool) {
		for _, v := range values {
			if !yield([]byte(v), nil) {
				return
			}
		}
	})
}

// Becomes polls until ask returns a value.
func Becomes(t testing.TB, what string, ask func() string, want string) {
	t.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for got := ask(); got != want; got = ask() {
		select {
		case <-limit.C:
			t.Errorf("not within 20 s: %s: %s", what, got)
			return
		case <-tick.C:
		}
	}
}

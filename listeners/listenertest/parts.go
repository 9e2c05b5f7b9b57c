package listenertest

import (
	"cmp"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// parts is for a source that can read in parts.
func parts(t *testing.T, f Fixture) {
	source, ok := f.Source.(listeners.Divider)
	if !ok {
		t.Skip("the source is no Divider")
	}
	for _, n := range []int{0, 25_000} {
		task := f.Rows(t, n)
		task.Listener.Divide = &report.Divide{
			By: task.Listener.Columns[0], Parts: 3, Snapshot: report.SnapshotApproximate,
		}
		d := Divided(t, source, task, 1)
		least, greatest, some, err := d.Ends(t.Context())
		// MariaDB finds a maximum of one less in a sequence table. No part ends there.
		if err != nil || some != (n > 0) || some && (least != 1 || greatest < int64(n)-1) {
			t.Fatalf("%d rows are from %d to %d (%t), %v", n, least, greatest, some, err)
		}
		want(t, "the first column", sorted(ReadParts(t, d, []int64{8000, 16_000}).column(0)), numbers(n))
		d.Close()
	}
}

// Divided divides a task, whose Division is closed at the end of the test.
func Divided(t *testing.T, source listeners.Divider, task listeners.Task, n int) listeners.Division {
	t.Helper()
	d, err := source.Divide(t.Context(), task, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// ReadParts reads all ranges between the bounds, as many at once as there are connections, and returns the rows in
// the order of the ranges.
func ReadParts(t *testing.T, d listeners.Division, bounds []int64) (all Dataset) {
	t.Helper()
	read := make([]Dataset, len(bounds)+1)
	group, ctx := errgroup.WithContext(t.Context())
	for connection := range d.Connections() {
		group.Go(func() error {
			for i := connection; i < len(read); i += d.Connections() {
				part, err := written(func(out *listeners.Writer) error {
					return d.Read(ctx, connection, report.RangeOf(bounds, i), out)
				})
				if err != nil {
					return err
				}
				read[i] = part
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, part := range read {
		if all.Columns != nil && !slices.Equal(all.Columns, part.Columns) {
			t.Errorf("the columns of a part are %+v, and those of another %+v", part.Columns, all.Columns)
		}
		all.Columns, all.Rows = part.Columns, append(all.Rows, part.Rows...)
	}
	return all
}

// sorted sorts texts of whole numbers.
func sorted(texts []string) []string {
	slices.SortFunc(texts, func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return cmp.Compare(x, y)
	})
	return texts
}

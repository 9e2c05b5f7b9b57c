package fold

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/report"
)

// TestMergedIsHeld checks that a join without memory writes the same bytes, and needs no scratch
// file if all datasets are sorted.
func TestMergedIsHeld(t *testing.T) {
	t.Parallel()
	keys := rapid.SampledFrom([]any{nil, -10, -9, -1, 0, 1, 2, 9, 10, 11, 100})
	rapid.Check(t, func(t *rapid.T) {
		r := &report.Report{Join: report.Join{Keys: []string{"k"}}, File: report.File{Format: "csv", Columns: []report.FileColumn{{Label: "k", Column: "k"}}}}
		sorted, rows := true, 0
		var tables [][][]any
		for n := range rapid.IntRange(2, 4).Draw(t, "listeners") {
			name := fmt.Sprint("l", n)
			kind := report.Inner
			if n > 0 {
				kind = rapid.SampledFrom([]report.JoinType{report.Inner, report.Left}).Draw(t, "type")
			}
			r.Join.Listeners = append(r.Join.Listeners, report.Joined{Listener: name, Type: kind, Keys: []string{"k"}})
			if rapid.Bool().Draw(t, "shown") {
				r.File.Columns = append(r.File.Columns, column(name, name, "v"))
			}
			var table [][]any
			for i := range rapid.IntRange(0, 12).Draw(t, "rows") {
				table = append(table, []any{keys.Draw(t, "key"), rapid.SampledFrom([]any{nil, "=", "=1", fmt.Sprint(name, " ", i)}).Draw(t, "v")})
			}
			if rapid.IntRange(0, 3).Draw(t, "sort") > 0 {
				slices.SortStableFunc(table, func(a, b []any) int { return number(a[0]) - number(b[0]) })
			}
			sorted = sorted && sortedWithoutNulls(table)
			tables = append(tables, table)
			if n > 0 {
				rows += len(table)
			}
		}
		drawOptions(t, &r.File)
		perChunk := rapid.IntRange(2, 5).Draw(t, "per chunk") // so that a key is in few chunks
		datasets := func() map[string]Dataset {
			sets := map[string]Dataset{}
			for n, rows := range tables {
				sets[fmt.Sprint("l", n)] = datasettest.Of(t, datasettest.Columns("k", "integer", "v", "text"), perChunk, rows...)
			}
			return sets
		}
		var want, got bytes.Buffer
		wantMade, err := foldTo(r, datasets(), &want, Budget{})
		if err != nil {
			t.Fatal(err)
		}
		scratch := func() (Scratch, error) { return nil, errDisk }
		if !sorted {
			scratch = (&scratchFiles{t: t}).make
		}
		made, err := foldTo(r, datasets(), &got, Budget{Bytes: 1, Scratch: scratch})
		if err != nil || !cmp.Equal(made, wantMade) || got.String() != want.String() {
			t.Fatalf("%+v, %v\n%s\nwant %+v\n%s", made, err, &got, wantMade, &want)
		}
	})
}

func number(key any) int {
	if key == nil {
		return -1000
	}
	return key.(int)
}

func sortedWithoutNulls(rows [][]any) bool {
	var keys []int
	for _, row := range rows {
		if row[0] != nil {
			keys = append(keys, row[0].(int))
		}
	}
	return slices.IsSorted(keys)
}

func BenchmarkMerge(b *testing.B) {
	const rows = 100_000
	chunks, size := datasettest.SampleChunks(b, rows)
	r := benchmarkReport(report.Inner)
	b.SetBytes(2 * size)
	b.ReportAllocs()
	for b.Loop() {
		made, err := foldTo(r, map[string]Dataset{"a": datasettest.Sample(chunks, rows), "b": datasettest.Sample(chunks, rows)}, io.Discard, Budget{Bytes: 1})
		if err != nil || made.Rows != rows {
			b.Fatal(made.Rows, err)
		}
	}
}

package fold

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/report"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestMergeIsFold: the same bytes where all datasets are sorted, and ErrUnmergeable
// where one is not.
func TestMergeIsFold(t *testing.T) {
	t.Parallel()
	keys := rapid.SampledFrom([]any{nil, -10, -9, -1, 0, 1, 2, 9, 10, 11, 100})
	rapid.Check(t, func(t *rapid.T) {
		r := &report.Report{Join: report.Join{Keys: []string{"k"}}, CSV: report.CSV{Columns: []report.CSVColumn{{Label: "k", Column: "k"}}}}
		sorted := true
		var tables [][][]any
		for n := range rapid.IntRange(2, 4).Draw(t, "listeners") {
			name := fmt.Sprint("l", n)
			kind := report.Inner
			if n > 0 {
				kind = rapid.SampledFrom([]report.JoinType{report.Inner, report.Left}).Draw(t, "type")
			}
			r.Join.Listeners = append(r.Join.Listeners, report.Joined{Listener: name, Type: kind, Keys: []string{"k"}})
			if rapid.Bool().Draw(t, "shown") {
				r.CSV.Columns = append(r.CSV.Columns, column(name, name, "v"))
			}
			var rows [][]any
			for i := range rapid.IntRange(0, 12).Draw(t, "rows") {
				rows = append(rows, []any{keys.Draw(t, "key"), rapid.SampledFrom([]any{nil, "=", "=1", fmt.Sprint(name, " ", i)}).Draw(t, "v")})
			}
			if rapid.IntRange(0, 3).Draw(t, "sort") > 0 {
				slices.SortStableFunc(rows, func(a, b []any) int { return number(a[0]) - number(b[0]) })
			}
			sorted = sorted && sortedWithoutNulls(rows)
			tables = append(tables, rows)
		}
		drawOptions(t, &r.CSV)
		perChunk := rapid.IntRange(1, 5).Draw(t, "per chunk")
		datasets := func() map[string]Dataset {
			sets := map[string]Dataset{}
			for n, rows := range tables {
				sets[fmt.Sprint("l", n)] = datasettest.Of(t, datasettest.Columns("k", "integer", "v", "text"), perChunk, rows...)
			}
			return sets
		}
		if !Mergeable(r, datasets()) {
			t.Fatal("not mergeable")
		}
		var want, got bytes.Buffer
		wantMade, err := Fold(r, datasets(), &want, Room{})
		if err != nil {
			t.Fatal(err)
		}
		made, err := Merge(r, datasets(), &got, Room{})
		switch {
		case !sorted && !errors.Is(err, ErrUnmergeable):
			t.Fatalf("a dataset is not sorted: %v", err)
		case sorted && (err != nil || !cmp.Equal(made, wantMade) || got.String() != want.String()):
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

func TestMergeableJoins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kinds [2]string
		kind  report.JoinType
		keys  int
		want  bool
	}{
		"integers":    {[2]string{"integer", "integer"}, report.Inner, 1, true},
		"left":        {[2]string{"integer", "integer"}, report.Left, 1, true},
		"full":        {[2]string{"integer", "integer"}, report.Full, 1, false},
		"text":        {[2]string{"integer", "text"}, report.Inner, 1, false},
		"two of them": {[2]string{"integer", "integer"}, report.Inner, 2, false},
	} {
		keys := []string{"k", "k2"}[:c.keys]
		r := &report.Report{Join: report.Join{Keys: keys, Listeners: []report.Joined{{Listener: "a", Keys: keys}, {Listener: "b", Type: c.kind, Keys: keys}}}}
		sets := map[string]Dataset{}
		for i, l := range []string{"a", "b"} {
			sets[l] = datasettest.Of(t, datasettest.Columns("k", c.kinds[i], "k2", "integer"), 1)
		}
		if got := Mergeable(r, sets); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestIntegersOfAnySize are compared by their digits, and what is written in
// another way is no integer here.
func TestIntegersOfAnySize(t *testing.T) {
	t.Parallel()
	ordered := strings.Fields("-18446744073709551616 -10 -9 -1 0 1 9 10 18446744073709551615 18446744073709551616")
	for i, a := range ordered {
		for j, b := range ordered {
			if got := compareIntegers([]byte(a), []byte(b)); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%s and %s: %d", a, b, got)
			}
		}
		if !isInteger([]byte(a)) {
			t.Error(a)
		}
	}
	for _, text := range []string{"", "-", "-0", "01", "1.0", "1e3", `"1"`, "null", "true"} {
		if isInteger([]byte(text)) {
			t.Errorf("%q is taken for an integer", text)
		}
	}
}

func BenchmarkMerge(b *testing.B) {
	chunks, size := datasettest.SampleChunks(b, 100_000)
	r := benchmarkReport(report.Inner)
	b.SetBytes(2 * size)
	b.ReportAllocs()
	for b.Loop() {
		made, err := Merge(r, map[string]Dataset{"a": &datasettest.Stored{Chunks: chunks}, "b": &datasettest.Stored{Chunks: chunks}}, io.Discard, Room{})
		if err != nil || made.Rows != 100_000 {
			b.Fatal(made.Rows, err)
		}
	}
}

// TestMergeOfOneKey: the rows of one key are not held beyond the room.
func TestMergeOfOneKey(t *testing.T) {
	t.Parallel()
	r, sets := wide(t, report.Inner, []int{1}, make([]int, 2000), 1000)
	if _, err := Merge(r, sets(), io.Discard, Room{Bytes: 3 << 20}); !errors.Is(err, ErrUnmergeable) {
		t.Errorf("2 MB of one key: %v", err)
	}
	if _, err := Merge(r, sets(), io.Discard, Room{Bytes: 6 << 20}); err != nil {
		t.Error(err)
	}
}

package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/fold/parse"
)

// areSorted tells whether the tables of a SELECT after the first can be merged.
func areSorted(t datasettest.TB, text string, sets map[string]Dataset) bool {
	t.Helper()
	tree, err := parse.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(tree, sets, nil)
	if err != nil {
		t.Fatal(err)
	}
	var sides []int
	for n := range p.counted.tables[1:] {
		sides = append(sides, n+1)
	}
	is, err := joined{p.counted}.join(op.NewMemory(context.Background(), 0, nil), nil, nil).AreSorted(sides)
	if err != nil {
		t.Fatal(err)
	}
	return is
}

func TestSortedJoins(t *testing.T) {
	t.Parallel()
	const one, two = "b.k = a.k", "b.k = a.k AND b.k2 = a.k2"
	for name, c := range map[string]struct {
		kinds    [2]string
		join, on string
		want     bool
	}{
		"integers":    {[2]string{"integer", "integer"}, "JOIN", one, true},
		"left":        {[2]string{"integer", "integer"}, "LEFT JOIN", one, true},
		"full":        {[2]string{"integer", "integer"}, "FULL JOIN", one, false},
		"text":        {[2]string{"integer", "text"}, "JOIN", one, false},
		"two of them": {[2]string{"integer", "integer"}, "JOIN", two, false},
	} {
		sets := map[string]Dataset{}
		for i, l := range []string{"a", "b"} {
			sets[l] = datasettest.Of(t, datasettest.Columns("k", c.kinds[i], "k2", "integer"), 1)
		}
		if got := areSorted(t, "SELECT a.k FROM a "+c.join+" b ON "+c.on, sets); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestSortedTables: tables are merged if all are sorted by the key.
func TestSortedTables(t *testing.T) {
	t.Parallel()
	keys := rapid.SampledFrom([]any{nil, -10, -9, -1, 0, 1, 2, 9, 10, 11, 100})
	number := func(key any) int {
		if key == nil {
			return -1000
		}
		return key.(int)
	}
	rapid.Check(t, func(t *rapid.T) {
		sorted, sets, text := true, map[string]Dataset{}, "SELECT l0.k FROM l0"
		for n := range rapid.IntRange(2, 4).Draw(t, "tables") {
			var rows [][]any
			for range rapid.IntRange(0, 12).Draw(t, "rows") {
				rows = append(rows, []any{keys.Draw(t, "key")})
			}
			if rapid.IntRange(0, 3).Draw(t, "sort") > 0 {
				slices.SortStableFunc(rows, func(a, b []any) int { return number(a[0]) - number(b[0]) })
			}
			known := slices.DeleteFunc(slices.Clone(rows), func(row []any) bool { return row[0] == nil })
			sorted = sorted && slices.IsSortedFunc(known, func(a, b []any) int { return number(a[0]) - number(b[0]) })
			name := fmt.Sprint("l", n)
			perChunk := rapid.IntRange(2, 5).Draw(t, "per chunk") // so that a key is in few chunks
			sets[name] = datasettest.Of(t, datasettest.Columns("k", "integer"), perChunk, rows...)
			if n > 0 {
				kind := rapid.SampledFrom([]string{"", "LEFT "}).Draw(t, "type")
				text += fmt.Sprintf(" %sJOIN %s ON %[2]s.k = l0.k", kind, name)
			}
		}
		if got := areSorted(t, text, sets); got != sorted {
			t.Fatalf("sorted: %v, want %v", got, sorted)
		}
	})
}

// groupChunks is the maximum number of chunks that the rows of one key may span.
const groupChunks = 8

// TestMergeOfOneKey checks that the rows of a key that spans many chunks are not kept in memory.
func TestMergeOfOneKey(t *testing.T) {
	t.Parallel()
	for rows, sorted := range map[int]bool{groupChunks * 100: true, groupChunks*100 + 1: false} {
		columns := datasettest.Columns("k", "integer", "v", "text")
		all := make([][]any, rows)
		for i := range all {
			all[i] = []any{0, strings.Repeat("x", 10)}
		}
		sets := map[string]Dataset{"a": datasettest.Of(t, columns, 100, []any{1, ""}), "b": datasettest.Of(t, columns, 100, all...)}
		if got := areSorted(t, "SELECT a.k, a.v, b.v AS w FROM a JOIN b ON b.k = a.k", sets); got != sorted {
			t.Errorf("%d rows: %v", rows, got)
		}
	}
}

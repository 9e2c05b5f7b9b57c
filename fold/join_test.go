package fold

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/report"
)

// combined is a row of a naive join: the row of every listener, or nil.
type combined [][]any

// naiveJoin is A JOIN B USING (keys) JOIN C USING (keys) … by nested loops. The
// first columns of every table are the keys.
func naiveJoin(kinds []report.JoinType, tables [][][]any, keys int, equal func(a, b any) bool) []combined {
	var rows []combined
	for _, row := range tables[0] {
		rows = append(rows, append(combined{row}, make(combined, len(tables)-1)...))
	}
	for n := 1; n < len(tables); n++ {
		var joined []combined
		used := make([]bool, len(tables[n]))
		for _, left := range rows {
			met := false
			for i, right := range tables[n] {
				same := true
				for k := range keys {
					value := left.key(k)
					same = same && value != nil && right[k] != nil && equal(value, right[k])
				}
				if same {
					met, used[i] = true, true
					joined = append(joined, left.with(n, right))
				}
			}
			if !met && kinds[n] != report.Inner {
				joined = append(joined, left)
			}
		}
		for i, right := range tables[n] {
			if !used[i] && kinds[n] == report.Full {
				joined = append(joined, make(combined, len(tables)).with(n, right))
			}
		}
		rows = joined
	}
	return rows
}

// key is COALESCE over the listeners.
func (c combined) key(k int) any {
	for _, row := range c {
		if row != nil && row[k] != nil {
			return row[k]
		}
	}
	return nil
}

func (c combined) with(n int, row []any) combined {
	c = append(combined(nil), c...)
	c[n] = row
	return c
}

func sameNumber(a, b any) bool {
	x, errA := strconv.ParseFloat(fmt.Sprint(a), 64)
	y, errB := strconv.ParseFloat(fmt.Sprint(b), 64)
	if errA != nil || errB != nil {
		return errA != nil && errB != nil && a == b
	}
	return x == y
}

// TestJoinIsSQL compares rows and their order with the naive join.
func TestJoinIsSQL(t *testing.T) {
	t.Parallel()
	kinds := map[report.Kind]*rapid.Generator[any]{
		report.KindInteger: rapid.SampledFrom([]any{nil, 0, 1, 2, 10}),
		report.KindDecimal: rapid.SampledFrom([]any{nil, "0.00", "1.0", "2", "10.0", "-1.50"}),
		report.KindText:    rapid.SampledFrom([]any{nil, "1", "01", "a", "A", "", "b\"\n", "2.0"}),
	}
	positions := []struct {
		kinds []report.Kind
		equal func(a, b any) bool
	}{
		{[]report.Kind{report.KindText}, func(a, b any) bool { return a == b }},
		{[]report.Kind{report.KindInteger, report.KindDecimal}, sameNumber},
	}
	rapid.Check(t, func(t *rapid.T) {
		listeners := rapid.IntRange(2, 4).Draw(t, "listeners")
		keys := rapid.IntRange(1, 2).Draw(t, "keys")
		// One class for all positions, so that the naive join needs only one equal.
		class := positions[rapid.IntRange(0, 1).Draw(t, "class")]
		r := &report.Report{}
		for k := range keys {
			r.Join.Keys = append(r.Join.Keys, fmt.Sprint("k", k))
			r.File.Columns = append(r.File.Columns, report.FileColumn{Label: fmt.Sprint("k", k), Column: fmt.Sprint("k", k)})
		}
		datasets := map[string]Dataset{}
		var types []report.JoinType
		var tables [][][]any
		for n := range listeners {
			name := fmt.Sprint("l", n)
			kind := report.Left // of no meaning for the first
			if n > 0 {
				kind = rapid.SampledFrom([]report.JoinType{report.Inner, report.Left, report.Full}).Draw(t, "type")
			}
			types = append(types, kind)
			var columns []dataset.Column
			joined := report.Joined{Listener: name, Type: kind}
			for k := range keys {
				of := class.kinds[0]
				if n > 0 {
					of = rapid.SampledFrom(class.kinds).Draw(t, "kind")
				}
				columns = append(columns, dataset.Column{Name: fmt.Sprint(name, "k", k), Kind: of})
				joined.Keys = append(joined.Keys, columns[k].Name)
			}
			columns = append(columns, dataset.Column{Name: "v", Kind: report.KindText})
			var rows [][]any
			for i := range rapid.IntRange(0, 8).Draw(t, "rows") {
				var row []any
				for _, c := range columns[:keys] {
					row = append(row, kinds[c.Kind].Draw(t, "key"))
				}
				rows = append(rows, append(row, fmt.Sprint(name, "-", i)))
			}
			tables = append(tables, rows)
			r.Join.Listeners = append(r.Join.Listeners, joined)
			r.File.Columns = append(r.File.Columns, column(name, name, "v"))
			datasets[name] = datasettest.Of(t, columns, rapid.IntRange(1, 4).Draw(t, "chunk"), rows...)
		}
		var out bytes.Buffer
		made, err := foldTo(r, datasets, &out, Budget{})
		if err != nil {
			t.Fatal(err)
		}
		want := naiveJoin(types, tables, keys, class.equal)
		if made.Rows != int64(len(want)) {
			t.Errorf("Fold counts %d rows, want %d", made.Rows, len(want))
		}
		if diff := cmp.Diff(naiveMatches(tables, keys, class.equal), made.Matches); diff != "" {
			t.Errorf("types %v, tables %v\n%s", types, tables, diff)
		}
		if diff := cmp.Diff(naiveCSV(r, want, keys), out.String()); diff != "" {
			t.Fatalf("types %v, tables %v\n%s", types, tables, diff)
		}
	})
}

// naiveMatches counts the rows without a match, for every table after the first.
func naiveMatches(tables [][][]any, keys int, equal func(a, b any) bool) (all []Match) {
	same := func(a, b []any) bool {
		for k := range keys {
			if a[k] == nil || b[k] == nil || !equal(a[k], b[k]) {
				return false
			}
		}
		return true
	}
	count := func(rows, others [][]any) (found int64) {
		for _, row := range rows {
			if slices.ContainsFunc(others, func(other []any) bool { return same(row, other) }) {
				found++
			}
		}
		return found
	}
	for n, table := range tables[1:] {
		all = append(all, Match{Listener: fmt.Sprint("l", n+1), Matched: count(table, tables[0]), Missing: int64(len(tables[0])) - count(tables[0], table)})
	}
	return all
}

// naiveCSV writes what Fold should write.
func naiveCSV(r *report.Report, rows []combined, keys int) string {
	var out strings.Builder
	line := func(cells []string) {
		start := out.Len()
		for i, cell := range cells {
			if i > 0 {
				out.WriteByte(',')
			}
			if strings.ContainsAny(cell, ",\"\r\n") {
				cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
			}
			out.WriteString(cell)
		}
		if out.Len() == start {
			out.WriteString(`""`)
		}
		out.WriteString("\r\n")
	}
	var labels []string
	for _, c := range r.File.Columns {
		labels = append(labels, c.Label)
	}
	line(labels)
	for _, row := range rows {
		var cells []string
		for i := range r.File.Columns {
			var value any
			if i < keys {
				value = row.key(i)
			} else if part := row[i-keys]; part != nil {
				value = part[keys]
			}
			if value == nil {
				value = ""
			}
			cells = append(cells, fmt.Sprint(value))
		}
		line(cells)
	}
	return out.String()
}

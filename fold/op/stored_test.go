package op

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/fanfold/fanfold/dataset/datasettest"
)

// chained are terms of a chain: every table is looked up by the key of the one before it. The condition of the first
// join fails for one key.
type chained struct {
	texts
	fails string
}

var errCondition = errors.New("the condition has failed")

func (c *chained) Left(_, n int, row Row) (Key, bool, error) { return c.key(row[c.at[n-1]]) }

func (c *chained) Matches(n int, row Row) (bool, error) {
	if n == 1 && string(row[c.at[0]]) == c.fails {
		return false, errCondition
	}
	return true, nil
}

// TestErrorAfterStoredRows: if rows are stored before a spilled side, the error of a later row is returned after them.
func TestErrorAfterStoredRows(t *testing.T) {
	t.Parallel()
	var rows [][]any
	var want []string
	for i := range 100 {
		rows = append(rows, []any{i})
		if i < 70 {
			want = append(want, strconv.Itoa(i))
		}
	}
	for _, budget := range []int64{0, 1} {
		m := NewMemory(t.Context(), budget, func() (Scratch, error) { return os.CreateTemp(t.TempDir(), "") })
		var got []string
		to := rowsTo(func(row Row) error {
			if string(row[0]) != string(row[2]) {
				t.Errorf("row %s", row)
			}
			got = append(got, string(row[0]))
			return nil
		})
		j := &Join{Terms: func() Terms { return &chained{texts{Ordered{Output: to}, []int{0, 1, 2}}, "70"} }}
		for n := range 3 {
			j.Tables = append(j.Tables, &Table{
				Name: "t", Set: datasettest.Of(t, datasettest.Columns("k", "integer"), 10, rows...), Cells: 1,
				Columns: []int{0}, Kept: []int{0}, KeyColumns: []int{0}, Key: max(0, n-1), Needs: max(0, n-1), Conditional: n == 1,
			})
		}
		_, err := j.Run(m)
		if !errors.Is(err, errCondition) || !slices.Equal(got, want) {
			t.Errorf("with %d bytes: %d rows, want %d, error %v", budget, len(got), len(want), err)
		}
		m.Close()
	}
}

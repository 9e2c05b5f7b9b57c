package fold

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// TestRowsThatWait joins chunks whose rows exceed waitingBytes.
func TestRowsThatWait(t *testing.T) {
	t.Parallel()
	const left, right, length = 450, 200, 100
	r, sets := wide(t, report.Inner, make([]int, left), make([]int, right), length)
	var out bytes.Buffer
	made, err := foldTo(r, sets(), &out, Budget{})
	if err != nil || made.Rows != left*right || left*right*length < 4*waitingBytes {
		t.Fatal(made, err)
	}
	text := strings.Repeat("x", length)
	lines := bytes.Split(out.Bytes(), []byte("\r\n"))[1:]
	for i := range left * right {
		if want := fmt.Sprintf("0,%d%s,%d%s", i/right, text, i%right, text); string(lines[i]) != want {
			t.Fatalf("line %d is %s, want %s", i, lines[i], want)
		}
	}
}

// TestFirstError checks that of two errors the one of the earlier row is returned, although rows
// are made in parallel.
func TestFirstError(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		formula int // the row that is one
		want    error
	}{{3, format.ErrFormula}, {6, format.ErrTooLarge}, {5000, format.ErrTooLarge}} {
		var rows [][]any
		for i := range 6000 {
			rows = append(rows, []any{"x"})
			if i == test.formula {
				rows[i][0] = "=1+1"
			}
		}
		a := datasettest.Of(t, datasettest.Columns("a", "text"), 1000, rows...)
		r := &report.Report{Join: report.Join{Listeners: []report.Joined{{Listener: "a"}}}}
		r.File = csv(format.CSVOptions{Formulas: format.FormulasFail})
		r.File.Columns, r.File.MaxRows = []report.FileColumn{column("a", "a", "a")}, 5
		if _, err := foldTo(r, map[string]Dataset{"a": a}, io.Discard, Budget{}); !errors.Is(err, test.want) {
			t.Errorf("a formula in row %d: %v, want %v", test.formula, err, test.want)
		}
	}
}

package fold

import (
	"errors"
	"io"
	"testing"

	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/fold/value"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// TestErrorsInARow: an expression that fails in a row names its place in the fold, wherever the SELECT has it.
func TestErrorsInARow(t *testing.T) {
	t.Parallel()
	const large = "9223372036854775807 + "
	for text, place := range map[string]string{
		"SELECT id,\n  " + large + "id AS x FROM a":                                    "line 2, column 23",
		"SELECT id, IF(id > 2, CONCAT(ABS(" + large + "id)), '') AS x FROM a":          "line 1, column 54",
		"SELECT id FROM a WHERE id < 0 OR " + large + "id > 1":                         "line 1, column 54",
		"SELECT id FROM a\nORDER BY " + large + "id":                                   "line 2, column 30",
		"SELECT id FROM a GROUP BY id, " + large + "id":                                "line 1, column 51",
		"SELECT MAX(" + large + "id) AS id FROM a":                                     "line 1, column 32",
		"SELECT MAX(id) AS id FROM a HAVING MAX(id) + 9223372036854775807 > 1":         "line 1, column 44",
		"SELECT DISTINCT ABS(-9223372036854775808 + id - id) AS id FROM a":             "line 1, column 17",
		"SELECT a.id FROM a JOIN a b ON a.id = b.id AND b.id - 1 + " + large + "1 > 0": "line 1, column 79",
		"SELECT a.id FROM a JOIN a b ON b.id = " + large + "a.id":                      "line 1, column 59",
		"SELECT GROUP_CONCAT(REPEAT('x', 1048577)) AS id FROM a":                       "line 1, column 8",
		"SELECT SUM(POW(id + 1, 1000)) AS id FROM a":                                   "line 1, column 12",
		"SELECT id FROM (SELECT id FROM a WHERE 1 REGEXP CONCAT(id, '[')) x":           "line 1, column 42",
	} {
		r := &report.Report{Fold: text, File: report.File{Format: "csv", Options: &format.CSVOptions{},
			Columns: []report.FileColumn{{Label: "id", Column: "id"}}}}
		chunks, _ := datasettest.SampleChunks(t, 10)
		plan, err := NewPlan(r, map[string]Dataset{"a": datasettest.Sample(chunks, 10)}, nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		f, err := format.CSV.Begin(&r.File, plan.Columns(), format.Title{}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		_, err = plan.Fold(t.Context(), f, Budget{})
		if want := place + " of the fold: "; err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if place == "line 2, column 23" && !errors.Is(err, value.ErrRange) {
			t.Errorf("%v is not value.ErrRange", err)
		}
	}
}

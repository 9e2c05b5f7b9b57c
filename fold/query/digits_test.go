package query_test

import (
	"testing"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/fold/parse"
	queries "github.com/fanfold/fanfold/fold/query"
	"github.com/fanfold/fanfold/report"
)

// TestDigits: a decimal of a source keeps its number of digits, by which a file chooses its type. One that is computed
// can have 65.
func TestDigits(t *testing.T) {
	t.Parallel()
	column := func(name string, digits, scale int) dataset.Column {
		return dataset.Column{Name: name, Kind: report.KindDecimal, Digits: digits, Scale: scale}
	}
	sets := map[string]queries.Dataset{
		"a": &memory{columns: []dataset.Column{column("x", 12, 2), column("y", 0, 0), {Name: "id", Kind: report.KindInteger}}},
		"b": &memory{columns: []dataset.Column{column("x", 9, 2), {Name: "id", Kind: report.KindInteger}}},
	}
	for query, want := range map[string]int{
		"SELECT x FROM a":                                           12,
		"SELECT y AS x FROM a":                                      0, // its decimals are not known
		"SELECT b.x FROM a LEFT JOIN b ON b.id = a.id":              9,
		"SELECT x FROM (SELECT x AS x FROM a ORDER BY id) AS s":     12,
		"SELECT DISTINCT x FROM a":                                  12,
		"SELECT x FROM a GROUP BY x":                                65,
		"SELECT x + 0 AS x FROM a":                                  65,
		"SELECT SUM(x) AS x FROM a":                                 65,
		"SELECT a.x FROM a JOIN b USING (id) UNION SELECT x FROM b": 65,
	} {
		tree, err := parse.Parse(query)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := queries.New(tree, sets, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Columns()[0]; got.Digits != want || got.Name != "x" {
			t.Errorf("%s: %+v, want %d digits", query, got, want)
		}
	}
}

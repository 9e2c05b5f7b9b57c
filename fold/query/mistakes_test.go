package query_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/fold/parse"
	queries "github.com/fanfold/fanfold/fold/query"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// TestAllMistakes: a query has all of its mistakes at once, in the order of their places, each once. What is wrong
// because of another mistake is none.
func TestAllMistakes(t *testing.T) {
	t.Parallel()
	text := func(collation string, names ...string) *memory {
		m := &memory{}
		for _, name := range names {
			m.columns = append(m.columns, dataset.Column{Name: name, Kind: report.KindText, Collation: collation})
		}
		return m
	}
	at := &memory{columns: []dataset.Column{{Name: "id", Kind: report.KindInteger}, {Name: "d", Kind: report.KindDate},
		{Name: "t", Kind: report.KindTime}}}
	sets := map[string]queries.Dataset{"a": text("utf8mb4_general_ci", "id", "x"), "b": text("utf8mb4_unicode_ci", "id", "y"),
		"c": at}
	for query, want := range map[string][]string{
		"SELECT nope, UPER(x), a.nix FROM a WHERE nope > 1": {"1:8 no table has a column nope", "1:14 a fold has no function UPER",
			"1:23 no table has a column nix", "1:42 no table has a column nope"},
		"SELECT NOSUCH(no, LEFT(nix)) FROM a":                                    {"1:8 a fold has no function NOSUCH", "1:15 no table has", "1:19 LEFT with 1", "1:24 no table has"},
		"SELECT a.x, z.y, z.q + 1 FROM a JOIN zz z ON z.i = a.id":                {"1:38 the report has no listener zz"},
		"SELECT *, no FROM a JOIN zz z ON z.i = a.id ORDER BY 9":                 {"1:26 the report has no listener zz"},
		"SELECT q, s.no FROM (SELECT * FROM zz) s":                               {"1:36 the report has no listener zz"},
		"SELECT * FROM zz UNION SELECT x FROM a":                                 {"1:15 the report has no listener zz"},
		"SELECT q, no FROM (SELECT nix AS q, FOO(x) AS r FROM a) s":              {"1:11 no table has a column no", "1:27 no table has", "1:37 a fold has no function FOO"},
		"SELECT q FROM (SELECT nix FROM a) s WHERE q = 1 AND nix LIKE 'x'":       {"1:23 no table has a column nix"},
		"SELECT x.* FROM a x JOIN b x ON x.id = x.id":                            {"1:26 two tables are called x"},
		"SELECT a.x FROM a JOIN b ON a.x = b.y WHERE a.x = b.y AND b.id < a.id":  {"1:35 texts of the collations", "1:51 texts of the collations", "1:66 texts of the collations"},
		"SELECT MAX(nope), x FROM a GROUP BY nope, UPPR(x) HAVING SUM(x, y) > 1": {"1:12 no table has", "1:37 no table has", "1:43 a fold has no function UPPR", "1:58 SUM with 2", "1:65 no table has"},
		"SELECT COALESCE(d, t) AS a, IF(1, t, d) AS b, CASE WHEN 1 THEN d ELSE t END AS c, IFNULL(d, IFNULL('x', t)) AS e FROM c": {
			"1:8 COALESCE of a date and a time", "1:29 IF of a time and a date", "1:47 CASE of a date and a time"},
		"SELECT id, x, x FROM a GROUP BY id":                                       {"1:12 x has no single value", "1:15 two columns are called x"},
		"SELECT x, SUM(id) FROM a GROUP BY nope HAVING x = 'b'":                    {"1:35 no table has a column nope"},
		"SELECT id FROM a UNION SELECT id, y FROM b UNION SELECT no FROM b":        {"1:24 a UNION of 1 and 2 columns", "1:57 no table has"},
		"SELECT x FROM a UNION SELECT y FROM b ORDER BY z, 4":                      {"1:23 in the column x of a UNION", "1:48 no table has a column z", "1:51 the query has no column 4"},
		"SELECT d = t, CASE WHEN d > '' THEN d < t END, JSON_VALUE(no, id) FROM c": {"1:59 no table has", "1:63 not a constant path"},
		"SELECT a.id FROM a JOIN b USING (id, no, x) LEFT JOIN c ON b.y > 1":       {"1:34 texts of the collations", "1:38 no table has", "1:42 no table has a column x"},
	} {
		tree, err := parse.Parse(query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = queries.New(tree, sets, nil)
		wrong, _ := err.(parse.Errors)
		var got []string
		for _, e := range wrong {
			got = append(got, fmt.Sprintf("%d:%d %s", e.Line, e.Column, e.Error()))
		}
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%s:\n%s\nwant\n%s", query, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestMessagesOfRanges: a result that is out of range names the type that it does not fit.
func TestMessagesOfRanges(t *testing.T) {
	t.Parallel()
	sets := map[string]queries.Dataset{"s": numbers(1)}
	for x, want := range map[string]string{
		"CAST(id + 1 AS UNSIGNED) - 5":                  "1 - 5 is out of range for an unsigned integer of 64 bits: CAST a side AS DECIMAL(65)",
		"id + 2 + 9223372036854775807":                  "2 + 9223372036854775807 is out of range for an integer of 64 bits: CAST a side AS DECIMAL(65)",
		"CAST(id + 6 AS UNSIGNED) DIV -2":               "6 DIV -2 is out of range for an unsigned integer of 64 bits: Use / instead",
		"POW(id + 10, 400)":                             "10 to the power of 400 is out of range for a double: Use smaller numbers",
		"(id + 1e300) * 1e300":                          "1e+300 * 1e+300 is out of range for a double: Use smaller numbers",
		"-(CAST(id AS UNSIGNED) + 9223372036854775809)": "-9223372036854775809 is out of range for an integer of 64 bits: CAST it AS DECIMAL(65)",
	} {
		plan := planOf(t, "SELECT "+x+" AS x FROM s", sets)
		m := op.NewMemory(t.Context(), 0, nil)
		_, err := plan.Run(m, &counting{})
		m.Close()
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", x, err, want)
		}
	}
}

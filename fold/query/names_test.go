package query_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/fold/expr"
)

// TestNames: names mean the column or the alias that MariaDB takes.
func TestNames(t *testing.T) {
	t.Parallel()
	b := newBench(t, nasty...)
	b.load("o", "u", "p")
	for _, query := range []string{
		"SELECT id AS x FROM o HAVING id > 2 ORDER BY 1", "SELECT id, n FROM o HAVING o.n > 2 ORDER BY 1", "SELECT id FROM o HAVING n > 1", "SELECT id + 1 AS x FROM o HAVING id > 1",
		"SELECT -id AS id FROM o ORDER BY id + 0", "SELECT -id AS id FROM o ORDER BY id", "SELECT id AS n, n AS x FROM o WHERE n < 100 ORDER BY n, 1",
		"SELECT -user_id AS user_id, COUNT(*) AS c FROM o GROUP BY user_id HAVING user_id > 0 ORDER BY 1",
		"SELECT UPPER(sku) AS sku, COUNT(*) AS c FROM o GROUP BY sku HAVING sku = 'A' ORDER BY 1, 2",
		"SELECT user_id, COUNT(*) AS c FROM o GROUP BY user_id HAVING CASE WHEN c > 1 THEN 1 ELSE 0 END ORDER BY 1",
		"SELECT id, at >= 20240101 AS a, d > 20240101 AS b, at = 20240229 AS c FROM o ORDER BY id",
		"SELECT DISTINCTROW sku 'text' FROM o ORDER BY sku", "SELECT id, NVL(n, 0) AS a, NVL2(n, 'x', note) AS b, POSITION('l' IN note) AS c, WEEKOFYEAR(d) AS e, EXTRACT(WEEK FROM d) AS f, TIMESTAMPADD(MONTH, 1, d) AS g, TIMESTAMPADD(SECOND, 1.5, at) AS h FROM o ORDER BY id",
		"SELECT 'a\\\\%b' LIKE 'a\\\\%b' ESCAPE '' AS a, 'a%b' LIKE 'a\\\\%b' ESCAPE '' AS b, 'a\\\\xb' LIKE 'a\\\\%b' ESCAPE '' AS c FROM o WHERE id = 1",
		"SELECT r FROM o UNION ALL SELECT r FROM o ORDER BY 1", "SELECT id, DATE_ADD(d, INTERVAL 18446744073709551615 DAY) AS x FROM o ORDER BY id",
	} {
		if diff := b.compare(query, 0); diff != "" {
			t.Error(diff)
		}
	}
}

// TestRefusals: what is no constant, and what would be too large, is an error and no panic.
func TestRefusals(t *testing.T) {
	t.Parallel()
	b := newBench(t, nasty...)
	b.load("o")
	for query, want := range map[string]string{
		"SELECT ROUND(amount, id) AS x FROM o":                                      "",
		"SELECT note LIKE 'x' ESCAPE sku AS x FROM o":                               "not a single ASCII character",
		"SELECT note REGEXP sku AS x FROM o WHERE id < 3":                           "",
		"SELECT JSON_VALUE(j, sku) AS x FROM o":                                     "not a constant path",
		"SELECT LPAD(sku, 5, x'80') AS x FROM o":                                    "",
		"SELECT REPLACE(REPEAT('a',16777216),'a',REPEAT('b',16777216)) AS x FROM o": "16777216 bytes",
		"SELECT NOW() AS x FROM o":                                                  "another result in every run",
		"SELECT id FROM o HAVING n > 1":                                             "HAVING uses n",
		"SELECT sku FROM o GROUP BY sku HAVING SUM(n) > 1 AND amount > 2":           "HAVING uses amount",
		"SELECT note FROM o GROUP BY sku":                                           "no single value in a group",
		"SELECT id FROM o ORDER BY 2":                                               "no column 2",
		"SELECT a.id FROM o a JOIN o b ON a.id > b.id":                              "no equality",
		"SELECT id FROM o UNION ALL SELECT id, sku FROM o":                          "a UNION of 1 and 2 columns",
		"SELECT GROUP_CONCAT(REPEAT('x', 1048576)) AS x FROM o":                     "GROUP_CONCAT is larger",
		"SELECT id FROM o WHERE SUM(id) > 1":                                        "SUM in WHERE",
		"SELECT id + 1 AS gross FROM o WHERE gross > 0":                             "gross is an alias, which only GROUP BY, HAVING and ORDER BY know",
		"SELECT id + 1 AS gross FROM o ORDER BY gros":                               `Did you mean the alias "gross"?`,
		"SELECT not_there FROM o WHERE not_there > 1":                               "no table has a column not_there",
		"SELECT id, id FROM o":                                                      "two columns are called id",
		"SELECT x.id FROM o x JOIN o x ON x.id = x.id":                              "two tables are called x",
		"SELECT id FROM o WHERE " + strings.Repeat("id = 1 OR ", 1000) + "id = 2":   "",
		"SELECT CAST('" + strings.Repeat("9", 100_000) + "' AS SIGNED) AS x FROM o": "",
	} {
		_, _, err := b.run(query, 0)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.100s: %v, want %q", query, err, want)
		}
	}
}

// TestFunctionsInTheDocs: the reference lists all functions, and no others.
func TestFunctionsInTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "- **Functions:**")
	list, _, _ = strings.Cut(list, "- **Aggregates:**")
	var got []string
	for _, m := range regexp.MustCompile("`([A-Z0-9_]+)`").FindAllStringSubmatch(list, -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	// What the parser reads on its own is no function of package expr.
	want := append(expr.Names(), "CASE", "CAST", "LIKE", "REGEXP", "POSITION", "ADDDATE", "SUBDATE")
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

package dialect

import "testing"

// TestLimited: what sorts or limits all rows of a query is found, also in parentheses, and nothing else.
func TestLimited(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"SELECT a FROM t ORDER BY a": "ORDER", "SELECT a FROM t limit 3": "limit", "SELECT a FROM t FETCH FIRST ROW ONLY": "FETCH",
		"(SELECT a FROM t LIMIT 3)": "LIMIT", "/* x */ ((SELECT a FROM t) ORDER BY a)": "ORDER",
		"SELECT a FROM t UNION ALL (SELECT a FROM u LIMIT 3)":    "LIMIT",
		"(SELECT MAX(a) AS a FROM t) UNION (SELECT 1 LIMIT 1)":   "LIMIT",
		"SELECT a, (SELECT b FROM u ORDER BY c LIMIT 1) FROM t":  "",
		"SELECT DISTINCT (SELECT b FROM u LIMIT 1) AS b FROM t":  "",
		"SELECT t.order AS a, t.limit AS b FROM t":               "",
		"(SELECT SUM(a) OVER (ORDER BY b) AS a FROM t) -- LIMIT": "",
		"SELECT a FROM t WHERE b IN (SELECT b FROM u)":           "",
	} {
		for _, d := range []*Dialect{MySQL, Postgres} {
			if word, found := d.limited(text); word.text != want || found != (want != "") {
				t.Errorf("%s: %q", text, word.text)
			}
		}
	}
	const offset = "SELECT a FROM t OFFSET 3"
	if word, _ := Postgres.limited(offset); word.text == "" {
		t.Error("OFFSET drops rows in PostgreSQL")
	}
	if word, _ := MySQL.limited("SELECT a, offset FROM t"); word.text != "" {
		t.Error("OFFSET is a name in MySQL")
	}
}

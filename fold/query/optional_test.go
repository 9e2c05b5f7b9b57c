package query_test

import (
	"testing"

	"github.com/fanfold/fanfold/fold/parse"
	queries "github.com/fanfold/fanfold/fold/query"
)

// TestFilterOf: a condition that no row fulfils without a listener is found, and one that a row can fulfil is not.
func TestFilterOf(t *testing.T) {
	t.Parallel()
	const from = "SELECT o.id, s.score AS points, COALESCE(s.score, 0) AS safe FROM o LEFT JOIN v.s s ON s.id = o.id "
	for query, want := range map[string]string{
		from + "WHERE s.score > 20":                             "s.score",
		from + "WHERE score > 20":                               "score",
		from + "WHERE SCORE + o.id > 20 AND o.id > 1":           "SCORE",
		from + "WHERE o.id > 1 AND (s.score > 20 OR s.id < 3)":  "s.score",
		from + "WHERE NOT (s.score > 20 OR o.id = 1)":           "s.score",
		from + "WHERE s.score IN (1, 2)":                        "s.score",
		from + "WHERE s.score NOT IN (1, 2)":                    "s.score",
		from + "WHERE s.score NOT BETWEEN 1 AND 2":              "s.score",
		from + "WHERE o.id BETWEEN s.score AND 20":              "s.score",
		from + "WHERE UPPER(s.score) LIKE 'A%'":                 "s.score",
		from + "WHERE s.score IS NOT NULL":                      "s.score",
		from + "WHERE s.score":                                  "s.score",
		from + "HAVING points > 3":                              "points",
		from + "GROUP BY o.id HAVING SUM(s.score) > 3":          "s.score",
		from + "JOIN p ON p.id = s.id":                          "s.id",
		"SELECT x.n FROM (" + from + ") x WHERE x.points > 1":   "x.points",
		"SELECT id FROM o UNION ALL " + from + "WHERE s.id = 1": "s.id",
		from + "":               "",
		from + "WHERE o.id > 1": "",
		from + "WHERE s.score > 20 OR s.score IS NULL":                                       "",
		from + "WHERE COALESCE(s.score, 30) > 20":                                            "",
		from + "WHERE IFNULL(s.score > 20, TRUE)":                                            "",
		from + "WHERE IF(s.score > 20, o.id, 3) = 3":                                         "",
		from + "WHERE CASE WHEN s.score > 20 THEN 0 ELSE 1 END":                              "",
		from + "WHERE s.score IS NULL":                                                       "",
		from + "WHERE (s.score > 20) IS NOT TRUE":                                            "",
		from + "WHERE ISNULL(s.score)":                                                       "",
		from + "WHERE NOT s.score <=> 20":                                                    "",
		from + "WHERE s.score <=> NULL":                                                      "",
		from + "WHERE o.id NOT BETWEEN s.score AND 20":                                       "",
		from + "WHERE o.id > 1 OR s.score > 20":                                              "",
		from + "WHERE NOT (s.score > 20 AND o.id = 1)":                                       "",
		from + "WHERE CONCAT_WS('-', o.id, s.score) = '1'":                                   "",
		from + "HAVING safe > -1":                                                            "",
		from + "GROUP BY o.id HAVING COUNT(s.score) = 0":                                     "",
		from + "LEFT JOIN p ON p.id = s.id WHERE p.id > 1":                                   "",
		"SELECT o.id FROM o LEFT JOIN v.s s ON s.id = o.id AND s.score > 20":                 "",
		"SELECT id FROM o LEFT JOIN v.s s USING (id) WHERE id > 1":                           "",
		"SELECT id FROM o LEFT JOIN v.s s USING (id) JOIN p USING (id)":                      "",
		"SELECT x.safe FROM (" + from + ") x WHERE x.safe = 0":                               "",
		"SELECT x.points FROM (" + from + " UNION SELECT 1, 2, 3 FROM o) x WHERE points > 1": "",
	} {
		q, err := parse.Parse(query)
		if err != nil {
			t.Fatal(query, err)
		}
		f, ok := queries.FilterOf(q, "v.s", []string{"id", "score"})
		if f.Column != want || ok != (want != "") {
			t.Errorf("%s: %q at %v, want %q", query, f.Column, f.Position, want)
		}
	}
}

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
	const counts = "SELECT x.id, x.n FROM (SELECT o.id, COUNT(s.score) AS n, COUNT(*) AS stars FROM o " +
		"LEFT JOIN v.s s ON s.id = o.id GROUP BY o.id) x "
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
		"SELECT o.id FROM o LEFT JOIN (SELECT id, MAX(score) AS m FROM v.s GROUP BY id) x ON x.id = o.id WHERE x.m > 1": "x.m",
		"SELECT o.id FROM o LEFT JOIN (SELECT * FROM v.s WHERE score > 1) x ON x.id = o.id WHERE x.score = 2":           "x.score",
		"SELECT o.id FROM v.s RIGHT JOIN o ON s.id = o.id WHERE s.score = 2":                                            "s.score",
		"SELECT o.id FROM v.s RIGHT JOIN o ON s.id = o.id JOIN p ON p.id = s.id":                                        "s.id",
		"SELECT o.id FROM v.s RIGHT JOIN o ON s.id = o.id WHERE COALESCE(s.score, 2) = 2":                               "",
		"SELECT o.id FROM o LEFT JOIN (SELECT id, COUNT(*) AS n FROM v.s GROUP BY id) x ON x.id = o.id":                 "",
		from + "WHERE 'a' IN (s.score, 'b')":                                                                            "s.score",
		from + "WHERE 3 IN (1, 2, s.score + 1)":                                                                         "s.score",
		from + "WHERE o.id IN (s.score, s.id)":                                                                          "s.score",
		from + "WHERE o.id NOT IN (1, s.score)":                                                                         "s.score",
		from + "WHERE NOT (o.id IN (1, s.score))":                                                                       "s.score",
		from + "WHERE o.id NOT BETWEEN s.score AND s.id":                                                                "s.score",
		from + "WHERE 5 BETWEEN s.score AND 20":                                                                         "s.score",
		from + "WHERE NOT 5 BETWEEN 3 AND s.score":                                                                      "s.score",
		from + "WHERE 'a' IN (s.score, 'A')":                                                                            "",
		from + "WHERE 2 IN (s.score, '2.0')":                                                                            "",
		from + "WHERE 'a' IN (s.score, o.id)":                                                                           "",
		from + "WHERE o.id IN (s.score, 2)":                                                                             "",
		from + "WHERE NOT 5 BETWEEN 7 AND s.score":                                                                      "",
		from + "WHERE 'a' IN (s.score, 'b' COLLATE utf8mb4_bin)":                                                        "",
		from + "GROUP BY o.id HAVING COUNT(s.score) > 0":                                                                "COUNT(s.score)",
		from + "GROUP BY o.id HAVING COUNT(s.score)":                                                                    "COUNT(s.score)",
		from + "GROUP BY o.id HAVING NOT COUNT(s.score) = 0":                                                            "COUNT(s.score)",
		from + "GROUP BY o.id HAVING COUNT(s.score) + 1 > 1":                                                            "COUNT(s.score)",
		from + "GROUP BY o.id HAVING COUNT(DISTINCT o.id, s.score) BETWEEN 1 AND 5":                                     "COUNT(DISTINCT o.id, s.score)",
		from + "GROUP BY o.id HAVING COUNT(s.score) IN (1, 2)":                                                          "COUNT(s.score)",
		"SELECT o.id, COUNT(s.id) AS n FROM o LEFT JOIN v.s USING (id) GROUP BY o.id HAVING n >= 1":                     "n",
		counts + "WHERE x.n > 0":                                                                                        "x.n",
		counts + "WHERE n <> 0":                                                                                         "n",
		counts + "JOIN p ON p.id = x.n WHERE x.n > 0 AND x.n < 9":                                                       "x.n",
		"SELECT p.id FROM p LEFT JOIN (" + counts + ") y ON y.id = p.id WHERE y.n > 0":                                  "y.n",
		"SELECT p.id FROM p LEFT JOIN (" + counts + ") y ON y.id = p.id WHERE y.n IS NOT NULL":                          "",
		"SELECT p.id FROM p LEFT JOIN (" + counts + ") y ON y.id = p.id WHERE NOT y.n <=> 0":                            "",
		counts + "WHERE x.n > 0 OR x.n = 0":                                                                             "",
		counts + "WHERE x.n >= 0":                                                                                       "",
		counts + "WHERE x.n < x.id":                                                                                     "",
		counts + "WHERE x.stars > 0":                                                                                    "",
		counts + "WHERE NOT x.n > 0":                                                                                    "",
		from + "GROUP BY o.id HAVING COUNT(*) > 0":                                                                      "",
		from + "GROUP BY o.id HAVING COUNT(o.id) > 0":                                                                   "",
		from + "GROUP BY o.id HAVING COALESCE(COUNT(s.score), 1) > 0":                                                   "",
		"SELECT s.score AS at FROM o LEFT JOIN v.s s USING (id) GROUP BY o.at HAVING at > 1":                            "",
		"SELECT MAX(s.score) AS at FROM o LEFT JOIN v.s s USING (id) GROUP BY o.id HAVING SUM(at) > 1":                  "",
		"SELECT MAX(s.score) AS at FROM o LEFT JOIN v.s s USING (id) GROUP BY o.id HAVING at > 1":                       "at",
		from + "JOIN (SELECT name AS score FROM p) x USING (score)":                                                     "s.score",
		from + "JOIN (SELECT o.at, s.score FROM o LEFT JOIN v.s USING (id)) x USING (at, score)":                        "s.score",
		from + "LEFT JOIN (SELECT name AS score FROM p) x USING (score) WHERE x.score = 1":                              "x.score",
		from + "LEFT JOIN (SELECT name AS score FROM p) x USING (score)":                                                "",
		"SELECT id FROM o JOIN (SELECT o.id, s.score FROM o LEFT JOIN v.s s USING (id)) x USING (id)":                   "",
		"SELECT x.at FROM (SELECT o.at, s.* FROM o LEFT JOIN v.s s USING (id)) x WHERE x.score > 1":                     "x.score",
		"SELECT x.at FROM (SELECT o.*, s.score FROM o LEFT JOIN v.s s USING (id)) x WHERE x.at > 1":                     "",
		"SELECT x.at FROM (SELECT * FROM o LEFT JOIN v.s USING (id)) x WHERE x.score > 1":                               "x.score",
		"SELECT x.at FROM (SELECT * FROM o LEFT JOIN v.s USING (id)) x WHERE x.id > 1":                                  "",
		"SELECT x.at FROM (SELECT * FROM v.s RIGHT JOIN o USING (id)) x WHERE x.id > 1":                                 "",
		"SELECT x.at FROM (SELECT s.* FROM o LEFT JOIN v.s s USING (id)) x WHERE x.id > 1":                              "x.id",
		from + "LEFT JOIN p ON p.id = s.id WHERE p.id > 1":                                                              "p.id",
		from + "LEFT JOIN p ON p.id = s.id WHERE name > 1":                                                              "name",
		from + "LEFT JOIN p ON p.id = s.id JOIN p q ON q.id = p.id":                                                     "p.id",
		from + "RIGHT JOIN p ON p.id = s.id WHERE o.id = 1":                                                             "o.id",
		from + "RIGHT JOIN p ON p.id = s.id WHERE p.id = 1":                                                             "",
		from + "FULL JOIN p ON p.id = s.id WHERE p.id = 1 OR o.id = 1":                                                  "",
		from + "LEFT JOIN p ON p.id = s.id WHERE p.id IS NULL":                                                          "",
		from + "LEFT JOIN p ON p.id = o.id WHERE p.id > 1":                                                              "",
		"SELECT o.id FROM o LEFT JOIN p ON p.id = NULL WHERE p.id > 1":                                                  "",
		"SELECT x.points FROM (" + from + "UNION ALL " + from + ") x WHERE x.points > 1":                                "x.points",
		"SELECT x.points FROM (" + from + "UNION SELECT at, NULL, 1 FROM o) x WHERE x.points > 1":                       "x.points",
		"SELECT x.at FROM (SELECT * FROM o LEFT JOIN v.s USING (id) UNION SELECT id, score, at " +
			"FROM o LEFT JOIN v.s USING (id)) x WHERE x.score > 1": "",
		from + "WHERE (s.score > 20) IS TRUE":                                       "s.score",
		from + "WHERE (s.score > 20 AND o.id = 1) IS TRUE":                          "s.score",
		from + "WHERE (s.score > 20) IS FALSE":                                      "s.score",
		from + "WHERE NOT ((s.score > 20 AND o.id = 1) IS NOT TRUE)":                "s.score",
		from + "WHERE (s.score > 20 AND o.id = 1) IS FALSE":                         "",
		from + "WHERE (s.score > 20 AND o.id = 1) IS NOT FALSE":                     "",
		from + "WHERE (s.score > 20 AND o.id = 1) IS UNKNOWN":                       "",
		from + "WHERE (s.score > 20 OR o.id = 1) IS TRUE":                           "",
		from + "WHERE CASE WHEN s.score > 20 THEN 1 ELSE 0 END":                     "s.score",
		from + "WHERE CASE WHEN s.score > 20 THEN 1 END":                            "s.score",
		from + "WHERE CASE s.score WHEN 20 THEN o.id ELSE 0 END":                    "s.score",
		from + "WHERE CASE WHEN o.id = 1 THEN s.score > 3 WHEN TRUE THEN 0 END":     "s.score",
		from + "WHERE CASE WHEN s.score > 20 THEN 'big' ELSE 'small' END = 'big'":   "s.score",
		from + "WHERE CASE WHEN s.score > 20 THEN 'big' ELSE 'BIG' END = 'big'":     "",
		from + "WHERE CASE WHEN s.score > 20 THEN 'big' ELSE o.id END = 'big'":      "",
		from + "WHERE CASE WHEN o.id = 1 THEN 1 WHEN s.score > 20 THEN 1 END":       "",
		from + "WHERE CASE o.id WHEN s.score THEN 1 ELSE 2 END = 1":                 "s.score",
		from + "WHERE CASE WHEN s.score > 1 THEN 'a' END IS NOT NULL":               "s.score",
		from + "WHERE IF(s.score > 20, o.id, 0)":                                    "s.score",
		from + "WHERE IF(s.score > 20, 1, 0) = 1":                                   "s.score",
		from + "WHERE IF(s.score > 20, 'x', 'y') IN ('x', 'z')":                     "s.score",
		from + "WHERE IF(o.id = 1, s.score, NULL) > 2":                              "s.score",
		from + "WHERE IF(o.id = 1, s.score, 3) > 2":                                 "",
		from + "WHERE IF(s.score IS NULL, 1, 0)":                                    "",
		from + "WHERE NVL2(s.score, 1, 0)":                                          "s.score",
		from + "WHERE NVL2(s.score, 0, 1)":                                          "",
		from + "WHERE COALESCE(s.score > 20, FALSE)":                                "s.score",
		from + "WHERE COALESCE(s.score, 0) > 20":                                    "s.score",
		from + "WHERE COALESCE(s.score, s.id, 0) BETWEEN 1 AND 5":                   "s.score",
		from + "WHERE COALESCE(s.score, o.id, 0) > 20":                              "",
		from + "WHERE IFNULL(s.score, 0) >= 0":                                      "",
		from + "WHERE NOT COALESCE(s.score, 1) = 1":                                 "s.score",
		from + "WHERE COALESCE(s.score, '10') < '9'":                                "",
		from + "WHERE COALESCE(s.score, 10) < '9'":                                  "",
		from + "WHERE COALESCE(s.score, 10) < COALESCE(s.score, 9)":                 "",
		from + "WHERE COALESCE(s.score, 1) / 3 > 0.33333":                           "",
		from + "WHERE COALESCE(s.score, 'none') LIKE 'a%'":                          "s.score",
		from + "WHERE COALESCE(s.score, 'none') NOT LIKE 'N%'":                      "",
		from + "WHERE COALESCE(s.score, 'none') NOT LIKE 'n%'":                      "s.score",
		from + "WHERE IF(COALESCE(s.score, 0) > 1, COALESCE(s.id, 'y'), 'n') = 'y'": "s.score",
		from + "WHERE 'abc' LIKE s.score":                                           "s.score",
		from + "GROUP BY o.id HAVING IF(COUNT(s.score) > 0, 1, 0)":                  "COUNT(s.score)",
		from + "GROUP BY o.id HAVING MAX(CASE WHEN s.score > 1 THEN 1 END) = 1":     "s.score",
		from + "GROUP BY o.id HAVING SUM(CASE WHEN s.score > 1 THEN 1 ELSE 0 END)":  "",
		from + "WHERE NULLIF() OR IF() OR NVL2() OR IFNULL()":                       "",
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
		f, ok := queries.FilterOf(q, "v.s", map[string][]string{
			"v.s": {"id", "score"}, "o": {"id", "at"}, "p": {"id", "score", "name"},
		})
		if f.Column != want || ok != (want != "") {
			t.Errorf("%s: %q at %v, want %q", query, f.Column, f.Position, want)
		}
	}
}

// TestRequired: a listener is required unless rows certainly stay without it.
func TestRequired(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{
		"SELECT o.id FROM o LEFT JOIN v.s s ON s.id = o.id":                                                  false,
		"SELECT o.id FROM o JOIN v.s s ON s.id = o.id":                                                       true,
		"SELECT o.id FROM v.s s RIGHT JOIN o ON s.id = o.id":                                                 false,
		"SELECT o.id FROM v.s s JOIN p ON p.id = s.id RIGHT JOIN o ON s.id = o.id":                           true,
		"SELECT o.id FROM o RIGHT JOIN v.s s ON s.id = o.id":                                                 true,
		"SELECT o.id FROM o LEFT JOIN (SELECT id FROM v.s WHERE score > 1) x ON x.id = o.id":                 false,
		"SELECT o.id FROM o LEFT JOIN (SELECT * FROM v.s ORDER BY id LIMIT 3) x ON x.id = o.id":              false,
		"SELECT o.id FROM o LEFT JOIN (SELECT s.id FROM v.s s JOIN p USING (id)) x ON x.id = o.id":           false,
		"SELECT o.id FROM o LEFT JOIN (SELECT p.id FROM p JOIN v.s s ON s.id = p.id) x ON x.id = o.id":       false,
		"SELECT o.id FROM o LEFT JOIN (SELECT * FROM p JOIN v.s s USING (id)) x ON x.id = o.id":              true,
		"SELECT o.id FROM o LEFT JOIN (SELECT id FROM v.s UNION SELECT id FROM v.s) x ON x.id = o.id":        false,
		"SELECT o.id FROM o LEFT JOIN (SELECT id FROM v.s UNION SELECT id FROM p) x ON x.id = o.id":          true,
		"SELECT o.id FROM o LEFT JOIN (SELECT MAX(id) AS id FROM v.s) x ON x.id = o.id":                      true,
		"SELECT o.id FROM o LEFT JOIN (SELECT id FROM v.s GROUP BY id HAVING COUNT(*) > 1) x ON x.id = o.id": false,
		"SELECT o.id FROM o JOIN (SELECT id FROM v.s) x ON x.id = o.id":                                      true,
		"SELECT o.id FROM o LEFT JOIN (SELECT x.id FROM (SELECT id FROM v.s) x) y ON y.id = o.id":            false,
		"SELECT o.id FROM o LEFT JOIN (SELECT p.id FROM p FULL JOIN v.s s ON s.id = p.id) x ON x.id = o.id":  false,
		"SELECT o.id FROM (SELECT id FROM v.s) x RIGHT JOIN o ON x.id = o.id":                                false,
	} {
		q, err := parse.Parse(query)
		if err != nil {
			t.Fatal(query, err)
		}
		found := map[string]parse.Position{}
		queries.Required(q, found)
		if _, got := found["v.s"]; got != want {
			t.Errorf("%s: required: %v, want %v", query, got, want)
		}
	}
}

// choice makes an expression that can have branches, of a listener that has no rows and one that has.
func (g generator) choice(depth int) string {
	if depth <= 0 || g.IntN(3) == 0 {
		return g.of("u.score", "u.name", "u.id", "o.id", "o.sku", "o.d", "1", "0", "10", "9", "'a'", "'B'", "'10'", "1.5", "NULL", "TRUE")
	}
	x := func() string { return g.choice(depth - 1) }
	switch g.IntN(6) {
	case 0:
		return "IF(" + g.branch(depth-1) + ", " + x() + ", " + x() + ")"
	case 1:
		return "NVL2(" + x() + ", " + x() + ", " + x() + ")"
	case 2:
		return "CASE WHEN " + g.branch(depth-1) + " THEN " + x() + g.of("", " WHEN "+g.branch(depth-1)+" THEN "+x()) + g.of("", " ELSE "+x()) + " END"
	case 3:
		return "CASE " + x() + " WHEN " + x() + " THEN " + x() + " ELSE " + x() + " END"
	}
	return g.of("COALESCE", "IFNULL") + "(" + x() + ", " + x() + ")"
}

// branch makes a condition of values.
func (g generator) branch(depth int) string {
	x := func() string { return g.choice(depth - 1) }
	c := func() string { return "(" + g.branch(depth-1) + ")" }
	if depth <= 0 {
		return x() + g.of(" = ", " > ", " < ") + x()
	}
	switch g.IntN(9) {
	case 0:
		return c() + g.of(" AND ", " OR ", " XOR ") + c()
	case 1:
		return "NOT " + c()
	case 2, 3:
		return c() + g.of(" IS ", " IS NOT ") + g.of("TRUE", "FALSE", "UNKNOWN", "NULL")
	case 4:
		return x() + g.of(" LIKE ", " NOT LIKE ") + g.of("'a%'", "'b'", "'1%'", x())
	case 5:
		return x() + g.of(" IN (", " NOT IN (") + x() + ", " + x() + ")"
	case 6:
		return x() + g.of(" BETWEEN ", " NOT BETWEEN ") + x() + " AND " + x()
	case 7:
		return x()
	}
	return x() + g.of(" = ", " <> ", " < ", " <= ", " > ", " >= ", " <=> ") + x()
}

// TestRandomFilterOf: no row fulfils a condition that is refused.
func TestRandomFilterOf(t *testing.T) {
	t.Parallel()
	n, seed, g := queriesToTry()
	b := newBench(t, nasty...)
	b.load("o", "u")
	none := &memory{columns: b.sets["u"].Columns()}
	b.sets["u"] = none
	columns := map[string][]string{}
	for name, set := range b.sets {
		for _, c := range set.Columns() {
			columns[name] = append(columns[name], c.Name)
		}
	}
	refused, fulfilled := 0, 0
	for range 20 * n {
		query := "SELECT o.id FROM o LEFT JOIN u ON u.id = o.user_id WHERE " + g.branch(3)
		tree, err := parse.Parse(query)
		if err != nil {
			t.Fatal(query, err)
		}
		f, never := queries.FilterOf(tree, "u", columns)
		_, rows, err := b.run(query, 0)
		switch {
		case never && err == nil && len(rows) > 0:
			t.Errorf("FOLD_SEED=%d: %s\nis refused because of %s, and has %d rows", seed, query, f.Column, len(rows))
		case never:
			refused++
		case len(rows) > 0:
			fulfilled++
		}
	}
	if refused < n || fulfilled < n {
		t.Errorf("%d of %d conditions are refused, and rows fulfil %d", refused, 20*n, fulfilled)
	}
}

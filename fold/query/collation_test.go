package query_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/fold/parse"
)

// lettered are tables whose texts are equal or not by their collations.
var lettered = []string{
	`CREATE TABLE c (id INT PRIMARY KEY, g VARCHAR(20) COLLATE utf8mb4_general_ci, u VARCHAR(20) COLLATE utf8mb4_unicode_ci,
		w VARCHAR(20) COLLATE utf8mb4_uca1400_ai_ci, b VARCHAR(20) COLLATE utf8mb4_bin, n VARCHAR(20) COLLATE utf8mb4_general_nopad_ci,
		l VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci, d VARCHAR(20) COLLATE utf8mb4_danish_ci)`,
	`INSERT INTO c SELECT s.seq * 20 + x.id, x.v, x.v, x.v, x.v, x.v, CONVERT(REPLACE(x.v, 'ﬁ', 'fi') USING latin1), x.v FROM (
		SELECT 1 AS id, 'anna' AS v UNION ALL SELECT 2, 'Anna' UNION ALL SELECT 3, 'ANNA ' UNION ALL SELECT 4, 'ännå' UNION ALL SELECT 5, 'bob' UNION ALL SELECT 6, 'BÖB'
		UNION SELECT 7, 'straße' UNION ALL SELECT 8, 'strasse' UNION ALL SELECT 9, '' UNION ALL SELECT 10, ' ' UNION ALL SELECT 11, NULL UNION ALL SELECT 12, 'z\t'
		UNION SELECT 13, 'z' UNION ALL SELECT 14, 'Æ' UNION ALL SELECT 15, 'ae' UNION ALL SELECT 16, 'ﬁ' UNION ALL SELECT 17, 'fi') x JOIN seq_0_to_1 s`,
	`CREATE TABLE m (id INT PRIMARY KEY, g VARCHAR(20) COLLATE utf8mb4_general_ci)`,
	`INSERT INTO m VALUES (1, 'ANNA'), (2, 'Bob'), (3, 'STRASSE'), (4, 'Z'), (5, NULL)`,
}

// TestCollations: texts compare, group, sort and join by the collations of their columns, as on MariaDB.
func TestCollations(t *testing.T) {
	t.Parallel()
	b := newBench(t, lettered...)
	b.load("c", "m")
	var queries []string
	for _, c := range []string{"g", "u", "w", "b", "n", "l"} {
		for _, query := range []string{
			"SELECT id, {x} = 'anna' AS a, {x} < 'b' AS b, {x} IN ('BOB', 'fi') AS c, {x} LIKE 'AN%' AS d, {x} <=> 'ANNA' AS e, {x} BETWEEN 'a' AND 'B' AS f FROM c ORDER BY id",
			"SELECT id FROM c ORDER BY {x}, id", "SELECT id FROM c ORDER BY {x} DESC, id", "SELECT id FROM c ORDER BY CONCAT({x}, 'x'), id",
			"SELECT MIN(id) AS i, COUNT(*) AS n, COUNT(DISTINCT {x}) AS d FROM c GROUP BY {x} ORDER BY i",
			"SELECT {x} AS x, COUNT(*) AS n FROM c GROUP BY {x} ORDER BY MIN(id)", "SELECT x FROM (SELECT DISTINCT {x} AS x, 1 AS n FROM c) y", // the first spelling
			"SELECT COUNT(*) AS n FROM (SELECT DISTINCT {x} FROM c) y", "SELECT COUNT(*) AS n FROM (SELECT {x} FROM c UNION SELECT 'ANNA' FROM m) y",
			"SELECT COUNT(DISTINCT UPPER({x})) AS n, GROUP_CONCAT(DISTINCT id ORDER BY {x}, id) AS g FROM c WHERE {x} IS NOT NULL",
			"SELECT id, CASE {x} WHEN 'ANNA' THEN 1 ELSE 0 END AS a, NULLIF({x}, 'BOB') AS b, INSTR({x}, 'N') AS c, LOCATE('SS', {x}) AS d, GREATEST({x}, 'B') = {x} AS e FROM c ORDER BY id",
			"SELECT id, {x} REGEXP '^A' AS a, SUBSTRING({x}, 2) = 'NNA' AS b, TRIM({x}) = 'Anna' AS c FROM c ORDER BY id",
			"SELECT id, {x} = 'ANNA' COLLATE utf8mb4_bin AS a FROM c ORDER BY id",
			"SELECT c.id, m.id AS mid FROM c JOIN m ON m.g = c.{x} COLLATE utf8mb4_general_ci ORDER BY c.id, mid",
			"SELECT y.k, COUNT(*) AS n FROM (SELECT id, IFNULL({x}, 'none') AS k FROM c) y WHERE y.k <> 'BOB' GROUP BY y.k ORDER BY MIN(y.id)",
		} {
			if c == "l" && strings.Contains(query, "COLLATE") {
				continue // MariaDB refuses a collation of utf8mb4
			}
			queries = append(queries, strings.ReplaceAll(query, "{x}", c))
		}
	}
	queries = append(queries, "SELECT c.id, m.id AS mid FROM c JOIN m USING (g) ORDER BY c.id, mid",
		"SELECT c.id, m.id AS mid FROM c LEFT JOIN m ON m.g = c.b ORDER BY c.id, mid", "SELECT c.g, m.id FROM c JOIN m ON m.g = c.g WHERE m.g > 'B' ORDER BY c.id",
		"SELECT id, u = b AS a, CONCAT(g, b) = 'annaANNA' AS c FROM c ORDER BY id")
	for _, query := range queries {
		for _, budget := range []int64{0, 3000} {
			if _, _, err := b.run(query, budget); err != nil {
				t.Errorf("%s: %v", query, err)
			}
			if diff := b.compare(query, budget); diff != "" {
				t.Error(diff)
			}
		}
	}
}

// TestCollationsThatMeet: what MariaDB calls an illegal mix of collations is refused with the place and the remedy.
func TestCollationsThatMeet(t *testing.T) {
	t.Parallel()
	b := newBench(t, lettered...)
	b.load("c", "m")
	for query, want := range map[string]string{
		"SELECT id FROM c WHERE g = u":                                    "1:28: texts of the collations utf8mb4_general_ci and utf8mb4_unicode_ci meet: Write COLLATE utf8mb4_general_ci or COLLATE utf8mb4_unicode_ci after one of them",
		"SELECT c.id FROM c JOIN m ON m.g = c.w":                          "1:30: texts of the collations utf8mb4_uca1400_ai_ci and utf8mb4_general_ci meet: Write COLLATE utf8mb4_uca1400_ai_ci or COLLATE utf8mb4_general_ci after one of them",
		"SELECT CONCAT(g, u) AS x FROM c ORDER BY x":                      "1:8: texts of the collations utf8mb4_general_ci and utf8mb4_unicode_ci meet: Write COLLATE utf8mb4_general_ci or COLLATE utf8mb4_unicode_ci after one of them",
		"SELECT DISTINCT IFNULL(g, u) AS x FROM c":                        "1:17: texts of the collations utf8mb4_general_ci and utf8mb4_unicode_ci meet: Write COLLATE utf8mb4_general_ci or COLLATE utf8mb4_unicode_ci after one of them",
		"SELECT g AS x FROM c UNION SELECT u FROM c":                      "1:28: in the column x of a UNION, texts of the collations utf8mb4_general_ci and utf8mb4_unicode_ci meet: Write UNION ALL, or COLLATE utf8mb4_bin after the column in both SELECTs",
		"SELECT COUNT(*) AS n FROM c GROUP BY d":                          "1:38: Fanfold does not know the collation utf8mb4_danish_ci: Write COLLATE utf8mb4_bin or another collation after one of them",
		"SELECT id FROM c WHERE g = 'a' COLLATE utf8mb4_swedish_ci":       "1:32: Fanfold does not know the collation utf8mb4_swedish_ci",
		"SELECT id FROM c WHERE id = 1 COLLATE utf8mb4_bin":               "1:31: COLLATE of a value of type integer: Write it after a text, or CAST the value AS CHAR",
		"SELECT id FROM c WHERE g COLLATE utf8mb4_bin = u COLLATE binary": "1:50: texts of the collations utf8mb4_bin and binary meet",
	} {
		_, _, err := b.run(query, 0)
		var wrong *parse.Error
		if !errors.As(err, &wrong) {
			t.Errorf("%s: %v", query, err)
			continue
		}
		if got := fmt.Sprintf("%d:%d: %s: %s", wrong.Line, wrong.Column, wrong.Message, wrong.Remedy); !strings.HasPrefix(got, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", query, got, want)
		}
	}
	for _, query := range []string{"SELECT CONCAT(g, u) AS x FROM c", "SELECT g AS x FROM c UNION ALL SELECT u FROM c", "SELECT d FROM c",
		"SELECT COUNT(*) AS n FROM c GROUP BY d COLLATE utf8mb4_bin", "SELECT id FROM c WHERE g = u COLLATE utf8mb4_unicode_ci"} {
		if _, _, err := b.run(query, 0); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
}

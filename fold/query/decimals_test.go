package query_test

import (
	"fmt"
	"testing"
)

// TestDecimalsOfSeconds: where datetimes or times of different decimals meet, the result has those of MariaDB, also if
// a column has none.
func TestDecimalsOfSeconds(t *testing.T) {
	t.Parallel()
	b := newBench(t, `CREATE TABLE s (id INT PRIMARY KEY, d0 DATETIME, d3 DATETIME(3), ts TIMESTAMP NULL, t0 TIME, t2 TIME(2), d DATE)`,
		`INSERT INTO s VALUES (1, '2024-01-02 10:00:00', NULL, '2024-01-02 10:00:00', '10:00:00', NULL, '2024-01-02'),
			(2, NULL, '2024-01-02 10:00:00.120', NULL, NULL, '10:00:00.10', NULL), (3, '2024-01-02 10:00:00', '2024-01-02 10:00:00.5', '2024-01-02 10:00:00', '-00:00:01', '10:00:00', '2024-01-02')`)
	b.load("s")
	for _, x := range []string{
		"COALESCE(d3, d0)", "COALESCE(d0, d3)", "IFNULL(t0, t2)", "IF(id = 1, d0, d3)", "CASE id WHEN 1 THEN t0 ELSE t2 END", "GREATEST(d0, d3)", "LEAST(t2, t0)", "COALESCE(d3, ts)",
		"COALESCE(d, d3)", "CONCAT(d0, '')", "CONCAT(COALESCE(t0, t2))", "d0 + INTERVAL 1 MICROSECOND", "d0 + INTERVAL 1 SECOND", "COALESCE(d0, d0 + INTERVAL 1 MICROSECOND)", "CAST(d0 AS DATETIME(3))",
		"CAST(COALESCE(d0, d3) AS CHAR)", "d0 + 0", "COALESCE(d3, d0) + 0", "NULLIF(d0, d3)", "CAST(d0 AS TIME)", "d0 = d3", "t0 < t2", "COALESCE(d0, 'x')", "DATE_FORMAT(COALESCE(d0, d3), '%f')",
	} {
		if diff := b.compare(fmt.Sprintf("SELECT id, %s AS x FROM s ORDER BY id", x), 0); diff != "" {
			t.Error(diff)
		}
	}
	for _, query := range []string{
		"SELECT d0 AS x FROM s UNION ALL SELECT d3 FROM s ORDER BY x", "SELECT t2 AS x FROM s UNION SELECT t0 FROM s ORDER BY x", "SELECT MAX(d0) AS a, MIN(t0) AS b, MAX(COALESCE(d0, d3)) AS c, COUNT(DISTINCT COALESCE(d0, ts)) AS d FROM s",
		"SELECT GROUP_CONCAT(COALESCE(d3, d0) ORDER BY id) AS x FROM s", "SELECT x FROM (SELECT COALESCE(t0, t2) AS x, id FROM s) y ORDER BY id",
	} {
		if diff := b.compare(query, 0); diff != "" {
			t.Error(diff)
		}
	}
}

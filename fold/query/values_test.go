package query_test

import (
	"fmt"
	"strings"
	"testing"
)

// almost is a table of numbers, texts and dates that are almost of another kind.
var almost = []string{
	`CREATE TABLE w (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(40) COLLATE utf8mb4_nopad_bin, i INT, dc DECIMAL(8,2), f DOUBLE, fl FLOAT(8,2),
		db DOUBLE(8,2), d DATE, a DATETIME, a3 DATETIME(3), a6 DATETIME(6), t TIME, ts TIMESTAMP NULL)`,
	`INSERT INTO w (s, i, dc, f, fl, db, d, a, a3, a6, t, ts) VALUES
		('20', 117, 104.56, 2.5, 0.14, 0.14, '2026-06-05', '2026-06-05 10:11:12', '2026-06-05 10:11:12.345', '2026-06-05 10:11:12.000001', '10:11:12', '2026-06-05 10:11:12'),
		('2026-06-1', 7, 3.10, -1.5, 0.5, 0.5, '2024-02-29', '2024-02-29 00:00:00', '2024-02-29 00:00:00', '2024-02-29 23:59:59.999999', '-01:00:00', '2024-02-29 00:00:00'),
		('abc', 65, 0.14, 0.14, 123.45, 7, '2024-12-30', '2024-12-30 13:00:00', '2024-12-30 13:00:00.5', '2024-12-30 00:00:00', '00:00:00', '2024-12-30 13:00:00'),
		('', 0, 0, 0, 0, 0, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '00:00:00', NULL),
		('2026-10', 20, 20, 20, 20, 20, '2026-02-00', '2026-02-00 00:00:00', '2026-00-05 10:00:00', '2000-00-00 23:00:00', '100:00:00', '2026-10-01 00:00:00'),
		('2026-03-29T00:31:00Z', 20240229, 1, 20240229, 1, 1, '2026-03-29', '2026-03-29 00:31:00', '2026-03-29 00:31:00', '2026-03-29 00:31:00', '00:31:00', '2026-03-29 00:31:00'),
		('10:11:12', 101112, 101.11, 101112.5, 10, 10, '2010-11-12', '2010-11-12 00:00:00', '2010-11-12 00:00:00', '2010-11-12 10:11:12', '10:11:12', '2010-11-12 10:11:12'),
		(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
		('2026-02-30', 20260230, -3, 1e10, 7, 7, '2026-02-28', '2026-02-28 23:59:59', '2026-03-01 00:00:00', '2021-01-03 00:00:00', '838:59:59', '2026-02-28 23:59:59'),
		('2026-06-01 25:00:00', -1, 7, -7, 1, 1, '9999-12-31', '9999-12-31 23:59:59', '1000-01-01 00:00:00', '2023-01-01 00:00:00', '-838:59:59', '2038-01-19 03:14:07'),
		('99', 99, 99, 99, 99, 99, '1999-12-31', '1999-12-31 00:00:00', '1970-01-01 00:00:00', '1999-12-31 12:00:00', '01:39:00', '1999-12-31 00:00:00'),
		('12:61:00', 126100, 1, 8385960, 1, 1, '2012-01-01', '2012-01-01 12:00:00', '2012-12-31 12:00:00', '2012-12-31 00:00:00.25', '12:01:00', '2012-01-01 12:00:00'),
		('2 10:11', 101, 2, 1e30, 2, 2, '2002-10-11', '2002-10-11 00:00:00', '2002-10-11 00:00:00', '2002-10-11 00:00:00', '58:11:00', '2002-10-11 00:00:00'),
		(' 2026-06-01 10:11:12.1234567 x', 260601, 26.06, 20260601101112, 6, 6, '2026-06-01', '2026-06-01 10:11:12', '2026-06-01 10:11:12.123', '2026-06-01 10:11:12.123456', '10:11:13', '2026-06-01 10:11:12'),
		('7e0', 7, 7, 7, 7, 7, '2007-07-07', '2007-07-07 07:07:07', '2007-07-07 07:07:07', '2007-07-07 07:07:07', '07:07:07', '2007-07-07 07:07:07')`,
}

// value makes a value of any kind but, if time is true, a date, or else a time.
func (g generator) value(time bool) string {
	switch g.IntN(4) {
	case 0:
		return g.of("i", "dc", "f", "fl", "db", "0", "7", "117", "-1", "0.14", "20240229", "20260230", "101112", "1e2", "2.50", "0x41", "20260601101112.5")
	case 1:
		return g.almostDate()
	case 2:
		return g.of("i", "s", "NULL", "dc", "CONCAT(i)", "CONCAT(dc)", "id")
	}
	if time {
		return g.of("CAST(t AS TIME)", "TIME '10:11:12'", "TIME(a3)", "TIME '100:00:00.5'")
	}
	return g.moment()
}

func (g generator) almostDate() string {
	return g.of("s", "s", "'20'", "''", "'abc'", "'0'", "'7'", "'2026-06-1'", "'2026-10'", "'2026-03-29T00:31:00Z'", "'2026-02-30'", "'10:11'", "'10:11:12.5'", "' 2024-02-29'",
		"'20240229'", "'2026-06-01 25:00:00'", "'-1:00:00'", "'2 10:11'", "'2026/6/1 1:2'", "'0000-00-00'", "'2026-00-00'", "'1999-12-31 23:59:59.999999'", "CONCAT(d)", "CONCAT(a)", "CONCAT(t)")
}

func (g generator) moment() string {
	return g.of("d", "CAST(a AS DATETIME)", "a3", "a6", "CAST(ts AS DATETIME)", "DATE(a)", "DATE '2024-02-29'", "TIMESTAMP '2026-06-05 10:11:12'",
		"DATE_ADD(d, INTERVAL 1 MONTH)", "DATE_SUB(a3, INTERVAL 1 DAY)", "a6 + INTERVAL 1.5 SECOND", "LAST_DAY(a3)")
}

// mixed makes an expression in which values of several kinds meet.
func (g generator) mixed() string {
	time := g.IntN(4) == 0
	v := func() string { return g.value(time) }
	list := func() string {
		all := make([]string, 1+g.IntN(3))
		for i := range all {
			all[i] = v()
		}
		return strings.Join(all, ", ")
	}
	switch g.IntN(16) {
	case 14:
		return "EXTRACT(" + g.of("DAY", "HOUR", "MINUTE", "SECOND", "MICROSECOND", "MONTH", "QUARTER", "YEAR") + " FROM " + g.of(g.moment(), g.almostDate(), "263010", "20240229101112.5", "-101112", "dc") + ")"
	case 15:
		return "EXTRACT(" + g.of("DAY", "HOUR", "MINUTE", "SECOND", "MICROSECOND") + " FROM " + g.of("t", "TIME '-26:30:10.5'", "TIME '838:59:59'", "CAST(i AS TIME)") + ")"
	case 0, 1:
		return g.of("LEAST", "GREATEST") + "(" + v() + ", " + list() + ")"
	case 2, 3:
		return v() + g.of(" = ", " <> ", " < ", " <= ", " > ", " >= ", " <=> ") + v()
	case 4:
		return v() + g.of(" IN (", " NOT IN (") + list() + ")"
	case 5:
		return v() + g.of(" BETWEEN ", " NOT BETWEEN ") + v() + " AND " + v()
	case 6:
		return "CASE " + v() + " WHEN " + v() + " THEN 1 WHEN " + v() + " THEN 2 ELSE 3 END"
	case 7:
		return "NULLIF(" + v() + ", " + v() + ") IS NULL"
	case 8:
		return g.of("COALESCE", "IFNULL") + "(" + v() + ", " + v() + ")"
	case 9:
		return "CAST(" + g.of(g.value(false), "t") + " AS " + g.of("CHAR", "SIGNED", "DECIMAL(20,2)", "TIME(6)") + ")"
	case 13:
		return "CAST(" + g.value(false) + " AS " + g.of("DATE", "DATETIME(6)") + ")"
	case 10:
		return "DATE_FORMAT(" + g.of(g.moment(), g.almostDate()) + ", '" + g.format() + "')"
	case 11:
		return g.of("DATE", "YEAR", "MONTH", "DAYOFWEEK", "DAYNAME", "MONTHNAME", "WEEK", "YEARWEEK", "LAST_DAY", "QUARTER") + "(" + g.of(g.moment(), g.almostDate()) + ")"
	case 12:
		return g.of("DATE_ADD", "DATE_SUB") + "(" + g.of(g.moment(), g.almostDate()) + ", INTERVAL " +
			g.of("1 DAY", "1 MONTH", "12 MONTH", "1 YEAR", "90 MINUTE", "1 SECOND", "1.5 SECOND", "'0.25' SECOND", "5 MICROSECOND", "0 MONTH") + ")"
	}
	return g.of("WEEK", "YEARWEEK") + "(" + g.moment() + ", " + fmt.Sprint(g.IntN(8)) + ")"
}

// format makes a format of DATE_FORMAT, of all that it knows and some that it does not.
func (g generator) format() string {
	var b strings.Builder
	for range 1 + g.IntN(3) {
		const all = "abcDdefHhIijklMmprSsTUuVvWwXxYy%qz"
		b.WriteString("%" + string(all[g.IntN(len(all))]) + g.of("", "-", " of "))
	}
	return b.String()
}

// TestValues: conversions that surprise are those of MariaDB.
func TestValues(t *testing.T) {
	t.Parallel()
	b := newBench(t, almost...)
	b.load("w")
	for _, query := range []string{
		`SELECT 0x41+0 AS a, 0x41+0.5 AS b, 0x41*1e0 AS c, 0x41=65 AS d, x'41'+0 AS e, 0x41='A' AS f, 0x31 + '1' AS i, -0x41 AS j, 0x41 IN (65) AS k, 0x31=1 AS l, x'31'=1 AS m, SUM(0xffffffffffffffffff) AS s FROM w WHERE id = 1`,
		`SELECT ABS(0x41) AS b, ROUND(0x41) AS c, 0x41 DIV 2 AS e, NOT 0x00 AS g, CAST(0x41 AS SIGNED) AS h, CAST(0x41 AS DECIMAL(5,1)) AS i, GREATEST(0x41, 1) AS j, IFNULL(s, 0x41) AS k, COALESCE(i, 0x41) AS l, COALESCE(0x41, 1) + 0 AS n FROM w ORDER BY id`,
		`SELECT id, fl = 0.14 AS a, db = 0.14 AS b, fl = '0.14' AS c, fl IN (0.14, 7) AS d, fl IN (0.14) AS e, fl <> 0.14 AS f, 0.14 >= fl AS g, NULLIF(fl, 0.14) AS h, CASE fl WHEN 0.14 THEN 1 END AS i, fl = db AS j, fl > 0.14 AS k, fl BETWEEN 0.14 AND 0.14 AS m, fl <=> 0.14 AS n FROM w ORDER BY id`,
		`SELECT SUBSTRING_INDEX('a.b.c','.',2) AS a, SUBSTRING_INDEX('a.b.c','.',-2) AS b, SUBSTRING_INDEX('a.b.c','.',0) AS c, SUBSTRING_INDEX('a.b.c','',2) AS d, SUBSTRING_INDEX('aXbxc','x',1) AS e, SUBSTRING_INDEX('aaaaa','aa',-1) AS f, SUBSTRING_INDEX(s,'-',id-3) AS h FROM w ORDER BY id`,
		`SELECT LOCATE('b','abcb',3) AS l, LOCATE('','abc',2) AS m, LOCATE('','abc',4) AS n, LOCATE('','abc',5) AS o, LOCATE('b','abc',0) AS p, LOCATE('b','abc',-1) AS q, LOCATE('ä','xäyä',3) AS r, LOCATE('a','') AS v FROM w WHERE id = 1`,
		`SELECT JSON_VALUE('{"a":"x\\sy","b":"q\\"z"}','$.a') AS a, JSON_VALUE('{"a":"x\\sy","b":"q\\"z"}','$.b') AS b, JSON_VALUE('{"a":"x\\qy","b":1}','$.b') AS d, JSON_VALUE('{"a":"\\s\\b\\f\\t\\\\s"}','$.a') AS i FROM w WHERE id = 1`,
		`SELECT TIME('10:11') AS a, TIME('10:11:12.5') AS b, TIMESTAMP '2026-01-01 00:00:00' + INTERVAL 1.50 SECOND AS d, '2026-01-01' + INTERVAL 1.5 SECOND AS e, CONCAT('2026-01-01') + INTERVAL '1.25' SECOND AS f, TIMESTAMP('2026-01-01') AS h, TIME(20.5) AS m, TIME '10:00:00' + INTERVAL 1.5 SECOND AS q, DATE '2026-01-01' + INTERVAL 5 MICROSECOND AS o FROM w WHERE id = 1`,
		`SELECT TIMESTAMP '2026-01-01 00:00:00' + INTERVAL 1e0 SECOND AS k, TIMESTAMP '2026-01-01 00:00:00.25' + INTERVAL 1.5 SECOND AS p, TIMESTAMP(20260101.5) AS r, CONCAT(TIME('10:11:12.50')) AS s, TIME('10:11:12.1234567') AS t, TIMESTAMP '2026-01-01 00:00:00' + INTERVAL 0.1234567 SECOND AS u FROM w WHERE id = 1`,
		`SELECT '2026-01-01 00:00:00.5' + INTERVAL 1.5 SECOND AS a, '2026-01-01 00:00:00.5' + INTERVAL 1 DAY AS c, '2026-01-01' + INTERVAL 1 DAY AS d, 20260101 + INTERVAL 1 DAY AS g, 20260101.5 + INTERVAL 1 SECOND AS h, 20260101101112.25 + INTERVAL 1 DAY AS i, '2026-01-01x' + INTERVAL 1 DAY AS k, '2026-01-01 10' + INTERVAL 1 DAY AS n, '10:11:12' + INTERVAL 1 SECOND AS o FROM w WHERE id = 1`,
		`SELECT CAST(0 AS DATETIME) AS a, CAST(100 AS DATETIME) AS b, CAST(101 AS DATETIME) AS c, CAST(691231 AS DATE) AS d, CAST(700100 AS DATE) AS f, CAST(991232 AS DATE) AS h, CAST(1000101 AS DATE) AS i, CAST(101000000 AS DATETIME) AS l, CAST(991231235959 AS DATETIME) AS m, CAST(20260601101112.1234567 AS DATETIME(6)) AS o, CAST(-1 AS DATETIME) AS p, CAST(1e30 AS DATETIME) AS q FROM w WHERE id = 1`,
		`SELECT CAST(9999999 AS TIME) AS t, CAST(8385959 AS TIME) AS u, CAST(8386000 AS TIME) AS v, CAST(-1011.5 AS TIME(1)) AS w, CAST(1e30 AS TIME) AS x, CAST(-1e30 AS TIME) AS y, CAST(20260601101112 AS TIME) AS z, CAST(60 AS TIME) AS a2, CAST(0.5 AS DATETIME(1)) AS a3, CAST(99991231235959.9999999 AS DATETIME(6)) AS a4, CAST(20260601.5 AS DATETIME(1)) AS a6 FROM w WHERE id = 1`,
		`SELECT id, TIMESTAMP(s) AS a, TIME(s) AS b, CAST(a AS DATETIME) + INTERVAL dc SECOND AS c, a + INTERVAL f SECOND AS d, a + INTERVAL s SECOND AS e, a + INTERVAL 1 MONTH AS f, a - INTERVAL 1 DAY AS g FROM w WHERE id <> 13 ORDER BY id`,
		`SELECT id, DATE_FORMAT(a, '') AS a, DATE_FORMAT(a, 'é%ü%d') AS b, DATE_FORMAT(a, '%U %u %V %v %X %x') AS w, DATE_FORMAT(a, '%a %W %w') AS x, DATE_FORMAT(a3, '%M %b %j') AS y, TIME_FORMAT(t, '%H|%h|%k|%l|%i|%s|%f|%p|%r|%T|%%|%q') AS c, TIME_FORMAT(t, '%W') AS d, TIME_FORMAT(s, '%H:%i') AS e, MICROSECOND(s) AS g, MICROSECOND(a6) AS h, WEEK(a, NULL) AS i, WEEK(a, '1') AS j, WEEK(a, -1) AS k, YEARWEEK(a, 9) AS l FROM w ORDER BY id`,
		`SELECT id, CAST(s AS TIME(6)) AS a, CAST(s AS DATE) AS b, CAST(s AS DATETIME(6)) AS c, CAST(f AS TIME(3)) AS d, CAST(i AS TIME) AS e, DATE(s) AS g, HOUR(s) AS h, CAST(dc AS TIME(2)) AS j, CAST(a6 AS SIGNED) AS k FROM w ORDER BY id`,
		`SELECT id, a <> '' AS a, a > '2026-10' AS b, a = 0 AS c, d = 0 AS d, t = 0 AS e, a < '2026-02-30' AS f, a IN ('2026-02-30', '2024-02-29') AS g, d < 20260230 AS h, ts = '2026-03-29T00:31:00Z' AS l, DATE('2026-06-01T10:00:00Z') AS m FROM w ORDER BY id`,
		`SELECT id, GREATEST(117, '20') AS a, LEAST(104.56, '5') AS b, GREATEST(a, '2026-06-01') AS c, LEAST(a, '2026-6-1') AS d, LEAST(d, s) AS e, GREATEST(t, s) AS f, LEAST(i, s) AS g, LEAST(dc, s, f) AS h, GREATEST(d, 20260101) AS j FROM w ORDER BY id`,
		`SELECT w.id, x.id AS y FROM w JOIN (SELECT id, s FROM w) x ON x.s = w.d ORDER BY w.id, y`,
		`SELECT w.id, x.id AS y FROM w JOIN (SELECT id, s FROM w) x ON x.s = w.t ORDER BY w.id, y`,
	} {
		if diff := b.compare(query, 0); diff != "" {
			t.Error(diff)
		}
	}
}

// TestRandomValues: what is made of values of several kinds is the same as on MariaDB.
func TestRandomValues(t *testing.T) {
	t.Parallel()
	n, seed, g := queriesToTry()
	b := newBench(t, almost...)
	b.load("w")
	differ := 0
	for range n {
		item := g.mixed()
		if diff := b.compare("SELECT id, "+item+" AS x FROM w ORDER BY id", 0); diff != "" {
			if differ++; differ <= 20 {
				t.Error(diff)
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d differ; run them again with FOLD_SEED=%d", differ, n, seed)
	}
}

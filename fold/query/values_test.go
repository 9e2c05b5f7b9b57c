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
	switch g.IntN(15) {
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

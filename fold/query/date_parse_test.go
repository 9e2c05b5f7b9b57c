package query_test

import (
	"fmt"
	"strings"
	"testing"
)

// parsedFormat makes a format of STR_TO_DATE, and a text that nearly fits.
func (g generator) parsedFormat() (format, text string) {
	parts := [][2]string{
		{"%Y", "2024"}, {"%Y", "99"}, {"%Y", "202"}, {"%y", "70"}, {"%y", "6"}, {"%m", "02"}, {"%c", "9"}, {"%M", "february"}, {"%M", "May"},
		{"%b", "DEC"}, {"%b", "June"}, {"%d", "29"}, {"%d", "0"}, {"%e", "31"}, {"%D", "1st"}, {"%D", "22n"}, {"%H", "23"}, {"%k", "7"}, {"%H", "24"}, {"%h", "12"},
		{"%I", "01"}, {"%l", "13"}, {"%i", "59"}, {"%s", "05"}, {"%S", "60"}, {"%f", "5"}, {"%f", "1234567"}, {"%p", "pm"}, {"%p", "AM"},
		{"%W", "Sunday"}, {"%a", "mon"}, {"%w", "0"}, {"%w", "6"}, {"%j", "366"}, {"%j", "001"}, {"%j", "0"}, {"%U", "00"}, {"%u", "53"}, {"%V", "1"}, {"%v", "52"},
		{"%X", "2024"}, {"%x", "1999"}, {"%r", "11:22:33 PM"}, {"%r", "0:0:0 AM"}, {"%T", "10:11:12"}, {"%T", "1:2"}, {"%.", "-/:"}, {"%@", "abcT"}, {"%#", "123"},
		{"%Y-%m-%d", "2023-02-29"}, {"%Y-%m-%d", "0000-02-29"}, {"%d.%m.%Y", "31.12.9999"}, {"%H:%i", "10:30"}, {"%h:%i %p", "12:30 pm"}, {"%Y %j", "2023 60"},
		{"%Y %U %W", "2024 8 Friday"}, {"%x-%v %a", "2020-53 Sun"}, {"%X %V %w", "2021 1 3"}, {"%Y %u %w", "2025 0 1"}, {"%m/%d/%Y", "+2/1/2024"},
	}
	for range 1 + g.IntN(4) {
		p := parts[g.IntN(len(parts))]
		between := g.of("", "-", " ", ":", "  ", "x", "/", ".")
		format += p[0] + between
		if g.IntN(8) == 0 {
			between = g.of("", " ", "-", "y")
		}
		if g.IntN(12) == 0 {
			p[1] = g.of("", "-1", "+3", "99", "abc", "ä", "0", "2024-01-01")
		}
		text += p[1] + between
	}
	if g.IntN(6) == 0 {
		text = text[:g.IntN(len(text)+1)]
	}
	return format, strings.ToValidUTF8(text, "")
}

// TestRandomDateFormats: STR_TO_DATE reads texts as MariaDB.
func TestRandomDateFormats(t *testing.T) {
	t.Parallel()
	b := newBench(t, nasty...)
	b.load("u")
	for _, query := range []string{
		"SELECT id, STR_TO_DATE('29.02.2024', '%d.%m.%Y') AS a, STR_TO_DATE('10:11', '%H:%i') AS b, STR_TO_DATE('2024-02-29 10:11:12.5', '%Y-%m-%d %T.%f') AS c, STR_TO_DATE('5', '%s.%f') AS d, STR_TO_DATE('x', '%d') AS e FROM u ORDER BY id",
		"SELECT id, STR_TO_DATE('2024-01-31', CONCAT('%Y-%m-', IF(id > 10, '%d', '%H'))) AS a, STR_TO_DATE(NULL, '%d') AS b, STR_TO_DATE('1', NULL) AS c FROM u ORDER BY id",
		"SELECT id, STR_TO_DATE(CONCAT(id, '.3.2024'), '%d.%m.%Y') + INTERVAL 1 DAY AS a, STR_TO_DATE(id, '%d') AS b, STR_TO_DATE(id, '%H') AS c, STR_TO_DATE(score, '%h.%i') AS d FROM u ORDER BY id",
		"SELECT x, x + INTERVAL 1 DAY AS y, x + INTERVAL 1 MONTH AS y2, LAST_DAY(x) AS l, DATEDIFF(x, '2023-01-01') AS dd, CAST(x AS CHAR) AS ch, x + 0 AS n, DATE_FORMAT(x, '%W %j') AS f, WEEK(x) AS wk, TO_DAYS(x) AS td, x > '2023-02-28' AS z, DAYOFWEEK(x) AS w FROM (SELECT STR_TO_DATE(CONCAT('2023-02-31'), '%Y-%m-%d') AS x FROM u) s",
		"SELECT STR_TO_DATE('3 10', '%d %H') AS a, STR_TO_DATE('31 23:59:59', '%d %T') AS b, STR_TO_DATE('', '%d') AS c, STR_TO_DATE('12', '') AS d FROM u WHERE id = 10",
	} {
		if diff := b.compare(query, 0); diff != "" {
			t.Error(diff)
		}
	}
	n, seed, g := queriesToTry()
	differ := 0
	for range n {
		var items []string
		for i := range 4 {
			format, text := g.parsedFormat()
			if i == 3 { // not constant: the type does not depend on it
				text, format = text+"', LEFT(name, 0), '", format+"', LEFT(name, 0), '"
			}
			items = append(items, fmt.Sprintf("STR_TO_DATE(CONCAT('%s'), CONCAT('%s')) AS x%d", text, format, i))
		}
		if diff := b.compare("SELECT id, "+strings.Join(items, ", ")+" FROM u WHERE name IS NOT NULL ORDER BY id", 0); diff != "" {
			if differ++; differ <= 8 {
				t.Error(diff)
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d differ; run them again with FOLD_SEED=%d", differ, n, seed)
	}
	if _, _, err := b.run("SELECT STR_TO_DATE(name, '%d%%') AS x FROM u", 0); err == nil || !strings.Contains(err.Error(), "STR_TO_DATE has no part %%") {
		t.Errorf("%v", err)
	}
}

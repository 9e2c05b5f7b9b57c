package query_test

import (
	"fmt"
	"strings"
	"testing"
)

// numbered are numbers and texts that doubles do not tell apart.
var numbered = []string{
	`CREATE TABLE q (id INT PRIMARY KEY, n BIGINT, un BIGINT UNSIGNED, i INT, d DECIMAL(30,2), d3 DECIMAL(10,3), f DOUBLE, t VARCHAR(40), td VARCHAR(40))`,
	`INSERT INTO q VALUES (1, 9007199254740992, 18446744073709551614, 5, 12345678901234567890.11, 1.5, 9007199254740992, '9007199254740993', '12345678901234567890.11'),
		(2, 9007199254740993, 18446744073709551615, 6, 12345678901234567890.12, 2.125, 3, '9007199254740992', '12345678901234567890.12'),
		(3, 5, 5, 7, 5.5, 5.5, 5.5, '5.5', '5.50'), (4, -3, 3, 0, 0, 0, 0, '  -3x', 'x'), (5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`,
}

// TestNumbersWithTexts: for each pair of types, with columns and with constants, numbers and texts compare as on
// MariaDB: as integers, decimals or doubles.
func TestNumbersWithTexts(t *testing.T) {
	t.Parallel()
	b := newBench(t, numbered...)
	b.load("q")
	var tests []string
	for _, x := range []string{"n", "un", "i", "d", "d3", "f", "t", "n + 0", "d + 0", "CONCAT(t)", "COALESCE(n, 1)", "9007199254740993", "9007199254740993.0", "TRUE"} {
		for _, y := range []string{"t", "td", "n", "d", "'9007199254740993'", "'9007199254740993.4'", "'9007199254740993x'", "'18446744073709551614'", "'9223372036854775808'",
			"'99999999999999999999'", "'12345678901234567890.11'", "'12345678901234567890.114'", "'-2'", "' 5 '", "'5.0000000000000000000001'", "'1e400'", "'x'", "''",
			"CONCAT('9007199254740993', '')", "x'39303037313939323534373430393933'", "9007199254740993", "9007199254740993.4", "9007199254740993e0", "12345678901234567890.11e0", "2.125e0", "5.4e0"} {
			for _, form := range []string{"{x} = {y}", "{y} = {x}", "{x} <=> {y}", "{x} < {y}", "{x} >= {y}", "NULLIF({x}, {y}) IS NULL", "{x} IN ({y})", "{x} IN ({y}, 1)", "{x} NOT IN ({y}, '1')",
				"{x} IN ({y}, 2.5, 'x')", "{y} IN ({x}, 1)", "CASE {x} WHEN {y} THEN 1 ELSE 0 END", "CASE {x} WHEN {y} THEN 1 WHEN 3.5 THEN 4 ELSE 0 END",
				"{x} BETWEEN {y} AND {y}", "{y} BETWEEN {x} AND {x}", "{x} BETWEEN {y} AND 9007199254740993", "{x} NOT BETWEEN 9007199254740993.0 AND {y}", "{x} BETWEEN {y} AND '9007199254740993'"} {
				tests = append(tests, strings.NewReplacer("{x}", x, "{y}", y).Replace(form))
			}
		}
	}
	for len(tests) > 0 {
		items := make([]string, min(len(tests), 90))
		for i := range items {
			items[i] = fmt.Sprintf("%s AS c%d", tests[i], i)
		}
		tests = tests[len(items):]
		b.each("SELECT id, "+strings.Join(items, ", ")+" FROM q ORDER BY id", items)
	}
}

// TestJoinsOfNumbersWithTexts: the keys of joins are equal if and only if the values are.
func TestJoinsOfNumbersWithTexts(t *testing.T) {
	t.Parallel()
	b := newBench(t, numbered...)
	b.load("q")
	for _, x := range []string{"n", "un", "i", "d", "d3", "f", "t", "td", "n + 0", "d + 0"} {
		for _, y := range []string{"n", "un", "i", "d", "d3", "f", "t", "td", "CONCAT(t)"} {
			for _, join := range []string{"JOIN q b ON a.", "LEFT JOIN q b ON b.id = a.id AND a.", "JOIN q b ON b.id = a.id WHERE a."} {
				query := "SELECT a.id, b.id AS other FROM q a " + join + x + " = " + map[bool]string{true: "CONCAT(b.t)", false: "b." + y}[y == "CONCAT(t)"] + " ORDER BY a.id, other"
				for _, budget := range []int64{0, 3000} {
					if diff := b.compare(query, budget); diff != "" {
						t.Error(diff)
					}
				}
			}
		}
	}
}

// each compares a query with the server's, and names the items that differ.
func (b *bench) each(query string, items []string) {
	b.Helper()
	want, err := b.ask(query)
	if err != nil {
		b.Error(err)
		return
	}
	_, got, err := b.run(query, 0)
	if err != nil {
		b.Error(err)
		return
	}
	for r, row := range want.texts() {
		cells, wanted := strings.Split(got[r], " | "), strings.Split(row, " | ")
		for i, item := range items {
			if cells[i+1] != wanted[i+1] {
				b.Errorf("row %d: %s: got %s, want %s", r+1, item, cells[i+1], wanted[i+1])
			}
		}
	}
}

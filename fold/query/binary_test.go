package query_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestBinary: functions of binary values count bytes and return binary values, as on MariaDB.
func TestBinary(t *testing.T) {
	t.Parallel()
	b := newBench(t,
		`CREATE TABLE b (id INT PRIMARY KEY, b VARBINARY(20), t VARCHAR(20) COLLATE utf8mb4_nopad_bin, fb BINARY(4), j VARBINARY(20))`,
		`INSERT INTO b VALUES (1, x'ff00c3a4', 'ä€b', 'ab', '{"a": "x"}'), (2, x'c3a4', 'Ab', x'c3a4', NULL), (3, 'AbC x', 'b', '', '{'), (4, '', '', 'abcd', ''), (5, NULL, NULL, NULL, NULL)`)
	b.load("b")
	for _, x := range []string{
		"CONCAT(b,'x')", "CONCAT(t,b)", "CONCAT(id,b)", "CONCAT_WS(',',t,b)", "CONCAT_WS(b,t,t)", "SUBSTRING(b,2,2)", "SUBSTRING(b,-2)", "LEFT(b,2)", "LEFT(t,b)", "RIGHT(b,2)", "RIGHT(b,-1)", "TRIM(b)", "TRIM(b FROM t)",
		"LTRIM(b)", "UPPER(b)", "LOWER(b)", "REVERSE(b)", "CHAR_LENGTH(b)", "REPLACE(t,b,'x')", "REPLACE(t,'b',b)", "REPLACE(b,'b','x')", "REPLACE(t,'ä',b)", "REPEAT(b,2)", "LPAD(t,5,b)", "LPAD(b,6,'ä')",
		"RPAD(b,1,'x')", "LPAD(b,2,'')", "RPAD(t,9,'')", "INSTR(b,'b')", "LOCATE(x'a4',b)", "COALESCE(b,t)", "IF(1,t,b)", "UPPER(CONCAT(t,b))", "b LIKE '__'", "t LIKE x'5f62'", "b LIKE '____'", "b LIKE 'AB%'", "b LIKE 'A%x'", "b LIKE '%C\\ x'",
		"fb LIKE 'ab__'", "LEFT(fb,3)", "b REGEXP '^..$'", "b REGEXP '^....$'", "b REGEXP 'a'", "b NOT REGEXP 'c'", "LEFT(x'c3a4c3a4',1)", "CAST(t AS BINARY)", "UPPER(CAST(t AS BINARY))", "CHAR_LENGTH(CAST(t AS BINARY))",
		"JSON_VALUE(j, '$.a')", "LENGTH(CONCAT(b, t))", "CONCAT(b, 'x') = 'Abc xx'", "CASE b WHEN 'abc X' THEN 1 WHEN 'AbC x' THEN 2 END",
	} {
		if diff := b.compare(fmt.Sprintf("SELECT id, %s AS x FROM b ORDER BY id", x), 0); diff != "" {
			t.Error(diff)
		}
	}
	for _, x := range []string{"GROUP_CONCAT(b)", "GROUP_CONCAT(t, b ORDER BY b DESC SEPARATOR '/')", "GROUP_CONCAT(DISTINCT LEFT(b, 1))", "MAX(b)", "MIN(CONCAT(b, t))", "COUNT(DISTINCT UPPER(b))"} {
		if diff := b.compare(fmt.Sprintf("SELECT %s AS x FROM b WHERE id < 5", x), 0); diff != "" {
			t.Error(diff)
		}
	}
}

// TestGroupConcat: the order of a GROUP_CONCAT is that of MariaDB, and its limit is that of the text.
func TestGroupConcat(t *testing.T) {
	t.Parallel()
	b := newBench(t, append([]string{
		`CREATE TABLE g (id INT PRIMARY KEY, k INT, t VARCHAR(20) COLLATE utf8mb4_nopad_bin, ci VARCHAR(20) COLLATE utf8mb4_general_ci, n BIGINT, d DECIMAL(10,2), f DOUBLE, at DATETIME(3), e INT)`,
		`INSERT INTO g VALUES (1, 1, 'a', 'b', 10, 1.5, 1e3, '2024-01-02 03:04:05.1', NULL), (2, 1, 'b', 'A', -9, -1.5, -2, '1999-01-01', NULL), (3, 1, 'A', 'B', 9, 10, 0.5, '2024-01-01', NULL),
			(4, 1, 'a', 'a', 10, 1.50, 1e3, '2024-01-02 03:04:05.1', NULL), (5, 2, '', 'c', 9223372036854775807, 0, 0, '0000-00-00', NULL), (6, 2, NULL, 'C', NULL, NULL, NULL, NULL, NULL), (7, 2, 'ä', 'ç', -1, 2, 2, '2024-01-01', NULL)`,
	}, "CREATE TABLE big (id INT PRIMARY KEY)", "INSERT INTO big SELECT seq FROM seq_100000_to_119999")...)
	b.load("g", "big")
	for _, x := range []string{"t", "ci", "n", "d", "f", "at", "e", "n % 5", "CONCAT(n)", "UPPER(ci)", "k, t", "t, n", "ci, d", "-n", "n DIV 1"} {
		for _, form := range []string{"GROUP_CONCAT({x})", "GROUP_CONCAT(DISTINCT {x})", "GROUP_CONCAT({x} ORDER BY 1, id)", "GROUP_CONCAT(DISTINCT {x} ORDER BY 1 DESC SEPARATOR '')", "GROUP_CONCAT({x} ORDER BY id DESC SEPARATOR ', ')"} {
			for _, where := range []string{"", " WHERE n < 9223372036854775807"} {
				if strings.HasPrefix(x, "-") && where == "" || strings.Contains(x, ",") && strings.Contains(form, "DISTINCT {x} ORDER") {
					continue
				}
				if diff := b.compare("SELECT k, "+strings.Replace(form, "{x}", x, 1)+" AS x FROM g"+where+" GROUP BY k ORDER BY k", 0); diff != "" {
					t.Error(diff)
				}
			}
		}
	}
	for _, query := range []string{"SELECT GROUP_CONCAT(id) AS x FROM big", "SELECT GROUP_CONCAT(id ORDER BY -id) AS x FROM big", "SELECT GROUP_CONCAT(DISTINCT id) AS x FROM big"} {
		for _, budget := range []int64{0, 100_000} {
			if diff := b.compare(query, budget); diff != "" {
				t.Error(diff[:min(len(diff), 500)])
			}
		}
	}
	const longest = 1 << 20
	_, rows, err := b.run("SELECT GROUP_CONCAT(x SEPARATOR '') AS x FROM (SELECT REPEAT('x', 1024) AS x FROM big LIMIT 1024) y", 0)
	if err != nil || len(rows) != 1 || len(rows[0]) != longest+2 {
		t.Error(len(rows), err)
	}
	if _, _, err = b.run("SELECT GROUP_CONCAT(x SEPARATOR '') AS x FROM (SELECT REPEAT('x', 1024) AS x FROM big LIMIT 1025) y", 0); err == nil {
		t.Error("a GROUP_CONCAT of more than 1 MB is no error")
	}
	for query, want := range map[string]string{
		"SELECT GROUP_CONCAT(id ORDER BY 2) AS x FROM big":        "GROUP_CONCAT has no argument 2",
		"SELECT GROUP_CONCAT(id ORDER BY id LIMIT 2) AS x FROM g": "GROUP_CONCAT has no LIMIT",
	} {
		if _, _, err := b.run(query, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", query, err)
		}
	}
}

package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
)

// Servers that have a type; others do not.
const (
	onMariaDB = "MariaDB"
	onMySQL   = "MySQL"
	vectors   = "MySQL 9, or MariaDB 11.7 or later"
)

// has tells whether the shared server has what only some have.
func (b *bundle) has(t *testing.T, only string) bool {
	t.Helper()
	var major, minor int
	if err := b.admin.QueryRow("SELECT SUBSTRING_INDEX(VERSION(), '.', 1), SUBSTRING_INDEX(SUBSTRING_INDEX(VERSION(), '.', 2), '.', -1)").Scan(&major, &minor); err != nil {
		t.Fatal(err)
	}
	switch mysql := testmain.SharedDatabase(t).MySQL; only {
	case onMariaDB:
		return !mysql
	case onMySQL:
		return mysql
	case vectors:
		return mysql && major >= 9 || !mysql && (major > 11 || major == 11 && minor >= 7)
	}
	return true
}

// TestTypes has for every type its boundaries, and what is written for them.
func TestTypes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lax, err := sql.Open("mysql", testmain.SharedDatabase(t).DSN(b.schema)+"?sql_mode=%27%27")
	if err != nil {
		t.Fatal(err)
	}
	defer lax.Close()
	types := []struct {
		kind   report.Kind
		column string   // type
		values []string // SQL
		want   string   // JSON, without the null at the end
		only   string   // servers that have it; empty: all
	}{
		{report.KindInteger, "TINYINT", []string{"-128", "127"}, `-128,127`, ""},
		{report.KindInteger, "TINYINT UNSIGNED", []string{"0", "255"}, `0,255`, ""},
		{report.KindInteger, "BOOLEAN", []string{"TRUE", "FALSE"}, `1,0`, ""},
		{report.KindInteger, "SMALLINT", []string{"-32768", "32767"}, `-32768,32767`, ""},
		{report.KindInteger, "SMALLINT UNSIGNED", []string{"65535", "1"}, `65535,1`, ""},
		{report.KindInteger, "MEDIUMINT", []string{"-8388608", "8388607"}, `-8388608,8388607`, ""},
		{report.KindInteger, "MEDIUMINT UNSIGNED", []string{"16777215", "1"}, `16777215,1`, ""},
		{report.KindInteger, "INT", []string{"-2147483648", "2147483647"}, `-2147483648,2147483647`, ""},
		{report.KindInteger, "INT(10) UNSIGNED ZEROFILL", []string{"4294967295", "7"}, `4294967295,7`, ""},
		{report.KindInteger, "BIGINT", []string{"-9223372036854775808", "9223372036854775807"}, `-9223372036854775808,9223372036854775807`, ""},
		{report.KindInteger, "BIGINT UNSIGNED", []string{"18446744073709551615", "9007199254740993"}, `18446744073709551615,9007199254740993`, ""},
		{report.KindInteger, "YEAR", []string{"1901", "2155"}, `1901,2155`, ""},
		{report.KindInteger, "BIT(1)", []string{"b'1'", "b'0'"}, `1,0`, ""},
		{report.KindInteger, "BIT(10)", []string{"b'1000000001'", "b'0000110000'"}, `513,48`, ""},
		{report.KindInteger, "BIT(64)", []string{"0xFFFFFFFFFFFFFFFF", "0x3132333435363738"}, `18446744073709551615,3544952156018063160`, ""},
		{report.KindDecimal, "DECIMAL(65,30)", []string{"-99999999999999999999999999999999999.999999999999999999999999999999", "0"}, `"-99999999999999999999999999999999999.999999999999999999999999999999","0.000000000000000000000000000000"`, ""},
		{report.KindDecimal, "DECIMAL(5,0)", []string{"-1", "99999"}, `"-1","99999"`, ""},
		{report.KindFloat, "FLOAT", []string{"0.1", "-3.4028234e38"}, `0.1,-3.4028235e38`, ""},
		{report.KindFloat, "DOUBLE", []string{"0.1", "-1.7976931348623157e308"}, `0.1,-1.7976931348623157e308`, ""},
		{report.KindDate, "DATE", []string{"'9999-12-31'", "'0000-00-00'"}, `"9999-12-31","0000-00-00"`, ""},
		{report.KindDatetime, "DATETIME", []string{"'1000-01-01 00:00:00'", "'0000-00-00 00:00:00'"}, `"1000-01-01 00:00:00","0000-00-00 00:00:00"`, ""},
		{report.KindDatetime, "DATETIME(6)", []string{"'9999-12-31 23:59:59.999999'", "'2024-01-02 03:04:05'"}, `"9999-12-31 23:59:59.999999","2024-01-02 03:04:05.000000"`, ""},
		{report.KindDatetime, "DATETIME(3)", []string{"'2024-01-02 00:00:00.120'", "'2024-01-02'"}, `"2024-01-02 00:00:00.120","2024-01-02 00:00:00.000"`, ""},
		{report.KindDatetime, "TIMESTAMP(1) NULL", []string{"'2024-02-29 12:00:00.5'", "'2001-01-01 00:00:00'"}, `"2024-02-29 12:00:00.5","2001-01-01 00:00:00.0"`, ""},
		{report.KindTime, "TIME", []string{"'-838:59:59'", "'00:00:00'"}, `"-838:59:59","00:00:00"`, ""},
		{report.KindTime, "TIME(6)", []string{"'838:59:58.999999'", "'-00:00:00.000001'"}, `"838:59:58.999999","-00:00:00.000001"`, ""},
		{report.KindTime, "TIME(2)", []string{"'01:02:03'", "'-100:02:03.45'"}, `"01:02:03.00","-100:02:03.45"`, ""},
		{report.KindText, "CHAR(5)", []string{"'ab '", "''"}, `"ab",""`, ""},
		{report.KindText, "VARCHAR(50)", []string{"'ab '", "'\"\\\\\\n\\t\\0'"}, `"ab ","\"\\\n\t\u0000"`, ""},
		{report.KindText, "VARCHAR(50) CHARACTER SET latin1", []string{"'é'", "'ÿ'"}, `"é","ÿ"`, ""},
		{report.KindText, "TINYTEXT", []string{"'Ελληνικά'", "'Кириллица'"}, `"Ελληνικά","Кириллица"`, ""},
		{report.KindText, "TEXT", []string{"'漢字かな한글'", "'עברית العربية'"}, `"漢字かな한글","עברית العربية"`, ""},
		{report.KindText, "MEDIUMTEXT", []string{"'ไทย हिन्दी'", "'😀🏳️‍🌈'"}, `"ไทย हिन्दी","😀🏳️‍🌈"`, ""},
		{report.KindText, "LONGTEXT", []string{"'a'", "'b'"}, `"a","b"`, ""},
		{kind: report.KindText, column: "JSON", values: []string{`'{"b":1.50,"a":[1,"é"]}'`, `'null'`}, want: `"{\"b\":1.50,\"a\":[1,\"é\"]}","null"`, only: onMariaDB},
		{kind: report.KindJSON, column: "JSON", values: []string{`'{"b":1.50,"a":[1,"é"]}'`, `'null'`}, want: `"{\"a\": [1, \"é\"], \"b\": 1.5}","null"`, only: onMySQL},
		{report.KindText, "ENUM('x','y é')", []string{"'x'", "'y é'"}, `"x","y é"`, ""},
		{report.KindText, "SET('a','b','c')", []string{"'c,a'", "''"}, `"a,c",""`, ""},
		{report.KindText, "VARCHAR(9) COLLATE utf8mb4_bin", []string{"'A'", "'a'"}, `"A","a"`, ""},
		{report.KindBinary, "BINARY(3)", []string{"0x00FF", "'abc'"}, `"AP8A","YWJj"`, ""},
		{report.KindBinary, "VARBINARY(9)", []string{"0xFFFEFD", "''"}, `"//79",""`, ""},
		{report.KindBinary, "TINYBLOB", []string{"0x01", "'x'"}, `"AQ==","eA=="`, ""},
		{report.KindBinary, "BLOB", []string{"0xC328", "'x'"}, `"wyg=","eA=="`, ""},
		{report.KindBinary, "MEDIUMBLOB", []string{"0x0102", "'x'"}, `"AQI=","eA=="`, ""},
		{report.KindBinary, "LONGBLOB", []string{"0x010203", "'x'"}, `"AQID","eA=="`, ""},
		{report.KindBinary, "POINT", []string{"ST_GeomFromText('POINT(0 0)')", "ST_GeomFromText('POINT(0 0)')"}, `"AAAAAAEBAAAAAAAAAAAAAAAAAAAAAAAAAA==","AAAAAAEBAAAAAAAAAAAAAAAAAAAAAAAAAA=="`, ""},
		{kind: report.KindBinary, column: "VECTOR(2)", values: []string{"0x0000803F0000803F", "0x0000000000000040"}, want: `"AACAPwAAgD8=","AAAAAAAAAEA="`, only: vectors},
		{report.KindText, "UUID", []string{"'123e4567-e89b-12d3-a456-426614174000'", "'00000000-0000-0000-0000-000000000000'"}, `"123e4567-e89b-12d3-a456-426614174000","00000000-0000-0000-0000-000000000000"`, onMariaDB},
		{report.KindText, "INET6", []string{"'::1'", "'2001:db8::1'"}, `"::1","2001:db8::1"`, onMariaDB},
	}
	for i, test := range types {
		if !b.has(t, test.only) {
			continue
		}
		b.exec(t, "DROP TABLE IF EXISTS t", "CREATE TABLE t (i INT PRIMARY KEY, v "+test.column+")")
		if _, err := lax.Exec("INSERT INTO t VALUES (1, " + test.values[0] + "), (2, " + test.values[1] + "), (3, NULL)"); err != nil {
			t.Fatalf("%s: %v", test.column, err)
		}
		d := b.mustRead(t, task(t, "SELECT v FROM t ORDER BY i", "v"))
		if d.Columns[0].Kind != test.kind {
			t.Errorf("%d %s: kind %s, want %s", i, test.column, d.Columns[0].Kind, test.kind)
		}
		if got, want := d.JSON("v"), "["+test.want+",null]"; got != want {
			t.Errorf("%s:\n got %s\nwant %s", test.column, got, want)
		}
	}
	d := b.mustRead(t, task(t, "SELECT NULL AS n, COUNT(*) AS c, SUM(1) AS s, AVG(2) AS a, MAX(TIMESTAMP'2024-01-01 00:00:00.25') AS m, CONCAT(1, 'x') AS t, 1 = 1 AS b, 1e0 AS f FROM t", "n c s a m t b f"))
	var kinds []string
	for _, c := range d.Columns {
		kinds = append(kinds, string(c.Kind)+" "+d.JSON(c.Name))
	}
	if got, want := strings.Join(kinds, "; "), `text [null]; integer [3]; decimal ["3"]; decimal ["2.0000"]; datetime ["2024-01-01 00:00:00.25"]; text ["1x"]; integer [1]; float [1]`; got != want {
		t.Errorf("expressions:\n got %s\nwant %s", got, want)
	}
}

// TestZerofill: how many characters a number is shown with is known of a column, and of
// what passes one on, and values are numbers nevertheless.
func TestZerofill(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "CREATE TABLE t (i INT ZEROFILL, w INT(8) ZEROFILL, b BIGINT ZEROFILL NOT NULL, y YEAR, f FLOAT(9,2) ZEROFILL, d DECIMAL(5,1) ZEROFILL, p INT(8), s DOUBLE)",
		"INSERT INTO t VALUES (1, 2, 3, 0, 4.5, 5.5, 6, 7.5)")
	d := b.mustRead(t, task(t, "SELECT i, w, b, y, f, d, p, s, w + 0 AS sum, (SELECT w FROM t) AS sub FROM t", "i w b y f d p s sum sub"))
	var got []string
	for _, c := range d.Columns {
		got = append(got, fmt.Sprintf("%s %s %d %s", c.Name, c.Kind, c.Zerofill, d.JSON(c.Name)))
	}
	want := []string{`i integer 10 [1]`, `w integer 8 [2]`, `b integer 20 [3]`, `y integer 4 [0]`, `f float 9 [4.50]`, `d decimal 0 ["0005.5"]`, `p integer 0 [6]`, `s float 0 [7.5]`, `sum integer 0 [2]`, `sub integer 0 [2]`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKindsThatThisServerHasNot(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]report.Kind{"JSON": report.KindJSON, "VECTOR": report.KindBinary, "NULL": report.KindText, "": report.KindText} {
		if got := kindOf(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

// TestCollations: the columns of texts have the collations of the database; those of a query that is no derived table
// have none.
func TestCollations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "CREATE TABLE t (id INT, g VARCHAR(9) COLLATE utf8mb4_general_ci, l CHAR(9) CHARACTER SET latin1, b VARBINARY(9), j JSON)",
		"INSERT INTO t VALUES (1, 'a', 'a', 'a', '{}')")
	for query, want := range map[string]string{
		"SELECT id, g, l, b FROM t;": " utf8mb4_general_ci latin1_swedish_ci ",
		"SELECT id, g COLLATE utf8mb4_unicode_ci AS g, CONCAT(l, 'x') AS l, b FROM t WHERE id < :n GROUP BY 1, 2, 3, 4 -- end": " utf8mb4_unicode_ci latin1_swedish_ci ",
		"SELECT HIGH_PRIORITY id, g, l, b FROM t":                                 " utf8mb4_general_ci latin1_swedish_ci ",
		"select distinct\nSQL_NO_CACHE SQL_CALC_FOUND_ROWS id, g, l, b from t":    " utf8mb4_general_ci latin1_swedish_ci ",
		"SELECT id, g, l, b FROM t UNION SELECT id, g, l, b FROM t WHERE id > :n": " utf8mb4_general_ci latin1_swedish_ci ",
		"/* an option */ SELECT # one\n HIGH_PRIORITY id, g, l, b FROM t":         " utf8mb4_general_ci latin1_swedish_ci ",
		"(SELECT SQL_NO_CACHE/**/id, g, l, b FROM t) LIMIT 3":                     " utf8mb4_general_ci latin1_swedish_ci ",
		"SELECT id, g, l, b FROM t WHERE ST_AsText(ST_GeomFromText(:s)) IS NULL":  "   ",
		"SELECT id, g, l, b FROM t WHERE g < :s COLLATE utf8mb4_bin":              " utf8mb4_general_ci latin1_swedish_ci ",
	} {
		read := task(t, query, "id g l b")
		read.Parameters = map[string]any{"n": int64(5), "s": "POINT(1 1)"}
		var got []string
		for _, c := range b.mustRead(t, read).Columns {
			got = append(got, c.Collation)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// TestCollationsFail: if the question for the collations fails, then so does the try: without collations, the file
// would have other bytes than that of the next try.
func TestCollationsFail(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for number, of := range map[uint16]struct {
		state string
		want  bool
	}{
		1060: {"42S21", true}, 1064: {"42000", true}, 1234: {"42000", true}, 1253: {"42000", true}, 1267: {"HY000", true},
		4079: {"HY000", true}, 1292: {"22007", true}, 1242: {"21000", true}, 1525: {"HY000", true},
		3064: {"HY000", true}, 1644: {"45000", true}, 1146: {"42S02", false}, 1054: {"42S22", false},
		1305: {"42000", false},
		1205: {"HY000", false}, 1213: {"40001", false}, 1317: {"70100", false}, 1969: {"70100", false},
		3024: {"HY000", false}, 1040: {"08004", false}, 1038: {"HY001", false}, 1021: {"HY000", false},
		1142: {"42000", false}, 1203: {"42000", false}, 1226: {"42000", false}, 1105: {"HY000", false},
		5999: {"HY000", false}, // one that is not known
	} {
		err := &mysql.MySQLError{Number: number, SQLState: [5]byte([]byte(of.state))}
		if got := isUnderivable(fmt.Errorf("query: %w", err)); got != of.want {
			t.Errorf("error %d: %v", number, got)
		}
	}
	b.exec(t, "CREATE TABLE t (id INT, g VARCHAR(9) COLLATE utf8mb4_general_ci)", "INSERT INTO t VALUES (1, 'a')")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	columns := []dataset.Column{{Name: "g", Kind: report.KindText}}
	if err := b.source.collate(ctx, task(t, "SELECT id, g FROM t", "id g").Listener, columns); err == nil {
		t.Error("a question without an answer is no error")
	}
}

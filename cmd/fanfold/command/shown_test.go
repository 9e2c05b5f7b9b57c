package command

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// TestFilesShowWhatMariaDBShows compares files with the text that MariaDB's CAST gives, for values
// that the server displays differently from what it sends: ZEROFILL numbers, decimals with a fixed
// number of digits, floats of any size, and times on a server whose time zone is not UTC.
func TestFilesShowWhatMariaDBShows(t *testing.T) {
	t.Parallel()
	m, db := serverIn(t, "+02:00")
	s := newStack(t, `
  zeros:
    listeners:
      zeros: {database: odd, query: "SELECT z AS k, t, s, m, b, bare, y, y2, f, d, dec_z, n FROM zeros ORDER BY z"}
      ints: {database: odd, query: "SELECT k, v FROM ints ORDER BY k"}
    join: {key: k}
  zeros_full:
    listeners:
      zeros: {database: odd, query: "SELECT z AS k FROM zeros ORDER BY z DESC"}
      ints: {database: odd, query: "SELECT k, v FROM ints ORDER BY v"}
    join: {key: k, listeners: [zeros, {name: ints, type: full}]}
    file: {delimiter: ";", null: "NULL"}
  later:
    listeners:
      zeros: {database: odd, query: "SELECT z, y FROM zeros ORDER BY z"}
      ints: {database: odd, query: "SELECT k, v FROM ints WHERE k IN (:zeros.z) ORDER BY k"}
    join: {key: z, listeners: [zeros, {name: ints, key: k}]}
  fixed:
    listeners: {fixed: {database: odd, query: "SELECT id, f, d, wide, whole, ROUND(free, 2) AS r, SUM(f) AS total, 1.5e0 AS one FROM fixed GROUP BY id ORDER BY id"}}
  floats:
    listeners: {floats: {database: odd, query: "SELECT id, d, f FROM floats ORDER BY id"}}
  times:
    listeners: {times: {database: odd, query: "SELECT id, ts, dt, MAX(ts) AS last FROM times GROUP BY id ORDER BY id"}}
`, fmt.Sprintf("databases: {db: {dsn: \"{dsn}\"}, odd: {dsn: %q}}", m.DSN("x")))
	s.Records.DB = db
	short := "YEAR(2)"
	sum, shown := "SUM(f)", func(file string) string { return file }
	if m.MySQL { // it has only years of four digits, and a CAST of a float has other digits than it shows
		short, sum, shown = "YEAR", "ROUND(SUM(f), 3)", byValue
	}
	s.Records.Exec(`CREATE TABLE zeros (z INT(8) ZEROFILL, t TINYINT ZEROFILL, s SMALLINT(2) ZEROFILL, m MEDIUMINT(8) ZEROFILL, b BIGINT ZEROFILL, bare INT UNSIGNED, y YEAR, y2 ` + short + `,
		f FLOAT(9,2) ZEROFILL, d DOUBLE ZEROFILL, dec_z DECIMAL(8,2) ZEROFILL, n INT(4) ZEROFILL)`)
	s.Records.Exec(`INSERT INTO zeros VALUES (0, 0, 0, 0, 0, 0, 0, 2000, 0, 0, 0, 0), (42, 7, 7, 7, 7, 7, 2024, 2069, 1.5, 1e20, 1.5, NULL),
		(123456789, 255, 65535, 16777215, 18446744073709551615, 4294967295, 1901, 1999, 1e5, 1e-7, 999999.99, 12345)`)
	s.Records.Exec("CREATE TABLE ints (k BIGINT, v INT)")
	s.Records.Exec("INSERT INTO ints VALUES (42, 1), (42, 2), (0, 3), (7, 4), (123456789, 5)")
	random := rand.New(rand.NewPCG(1, 2))
	s.Records.Exec("CREATE TABLE fixed (id INT PRIMARY KEY, f FLOAT(7,3), d DOUBLE(12,3), wide DOUBLE(40,2), whole FLOAT(9,0), free DOUBLE)")
	s.Records.Exec("INSERT INTO fixed VALUES (1, 1234.5, 1234.5, 1e25, 16777216, 2.5), (2, 0, -0.0004, -0.005, 0, 1e14), (3, 9999.999, 999999999.999, 123456789012345678, 1, 0.125), (4, NULL, NULL, NULL, NULL, NULL), (5, -0.0625, 0.0625, 0.125, 2.5, -1)")
	var more []string
	for id := range 500 {
		more = append(more, fmt.Sprintf("(%d, %d.%de0, %de-6, %de%d, %de0, %de-3)", id+10, random.IntN(9999), random.IntN(1e6), random.Int64N(1e14), random.Int64N(1e17)-5e16, random.IntN(20), random.IntN(999_999_999), random.IntN(1e8)))
	}
	s.Records.Exec("INSERT INTO fixed VALUES " + strings.Join(more, ", "))
	s.Records.Exec("CREATE TABLE floats (id INT AUTO_INCREMENT PRIMARY KEY, d DOUBLE, f FLOAT)")
	values := []string{"(0, 0)", "(1e15, 1e15)", "(1e14, 1e14)", "(999999999999999.9, 123456)", "(1234567890123456.7, 1e16)", "(1e-15, 1e-15)", "(9e-16, 9e-16)", "(1e-7, 1e-7)",
		"(1.7976931348623157e308, 1e38)", "(-5e-324, 1e-37)", "(16777217, 16777200)", "(-0e0, -0.5)", "(NULL, NULL)"}
	for range 2000 { // the server shows six digits of a float
		values = append(values, fmt.Sprintf("(%de%d, %de%d)", random.Int64N(int64(math.Pow10(1+random.IntN(17)))), random.IntN(60)-40, random.IntN(1e6)-500_000, random.IntN(50)-30))
	}
	s.Records.Exec("INSERT INTO floats (d, f) VALUES " + strings.Join(values, ", "))
	s.Records.Exec("CREATE TABLE times (id INT PRIMARY KEY, ts TIMESTAMP(2) NULL, dt DATETIME(1))")
	s.Records.Exec("INSERT IGNORE INTO times VALUES (1, '2024-07-01 14:00:00.25', '2024-07-01 14:00:00.5'), (2, '2024-01-01 00:30:00', '0000-00-00 00:00:00'), (3, NULL, NULL)")
	s.Serve(s.File)
	for report, want := range map[string]string{
		"zeros": s.Records.Expect("k,t,s,m,b,bare,y,y2,f,d,dec_z,n,v", `SELECT CAST(z AS CHAR), CAST(t AS CHAR), CAST(s AS CHAR), CAST(m AS CHAR), CAST(b AS CHAR), bare, CAST(y AS CHAR), CAST(y2 AS CHAR),
			CAST(f AS CHAR), CAST(d AS CHAR), dec_z, CAST(n AS CHAR), v FROM zeros JOIN ints ON ints.k = zeros.z ORDER BY z, v`),
		// The key of a FULL join is a COALESCE, which has no zerofill.
		"zeros_full": "k;v\r\n123456789;5\r\n42;1\r\n42;2\r\n0;3\r\n7;4\r\n",
		"later":      s.Records.Expect("z,y,v", "SELECT CAST(z AS CHAR), CAST(y AS CHAR), v FROM zeros JOIN ints ON ints.k = zeros.z ORDER BY z, v"),
		"fixed": s.Records.Expect("id,f,d,wide,whole,r,total,one", `SELECT id, CAST(f AS CHAR), CAST(d AS CHAR), CAST(wide AS CHAR), CAST(whole AS CHAR), CAST(ROUND(free, 2) AS CHAR), CAST(`+sum+` AS CHAR), CAST(1.5e0 AS CHAR)
			FROM fixed GROUP BY id ORDER BY id`),
		"floats": s.Records.Expect("id,d,f", "SELECT id, CAST(d AS CHAR), CAST(f AS CHAR) FROM floats ORDER BY id"),
		"times":  s.Records.Expect("id,ts,dt,last", "SELECT id, CONVERT_TZ(ts, '+02:00', '+00:00'), dt, CONVERT_TZ(MAX(ts), '+02:00', '+00:00') FROM times GROUP BY id ORDER BY id"),
	} {
		if got := s.Jobs.Succeed(report, ""); shown(got) != shown(want) {
			t.Errorf("%s: -MariaDB +Fanfold:\n%s", report, e2e.FirstDifference(want, got))
		}
	}
	// The server does not show the other digits of a FLOAT.
	s.Records.Exec("DELETE FROM floats")
	s.Records.Exec("INSERT INTO floats VALUES (1, 1e15, 1e15), (2, 16777217, 16777217), (3, 3.4028234e38, 3.4028234e38)")
	if got, want := s.Jobs.Succeed("floats", ""), "id,d,f\r\n1,1e15,1e15\r\n2,16777217,16777216\r\n3,3.4028234e38,3.4028235e38\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if f, err := strconv.ParseFloat("16777216", 32); err != nil || float32(f) != 16777217 {
		t.Errorf("%v %v: the test is not what it says", f, err)
	}
}

// byValue writes every number of a file in one form.
func byValue(file string) string {
	return regexp.MustCompile(`[^,;\r\n]+`).ReplaceAllStringFunc(file, func(cell string) string {
		f, err := strconv.ParseFloat(cell, 64)
		if err != nil {
			return cell
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	})
}

package fold_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// TestNumbersAsKeys: numbers of several types, and texts, are the keys that MariaDB calls equal, and appear in the file
// as its COALESCE shows them.
func TestNumbersAsKeys(t *testing.T) {
	t.Parallel()
	const a = `a: {database: db, query: "SELECT k, a FROM a ORDER BY a"}`
	s := e2e.New(t, `
  full:
    listeners: {`+a+`, b: {database: db, query: "SELECT k, b FROM b ORDER BY b"}}
    join: {key: k, listeners: [a, {name: b, type: full}]}
  cast:
    listeners: {a: {database: db, query: "SELECT CAST(k AS DECIMAL(3,1)) AS k, a FROM a ORDER BY a"}, b: {database: db, query: "SELECT k, b FROM b ORDER BY b"}}
    join: {key: k, listeners: [a, {name: b, type: full}]}
  text:
    listeners: {b: {database: db, query: "SELECT k, b FROM b ORDER BY b"}, c: {database: db, query: "SELECT k, c FROM c ORDER BY c"}}
    join: {key: k}
`)
	s.Records.Exec("CREATE TABLE a (k INT, a INT)")
	s.Records.Exec("INSERT INTO a VALUES (1, 1), (2, 2)")
	s.Records.Exec("CREATE TABLE b (k DECIMAL(3,1), b INT)")
	s.Records.Exec("INSERT INTO b VALUES (1, 1), (3, 3), (0, 4)")
	s.Records.Exec("CREATE TABLE c (k VARCHAR(9), c INT)")
	s.Records.Exec("INSERT INTO c VALUES ('1', 1), ('1.00', 2), ('1 ', 3), (' 1', 4), ('1abc', 5), ('abc', 6)")
	s.Serve(s.File)
	const full = `SELECT COALESCE(a.k, b.k), a, b FROM a LEFT JOIN b ON b.k = a.k UNION ALL
		SELECT b.k, NULL, b FROM b LEFT JOIN a ON a.k = b.k WHERE a.k IS NULL`
	for name, query := range map[string]string{
		"full": full, "cast": full, "text": "SELECT b.k, b, c FROM b JOIN c ON c.k = b.k ORDER BY b, c",
	} {
		header := map[bool]string{true: "k,b,c", false: "k,a,b"}[name == "text"]
		if diff := cmp.Diff(s.Records.Expect(header, query), s.Jobs.Succeed(name, "")); diff != "" {
			t.Errorf("%s (-MariaDB +Fanfold):\n%s", name, diff)
		}
	}
}

// TestKeyValuesAreMariaDBs: two listeners have one key value each, and join if MariaDB calls these equal.
func TestKeyValuesAreMariaDBs(t *testing.T) {
	t.Parallel()
	pairs := [][2]string{
		{"1", "1.00"}, {"1", "1e0"}, {"0.1", "0.1e0"}, {"CAST(0.1 AS FLOAT)", "0.1e0"}, {"CAST(0.1 AS FLOAT)", "0.1"},
		{"CAST(0.5 AS FLOAT)", "0.5"}, {"9007199254740993", "9007199254740992e0"}, {"1", "'1.00'"}, {"1", "'1abc'"},
		{"1", "' 1'"}, {"0", "'abc'"}, {"0", "''"}, {"0", "'-'"}, {"100", "'1e2'"}, {"1", "'1e'"}, {"18446744073709551615", "-1"},
		{"18446744073709551615", "'18446744073709551615'"}, {"0.05", "5e-2"}, {"1e300", "'1e300'"},
		{"DATE '2024-02-29'", "TIMESTAMP '2024-02-29 00:00:00'"}, {"DATE '2024-02-29'", "'2024-02-29'"},
		{"DATE '2024-02-29'", "'x'"}, {"TIMESTAMP '2024-02-29 10:00:00.5'", "TIMESTAMP '2024-02-29 10:00:00.500'"},
		{"TIMESTAMP '2024-02-29 10:00:00.5'", "'2024-02-29 10:00:00.500'"}, {"TIME '10:00:00'", "TIME '10:00:00.00'"},
		{"20240229", "DATE '2024-02-29'"}, {"x'61'", "'a'"}, {"x'61'", "'A'"}, {"NULL", "NULL"}, {"NULL", "1"},
	}
	var reports strings.Builder
	for i, pair := range pairs {
		fmt.Fprintf(&reports, `
  pair%d:
    listeners: {l: {database: db, query: "SELECT %s AS k, 1 AS l"}, r: {database: db, query: "SELECT %s AS k, 2 AS r"}}
    join: {key: k}
    file: {columns: [l, r]}
`, i, pair[0], pair[1])
	}
	s := e2e.New(t, reports.String())
	s.Serve(s.File)
	for i, pair := range pairs {
		got := s.Jobs.Succeed(fmt.Sprintf("pair%d", i), "")
		if want := s.Records.Expect("l,r", "SELECT 1, 2 WHERE "+pair[0]+" = "+pair[1]); got != want {
			t.Errorf("%s = %s: %q, and MariaDB finds %q", pair[0], pair[1], got, want)
		}
	}
}

// TestKeysByCollation: texts are the keys that the server calls equal by the collation of their columns.
func TestKeysByCollation(t *testing.T) {
	t.Parallel()
	pairs := [][2]string{
		{"anna", "Anna"}, {"É", "é"}, {"café", "cafe"}, {"anna", "anna "}, {"straße", "strasse"}, {"ß", "ẞ"}, {"ς", "Σ"},
		{"İ", "i"}, {"ﬁ", "fi"}, {"æ", "ae"}, {"a", "b"}, {"", " "}, {"1", "01"}, {"2024-01-01", "2024-01-01 00:00:00"},
		{"a", "a\t"}, {"é\n", "é\n"},
	}
	collations := []string{"utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_nopad_bin", "utf8mb4_general_nopad_ci"}
	if testmain.SharedDatabase(t).MySQL {
		collations = []string{"utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_0900_bin", "utf8mb4_0900_ai_ci"}
	}
	var reports strings.Builder
	for _, c := range collations {
		fmt.Fprintf(&reports, `
  %[1]s:
    listeners:
      a: {database: db, query: "SELECT id, a COLLATE %[1]s AS word FROM pairs ORDER BY id"}
      b: {database: db, query: "SELECT id, b COLLATE %[1]s AS word, CONCAT(a, ':', b) AS pair FROM pairs"}
    join: {key: [id, word]}
    file: {columns: [pair]}
  full_%[1]s:
    listeners:
      a: {database: db, query: "SELECT a COLLATE %[1]s AS word FROM pairs ORDER BY id"}
      b: {database: db, query: "SELECT b COLLATE %[1]s AS word, id FROM pairs ORDER BY id"}
    join: {key: word, listeners: [a, {name: b, type: full}]}
`, c)
	}
	s := e2e.New(t, reports.String())
	s.Records.Exec("CREATE TABLE pairs (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(20), b VARCHAR(20)) CHARACTER SET utf8mb4")
	for _, pair := range pairs {
		s.Records.Exec("INSERT INTO pairs (a, b) VALUES (?, ?)", pair[0], pair[1])
	}
	s.Serve(s.File)
	for _, c := range collations {
		want := s.Records.Expect("pair", "SELECT CONCAT(a, ':', b) FROM pairs WHERE a = b COLLATE "+c+" ORDER BY id")
		if diff := cmp.Diff(want, s.Jobs.Succeed(c, "")); diff != "" {
			t.Errorf("%s (-server +Fanfold):\n%s", c, diff)
		}
		want = s.Records.Expect("word,id", fmt.Sprintf(`SELECT word, id FROM (
			SELECT a.a AS word, b.id, 0 AS part, a.id AS x, b.id AS y FROM pairs a LEFT JOIN pairs b ON b.b = a.a COLLATE %[1]s
			UNION ALL SELECT b, id, 1, id, 0 FROM pairs b WHERE NOT EXISTS (SELECT 1 FROM pairs a WHERE a.a = b.b COLLATE %[1]s)
			) x ORDER BY part, x, y`, c))
		if diff := cmp.Diff(want, s.Jobs.Succeed("full_"+c, "")); diff != "" {
			t.Errorf("full, %s (-server +Fanfold):\n%s", c, diff)
		}
	}
}

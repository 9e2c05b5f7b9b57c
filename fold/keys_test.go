package fold_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// TestNumbersAsKeys: numbers of several types and texts are equal keys, and appear in the file, as
// docs/reference/configuration.md says.
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
	for name, want := range map[string]string{
		"full": "k,a,b\r\n1,1,1\r\n2,2,\r\n3.0,,3\r\n0.0,,4\r\n",
		"cast": "k,a,b\r\n1.0,1,1\r\n2.0,2,\r\n3.0,,3\r\n0.0,,4\r\n",
		"text": "k,b,c\r\n1.0,1,1\r\n1.0,1,2\r\n",
	} {
		if diff := cmp.Diff(want, s.Jobs.Succeed(name, "")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	// SQL, as the page says.
	if got := s.Records.Expect("k", "SELECT COALESCE(a.k, b.k) FROM a LEFT JOIN b ON b.k = a.k UNION ALL SELECT b.k FROM b WHERE b.k > 2"); got != "k\r\n1.0\r\n2.0\r\n3.0\r\n" {
		t.Errorf("SQL's keys: %q", got)
	}
	if got := s.Records.Expect("c", "SELECT c FROM c WHERE k = 1 ORDER BY c") + s.Records.Expect("c", "SELECT c FROM c WHERE k = 0"); got != "c\r\n1\r\n2\r\n3\r\n4\r\n5\r\nc\r\n6\r\n" {
		t.Errorf("SQL's equal texts: %q", got)
	}
}

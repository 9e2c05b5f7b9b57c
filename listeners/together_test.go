package listeners_test

import (
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// TestSlotsOfTasksThatBeginTogether: every task takes its own slot, even if the stream entries of
// two listeners have the same id.
func TestSlotsOfTasksThatBeginTogether(t *testing.T) {
	t.Parallel()
	const query = "SELECT 1 AS k, GET_LOCK('{schema}', 0) AS alone, SLEEP(0.2) AS slept, RELEASE_LOCK('{schema}') AS released"
	s := e2e.New(t, `
  two:
    listeners:
      t.a: {database: db, query: "`+query+`"}
      t.b: {database: db, query: "`+query+`"}
    join: {key: k}
    file: {columns: [{column: t.a.alone, label: a}, {column: t.b.alone, label: b}]}
`, "databases: {db: {dsn: \"{dsn}\", parallel: 1}}")
	s.Serve(s.File)
	for range 3 {
		if got := s.Jobs.Succeed("two", ""); got != "a,b\r\n1,1\r\n" {
			t.Errorf("%q", got)
		}
	}
}

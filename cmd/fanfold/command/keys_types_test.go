package command

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// TestKeyValuesInTheDocs checks the table of docs/reference/configuration.md that says which key
// values are equal, in Fanfold, in MariaDB and in MySQL.
func TestKeyValuesInTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| one listener | other listener | Fanfold | MariaDB | MySQL |\n|---|---|---|---|---|\n")
	rows := regexp.MustCompile("(?m)^\\| `(.+)` \\| `(.+)` \\| (equal|–) \\| (equal|–) \\| (equal|–) \\|\n").FindAllStringSubmatch(table, -1)
	if len(rows) < 15 {
		t.Fatalf("%d rows", len(rows))
	}
	var reports strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&reports, `
  pair%d:
    listeners:
      l: {database: db, query: "SELECT %s AS k, 1 AS l"}
      r: {database: db, query: "SELECT %s AS k, 2 AS r"}
    join: {key: k}
    file: {columns: [l, r]}
`, i, row[1], row[2])
	}
	s := newStack(t, reports.String())
	s.Serve(s.File)
	said := map[bool]string{true: "equal", false: "–"}
	server, cell := "MariaDB", 4
	if testmain.SharedDatabase(t).MySQL {
		server, cell = "MySQL", 5
	}
	for i, row := range rows {
		if got := said[s.Jobs.Succeed(fmt.Sprintf("pair%d", i), "") == "l,r\r\n1,2\r\n"]; got != row[3] {
			t.Errorf("Fanfold: %s and %s: %s, and the page says %s", row[1], row[2], got, row[3])
		}
		var equal sql.NullBool
		if err := s.DB.QueryRowContext(t.Context(), "SELECT "+row[1]+" = "+row[2]).Scan(&equal); err != nil {
			t.Fatal(err)
		}
		if got := said[equal.Bool]; got != row[cell] {
			t.Errorf("%s: %s and %s: %s, and the page says %s", server, row[1], row[2], got, row[cell])
		}
	}
}

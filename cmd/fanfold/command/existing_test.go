package command

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
)

// TestExistingTable follows docs/guides/existing-table.md with a table of a service: its
// statements, its mapping, an account with the documented grants, and rows that exist before.
func TestExistingTable(t *testing.T) {
	t.Parallel()
	const page = "docs/guides/existing-table.md"
	s := newStackAlone(t, nil, "  r: {listeners: {a: {database: db, query: SELECT 1 AS user_id}}}\n")
	s.Records.Exec(`CREATE TABLE exports (id CHAR(36) PRIMARY KEY, kind VARCHAR(64), parameters JSON, state TINYINT, url VARCHAR(100), tenant INT, changed_at DATETIME(3)) CHARACTER SET utf8mb4`)
	s.Records.Exec(`INSERT INTO exports (id, kind, state, tenant, changed_at) VALUES ('5b0c-1', 'r', 0, 7, '2001-01-01'), ('5b0c-2', 'other', 0, 7, '2001-01-01'),
		('5b0c-3', 'r', 2, 7, '2001-01-01'), ('5b0c-4', 'r', 9, 7, '2001-01-01'), ('5b0c-5', 'r', 0, 8, '2001-01-01')`)

	user := testmain.Name(t)
	user = "app" + user[max(0, len(user)-30):]
	s.Records.Exec("CREATE USER '" + user + "'@'%' IDENTIFIED BY 'pw'")
	ours := strings.NewReplacer("plt_user", "`"+s.Schema+"`", "TO app;", "TO '"+user+"'@'%'", ";", "")
	statements := fenced(t, page, "sql")
	grants := fenced(t, "docs/reference/configuration.md", "sql")
	for _, statement := range append(statements, regexp.MustCompile(`(?m)^GRANT .* ON plt_user\.fanfold_.* TO app;$`).FindAllString(grants[len(grants)-1], -1)...) {
		s.Records.Exec(ours.Replace(statement))
	}

	whole, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	records := strings.Replace(fenced(t, page, "yaml")[0], "database: user", "database: db", 1)
	text := strings.Replace(string(whole), "records: {database: db}\n", records, 1)
	admin := filepath.Join(s.Dir, "admin.yaml")
	s.File = filepath.Join(s.Dir, "app.yaml")
	dsn := testmain.SharedDatabase(t).DSN(s.Schema)
	_, after, _ := strings.Cut(dsn, "@")
	for file, text := range map[string]string{admin: text, s.File: strings.Replace(text, dsn, user+":pw@"+after, 1)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var name, before, now string
	if err := s.DB.QueryRow("SHOW CREATE TABLE exports").Scan(&name, &before); err != nil {
		t.Fatal(err)
	}
	if out, code := s.fanfold("-c", admin, "migrate"); code != exitOK {
		t.Fatalf("migrate: %d %s", code, out)
	}
	if err := s.DB.QueryRow("SHOW CREATE TABLE exports").Scan(&name, &now); err != nil || now != before {
		t.Errorf("%v: migrate has made %s\nof %s", err, now, before)
	}
	if out, code := s.fanfold("doctor"); code != exitOK || !strings.Contains(out, "1 PENDING and 0 PROCESSING records, such as 5b0c-1,") {
		t.Errorf("doctor: %d %s", code, out)
	}

	s.Records.Exec("INSERT INTO exports (id, kind, state, tenant, changed_at) VALUES ('5b0c-6', 'r', 0, 7, NOW(3))")
	s.Use(s.File)
	s.Serve(s.File)
	s.Jobs.Push("5b0c-6", "5b0c-4")
	s.Eventually("the old row and the new one have files, and the id with a status of its own is in quarantine", func() bool {
		return s.Records.Number("SELECT COUNT(*) FROM exports WHERE state = 2 AND url IS NOT NULL AND id IN ('5b0c-1', '5b0c-6')") == 2 &&
			s.Redis.XLen(t.Context(), s.Partitions.First().Keys.Quarantined).Val() == 1
	})
	if n := s.Records.Number("SELECT COUNT(*) FROM exports WHERE changed_at = '2001-01-01' AND url IS NULL AND attempt = 0 AND id IN ('5b0c-2', '5b0c-3', '5b0c-4', '5b0c-5')"); n != 4 {
		t.Errorf("%d of 4 other rows are as they were", n)
	}
}

// TestPartitionsInTheDocs computes the partitions that docs/guides/cluster.md names.
func TestPartitionsInTheDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/guides/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile(`(?i)crc32\(b?['"](\w+)['"]\) % (\d+);? +(?:--|#) (\d+)`).FindAllStringSubmatch(string(text), -1)
	if len(examples) != 2 {
		t.Fatalf("%q", examples)
	}
	for _, e := range examples {
		n, _ := strconv.Atoi(e[2])
		if got := fmt.Sprint(report.Partition(e[1], n)); got != e[3] {
			t.Errorf("%s: it is %s", e[0], got)
		}
	}
}

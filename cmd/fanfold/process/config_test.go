package process_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/cmd/fanfold/process"
)

// TestFilesOfAConfiguration: included files and those of queries are relative to the folder of the file that
// names them, whose name may have the characters of a pattern.
func TestFilesOfAConfiguration(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a[b]*")
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	const server = "redis: redis://127.0.0.1:6379\nrecords: {database: main}\nsink: file:///tmp/x\n"
	main := write("fanfold.yaml", "include: ['*.yaml', 'reports/[ab].yaml', reports/*/*.yaml]\n"+server)
	files := []string{
		main,
		write("databases.yaml", "databases: {main: {dsn: u@tcp(h)/s, password_file: secrets/main}}\n"),
		write("reports/a.yaml", "reports: {a: {listeners: {a: {database: main, query_file: ../sql/one.sql}}}}\n"),
		write("reports/more/b.yaml", "reports: {b: {listeners: {a: {database: main, query_file: b.sql}}}}\n"),
		write("sql/one.sql", "SELECT 1 AS one\n"),
		write("reports/more/b.sql", "SELECT 2 AS two\n"),
	}
	write("secrets/main", "x\n")
	write(".hidden.yaml", "- no mapping\n")
	write("reports/c.yaml", "- no mapping\n")
	read := func() (string, []string) {
		c, err := process.LoadConfig(main, kinds.Standard())
		if err != nil {
			return err.Error(), nil
		}
		return strings.Join(c.ReportNames(), " "), c.Files
	}
	if names, got := read(); names != "a b" || !slices.Equal(got, files) {
		t.Errorf("%s: read %q, want %q", names, got, files)
	}
	write("fanfold.yaml", "include: [databases.yaml, 'none/*.yaml', 'reports/*']\n"+server)
	for _, want := range []string{
		"no file matches", "not a regular file", filepath.Join(folder, "reports/c.yaml") + ":1:1: not a mapping",
	} {
		if got, _ := read(); !strings.Contains(got, want) {
			t.Errorf("%s, want %q", got, want)
		}
	}
}

package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// TestRetentionInTheDocs runs the statements of the guide over old, new and unfinished records. TestSweep has
// what happens to a file to which no record points.
func TestRetentionInTheDocs(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	blocks := fenced(t, "docs/guides/retention.md", "sql")
	if len(blocks) != 3 {
		t.Fatalf("%d statements", len(blocks))
	}
	do := func(statement string) {
		t.Helper()
		s.Records.Exec(strings.TrimSuffix(strings.TrimSpace(strings.ReplaceAll(statement, "plt_user.", s.Schema+".")), ";"))
	}
	row := func(id, status, file, days string) {
		t.Helper()
		s.Records.Exec("INSERT INTO file_download_record (id, report, parameters, status, attempt, file, error, updated_at) VALUES (" +
			id + ", 'gone', '{\"user_id\": " + id + "}', '" + status + "', 1, " + file + ", 'an error', NOW() - INTERVAL " + days + " DAY)")
	}
	ids := func(where string) string {
		t.Helper()
		rows, err := s.DB.QueryContext(t.Context(), "SELECT id FROM file_download_record WHERE "+where+" ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var found []string
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			found = append(found, id)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return strings.Join(slices.Sorted(slices.Values(found)), " ")
	}
	row("1", "SUCCESS", "'file:///old'", "91")
	row("2", "PARTIAL", "'file:///new'", "89")
	row("3", "FAILED", "NULL", "8")
	row("4", "CANCELLED", "NULL", "6")
	row("5", "PROCESSING", "NULL", "91")
	row("42", "SUCCESS", "'file:///42'", "1")
	do(blocks[0])
	if got := ids("file IS NOT NULL"); got != "2 42" {
		t.Errorf("after the first statement %s have a file", got)
	}
	do(blocks[1])
	if got := ids("TRUE"); got != "1 2 4 42 5" {
		t.Errorf("the file of 1 has just been released, and 4 and 5 are not old or not final: %s", got)
	}
	s.Records.Exec("UPDATE file_download_record SET updated_at = NOW() - INTERVAL 8 DAY WHERE id = 1")
	do(blocks[1])
	if got := ids("TRUE"); got != "2 4 42 5" {
		t.Errorf("a week later: %s", got)
	}
	do(blocks[2])
	if got := ids("parameters = '{}' AND file IS NULL AND error IS NULL"); got != "42" {
		t.Errorf("erased are %s", got)
	}
}

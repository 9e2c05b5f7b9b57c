package command

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// TestSchedulesInTheDocs fires the timers of the guides that run a report. The reports have the rows of the last
// 7 days, and from another date if one is passed.
func TestSchedulesInTheDocs(t *testing.T) {
	t.Parallel()
	for page, c := range map[string]struct{ report, timer, parameters string }{
		"docs/guides/timers.md":       {"weekly-withdrawals", "weekly-report", `{"from": "2024-01-01"}`},
		"docs/guides/celery-chord.md": {"tagged-withdrawals", "weekly-vip", `{"tag": "vip", "from": "2024-01-01"}`},
	} {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			s := newStackAlone(t, nil, e2e.Slow)
			for _, statement := range []string{
				"CREATE TABLE vs_withdraw (user_id INT, amount DECIMAL(10,2), created_at DATETIME)",
				"INSERT INTO vs_withdraw VALUES (1, 1.50, UTC_TIMESTAMP() - INTERVAL 6 DAY), (2, 2.50, UTC_TIMESTAMP() - INTERVAL 9 DAY)",
				"CREATE TABLE vs_user_tag_relation (user_id INT, tag VARCHAR(9))",
				"INSERT INTO vs_user_tag_relation VALUES (1, 'vip'), (2, 'vip')",
			} {
				s.Records.Exec(statement)
			}
			whole, databases := "", "databases: {db: {dsn: \"{dsn}\"}, user: {dsn: \"{dsn}\"}, fund: {dsn: \"{dsn}\"}}"
			for _, block := range fenced(t, page, "yaml") {
				if reports, timers, found := strings.Cut(block, "timers:\n"); strings.HasPrefix(block, "reports:") || strings.Contains(block, "submit:") {
					whole += strings.TrimPrefix(reports, "reports:\n")
					if found {
						databases += "\ntimers:\n" + timers
					}
				}
			}
			s.File = s.Write("schedule.yaml", whole, databases)
			s.Serve(s.File)
			s.must("timer set "+c.timer, "")
			s.must("timer fire "+c.timer, "")
			s.Eventually("the timer has submitted", func() bool { return s.Records.Number("SELECT COUNT(*) FROM file_download_record") == 1 })
			if got := s.Files.Content(s.Jobs.Wait("1")[0]); !strings.Contains(got, "1.50") || strings.Contains(got, "2.50") {
				t.Errorf("%q", got)
			}
			if got := s.Jobs.Succeed(c.report, c.parameters); !strings.Contains(got, "1.50") || !strings.Contains(got, "2.50") {
				t.Errorf("%q", got)
			}
		})
	}
}

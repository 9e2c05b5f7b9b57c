package command

import (
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// TestFlow: the page of a report has its steps, what they took in the last day, and the newest file.
func TestFlow(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow+`
  staged:
    listeners:
      ids: {database: db, query: "SELECT 1 AS id UNION SELECT 2"}
      names: {database: db, query: "SELECT 1 AS id, 'a' AS name FROM DUAL WHERE 1 IN (:ids.id)"}
    fold: SELECT i.id, n.name FROM ids i LEFT JOIN names n ON n.id = i.id
`, "limits: {shutdown_timeout: 1s}")
	_, page := s.browse()
	id := s.Records.Insert("staged", "")
	slow := s.Records.Insert("slow", `{"seconds": 300}`)
	s.Jobs.Push(id, slow)
	s.Jobs.Wait(id)
	s.Eventually("the try is counted", func() bool {
		hours, err := s.Inspect.Tally.Read(s.Context(), time.Now().Add(-time.Hour), time.Now(), time.Hour)
		for _, b := range hours {
			if b.Listeners["names"] != nil {
				return true
			}
		}
		return err != nil
	})
	has := func(path string, words ...string) {
		t.Helper()
		s.Eventually(path, func() bool {
			code, text := page(path)
			for _, w := range words {
				if !strings.Contains(text, w) {
					return false
				}
			}
			return code == 200
		})
	}
	has("/reports/staged", "<h1>Report staged</h1>", ">:ids.id</text>", "about 2 rows", "p50 ", `href="/jobs?q=names"`, `href="/jobs/`+id+`"`,
		"csv · complete", ">2 rows<", "<h2>Fold</h2>", "<dt>SUCCESS</dt><dd>1</dd>", `data-label="p95">`)
	has("/reports/slow", "db · works", "1 running, 0 waiting", "none yet")
	has("/jobs?q=one", ">"+slow+"</a>")
	has("/reports", `href="/reports/staged"`)
	if code, _ := page("/reports/none"); code != 404 {
		t.Errorf("an unknown report: %d", code)
	}
}

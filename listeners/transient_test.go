package listeners_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/report"
)

// againReport sleeps as long as the table knob says. Its query may take half a second.
const againReport = `
  again:
    retry: {retries: 3, delay: 200ms}
    listeners: {one: {database: db, timeout: 500ms, query: "SELECT id AS k, SLEEP(seconds) AS v FROM {schema}.knob"}}
`

// knob sets how long the query of againReport sleeps.
func knob(s *e2e.Stack, seconds int) {
	s.Helper()
	s.Records.Exec("CREATE TABLE IF NOT EXISTS knob (id INT PRIMARY KEY, seconds INT)")
	s.Records.Exec("REPLACE INTO knob VALUES (1, ?)", seconds)
}

// TestATransientErrorIsTriedAgain: a query that fails is retried, and its job ends with a complete
// file.
func TestATransientErrorIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, againReport)
	knob(s, 30)
	s.Serve(s.File)
	id := s.Records.Insert("again", "")
	s.Jobs.Push(id)
	s.Eventually("a retry", func() bool { _, n := s.Jobs.Retries(id, "one"); return n > 0 })
	knob(s, 0)
	if got := s.Files.Content(s.Jobs.Wait(id)[0]); got != "k,v\r\n1,0\r\n" {
		t.Errorf("%q", got)
	}
	s.Jobs.Idle()

	knob(s, 30)
	v := s.Jobs.Run("again", "")
	if _, n := s.Jobs.Retries(v.ID, "one"); v.Status != report.Failed || n != 3 || !strings.Contains(v.Error, "timed out") || !strings.Contains(v.Error, "(try 4 of 4)") {
		t.Errorf("%d retries: %+v", n, v)
	}
	s.Jobs.Idle()
}

// TestASourceThatIsAway: an outage of a source does not count as a try, and its jobs continue when
// the source is back.
func TestASourceThatIsAway(t *testing.T) {
	t.Parallel()
	source, err := testenv.StartDatabase(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { source.Stop() })
	s := e2e.New(t, `
  away:
    retry: {retries: 1, delay: 200ms}
    listeners: {one: {database: source, timeout: 20s, query: "SELECT 1 AS k"}}
`, fmt.Sprintf("databases: {db: {dsn: %q}, source: {dsn: %q}}", "{dsn}", source.DSN("mysql")))
	s.Serve(s.File)
	s.Files.Content(s.Jobs.Run("away", ""))
	source.Kill()
	id := s.Records.Insert("away", "")
	s.Jobs.Push(id)
	s.Eventually("some retries", func() bool { n, _ := s.Jobs.Retries(id, "one"); return n > 3 })
	if err := source.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Files.Content(s.Jobs.Wait(id)[0])
	if _, counted := s.Jobs.Retries(id, "one"); counted != 0 {
		t.Errorf("the outage used %d tries", counted)
	}
	s.Jobs.Idle()
}

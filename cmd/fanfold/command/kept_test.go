package command

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/report"
)

// keptYAML is a report whose second listener fails as long as its table does not exist.
const keptYAML = `
  kept:
    keep: 1h
    retry: 0
    listeners:
      one: {database: db, query: "SELECT seq AS k, REPEAT('x', 100) AS v FROM seq_1_to_30000"}
      two: {database: db, query: "SELECT k, w FROM later", after: [one]}
    join: {key: k, listeners: [one, {name: two, type: left}]}
`

// TestKeptDatasetsMakeRoom: failed jobs whose datasets fill Redis do not keep others from running.
func TestKeptDatasetsMakeRoom(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, []string{"--maxmemory", "32mb"}, keptYAML, "limits: {lease: 2s, recover_after: 5m}")
	var ids []string
	for range 16 {
		ids = append(ids, s.Records.Insert("kept", ""))
	}
	s.Serve(s.File)
	s.Jobs.Push(ids...)
	for _, v := range s.Jobs.Wait(ids...) {
		if v.Status != report.Failed || !strings.HasPrefix(v.Error, "listener two:") {
			t.Errorf("%s: %s", v.Status, v.Error)
		}
	}
	s.Records.Exec("CREATE TABLE later (k INT, w INT)")
	if v := s.Jobs.Run("kept", ""); v.Status != report.Success {
		t.Errorf("%s: %s", v.Status, v.Error)
	}
	s.Jobs.Idle()
}

// TestRetryOfAKeptJob: retry says what it reuses, and why and status what is kept. A push with an age that is none is
// quarantined.
func TestRetryOfAKeptJob(t *testing.T) {
	t.Parallel()
	s := newStack(t, keptYAML)
	s.Serve(s.File)
	id, other := s.Jobs.Run("kept", "").ID, s.Jobs.Run("kept", "").ID
	const offer = "1 of 2 datasets is kept until "
	for _, command := range []string{"why", "status"} {
		if out, _ := s.fanfold(command, id); !strings.Contains(out, offer) || !strings.Contains(out, "; fanfold retry "+id+" reads only two") {
			t.Errorf("%s says %q", command, out)
		}
	}
	s.Records.Exec("CREATE TABLE later (k INT, w INT)")
	if out, code := s.fanfold("retry", id); code != 0 || !strings.Contains(out, "pushed: reuses one (attempt 1, read ") ||
		!strings.Contains(out, "reads two (no dataset of it is kept)") {
		t.Errorf("retry says %q", out)
	}
	v := s.Jobs.Wait(id)[0]
	s.Files.Content(v)
	if out, code := s.fanfold("retry", other, "--wait"); code != 0 || !strings.Contains(out, other+" reuses one (attempt 1, ") {
		t.Errorf("retry --wait says %q", out)
	}
	if out, code := s.fanfold("retry", id, "--fresh", "--fresher-than", "1h"); code == 0 ||
		!strings.Contains(out, "--fresh and --fresher-than: give one of them") {
		t.Errorf("retry says %q", out)
	}
	if out, code := s.fanfold("retry", id, "--fresh"); code != 0 || !strings.HasSuffix(strings.TrimSpace(out), "pushed") {
		t.Errorf("retry says %q", out)
	}
	s.Jobs.Wait(id)
	if out, code := s.fanfold("retry", id, "--fresher-than", "soon"); code == 0 || !strings.Contains(out, "is not a duration") {
		t.Errorf("retry says %q", out)
	}
}

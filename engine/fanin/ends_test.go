package fanin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// TestAJobThatFails: a job that fails writes the reason into its record and leaves no data.
func TestAJobThatFails(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, `
  bad-sql:
    retry: 0
    listeners: {
      good: {database: db, query: "SELECT seq AS k FROM seq_1_to_30000"},
      bad: {database: db, query: "SELECT k FROM no_such_table"}}
    join: {key: k}
  too-slow:
    timeout: 2s
    retry: 0
    listeners: {sleeper: {database: db, timeout: 1500ms, query: "SELECT SLEEP(20) AS k"}}
  double:
    retry: 0
    listeners: {twins: {database: db, query: "SELECT * FROM twins", columns: [k]}}
`, "limits: {lease: 1s}")
	s.Records.Exec("CREATE TABLE twins (k INT, v INT)")
	s.Serve(s.File)
	for _, c := range []struct{ report, reason string }{
		{"bad-sql", "no_such_table' doesn't exist"},
		{"too-slow", "1.5s"},
		{"double", "k, v"},
	} {
		t.Run(c.report, func(t *testing.T) {
			s := s.In(t)
			v := s.Jobs.Run(c.report, "")
			if v.Status != report.Failed || !strings.Contains(v.Error, c.reason) {
				t.Errorf("%+v", v)
			}
			if !strings.Contains(v.Error, "listener ") {
				t.Errorf("the reason does not name the listener: %s", v.Error)
			}
			s.Files.None(c.report)
			s.Eventually("the job is listed as dead", func() bool { // after its record says so
				return s.Redis.ZScore(t.Context(), s.Partitions.First().Keys.Dead, v.ID).Val() > 0
			})
		})
	}
	s.Jobs.Idle()
}

// TestARecordThatIsChangedInMidRun: if someone changes a record while its job runs, the change
// stays and the file of the job is deleted.
func TestARecordThatIsChangedInMidRun(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Slow, "limits: {lease: 1s}")
	s.Serve(s.File)
	for name, change := range map[string]string{
		"deleted":   "DELETE FROM file_download_record WHERE id = ?",
		"cancelled": "UPDATE file_download_record SET status = 'CANCELLED' WHERE id = ?",
		"restarted": "UPDATE file_download_record SET attempt = 7 WHERE id = ?",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.In(t)
			id := s.Records.Insert("slow", `{"seconds": 1}`)
			s.Jobs.Push(id)
			s.Eventually("the job runs", func() bool { return s.Jobs.Status(id) != "" })
			s.Records.Exec(change, id)
			outcome := map[string]string{"deleted": "DELETED", "cancelled": "CANCELLED", "restarted": "SUPERSEDED"}[name]
			s.Eventually("settled as "+outcome, func() bool {
				return s.Jobs.Status(id) == outcome
			})
			if files, _ := filepath.Glob(s.Dir + "/files/slow/" + id + "-*"); len(files) > 0 {
				t.Errorf("in the sink: %v", files)
			}
			if done := s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE id = ? AND status = 'SUCCESS'", id); done != 0 {
				t.Error("the record was changed over")
			}
		})
	}
	t.Run("edited parameters", func(t *testing.T) {
		s := s.In(t)
		id := s.Records.Insert("slow", `{"seconds": 1}`)
		s.Jobs.Push(id)
		s.Eventually("the job runs", func() bool { return s.Jobs.Status(id) != "" })
		s.Records.Exec("UPDATE file_download_record SET parameters = '{\"seconds\": 100000}' WHERE id = ?", id)
		if got := s.Files.Content(s.Jobs.Wait(id)[0]); got != "k,v\r\n1,0\r\n" {
			t.Errorf("%q", got)
		}
	})
}

// TestManifest compares a manifest with its file.
func TestManifest(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Crowd)
	s.Serve(s.File)
	v := s.Jobs.Run("crowd", `{"job": 3}`)
	content := s.Files.Content(v)
	b, err := os.ReadFile(strings.TrimPrefix(v.File, "file://") + ".manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var m sink.Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if m.Job.Record != v.ID || m.Job.Attempt != 1 || m.Rows != 20 || m.Bytes != int64(len(content)) || m.File != v.File ||
		!strings.Contains(string(b), `"job": 3`) || m.Definition != s.Config.Reports["crowd"].Hash() {
		t.Errorf("%s", b)
	}
	if len(m.Listeners) != 3 || m.Listeners[2].Name != "src.c" || m.Listeners[2].Stage != 2 || m.Listeners[2].Rows != 20 {
		t.Errorf("%+v", m.Listeners)
	}
}

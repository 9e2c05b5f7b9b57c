package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/testenv/e2e"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// TestAJobThatFails: a job that fails writes the reason into its record and leaves no data.
func TestAJobThatFails(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  bad-sql:
    retry: 0
    stages: [{listeners: [
      {name: good, database: db, query: "SELECT seq AS k FROM seq_1_to_30000"},
      {name: bad, database: db, query: "SELECT k FROM no_such_table"}]}]
    join: {key: k}
  too-slow:
    timeout: 2s
    retry: 0
    stages: [{listeners: [{name: sleeper, database: db, timeout: 1500ms, query: "SELECT SLEEP(20) AS k"}]}]
  double:
    retry: 0
    stages: [{listeners: [{name: twins, database: db, query: "SELECT * FROM twins", columns: [k]}]}]
`, "limits: {lease: 1s}")
	s.Records.Exec("CREATE TABLE twins (k INT, v INT)")
	s.Serve(s.File)
	for _, c := range []struct{ report, reason string }{
		{"bad-sql", "no_such_table' doesn't exist"},
		{"too-slow", "1.5s"},
		{"double", "k, v"},
	} {
		t.Run(c.report, func(t *testing.T) {
			s := s.in(t)
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

// TestAnOverdueJob: the sweep fails an overdue job even if no worker has it.
func TestAnOverdueJob(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  waiting:
    timeout: 2s
    retry: 0
    stages: [{listeners: [{name: one, database: db, timeout: 1s, query: "SELECT 1 AS k"}, {name: two, database: db, timeout: 1s, query: "SELECT 1 AS k"}]}]
    join: {key: k}
`)
	s.process("-c", s.File, "serve", "--roles", "engine,scheduler")
	start := time.Now()
	v := s.Jobs.Run("waiting", "")
	if v.Status != report.Failed || v.Error != "deadline passed in stage 1, waiting for one, two" {
		t.Errorf("%+v", v)
	}
	if took := time.Since(start); took < 2*time.Second {
		t.Errorf("failed after %v, before its deadline of 2 s", took)
	}
	s.Files.None("waiting")
}

// TestARecordThatIsChangedInMidRun: if someone changes a record while its job runs, the change
// stays and the file of the job is deleted.
func TestARecordThatIsChangedInMidRun(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, "limits: {lease: 1s}")
	s.Serve(s.File)
	for name, change := range map[string]string{
		"deleted":   "DELETE FROM file_download_record WHERE id = ?",
		"cancelled": "UPDATE file_download_record SET status = 'CANCELLED' WHERE id = ?",
		"restarted": "UPDATE file_download_record SET attempt = 7 WHERE id = ?",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.in(t)
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
		s := s.in(t)
		id := s.Records.Insert("slow", `{"seconds": 1}`)
		s.Jobs.Push(id)
		s.Eventually("the job runs", func() bool { return s.Jobs.Status(id) != "" })
		s.Records.Exec("UPDATE file_download_record SET parameters = '{\"seconds\": 100000}' WHERE id = ?", id)
		if got := s.Files.Content(s.Jobs.Wait(id)[0]); got != "k,v\r\n1,0\r\n" {
			t.Errorf("%q", got)
		}
	})
}

// TestWaitingOutlivesADeletedRecord: waiting for several jobs continues if one of their records is
// deleted.
func TestWaitingOutlivesADeletedRecord(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	s.Serve(s.File)
	gone, stays := s.Records.Insert("slow", `{"seconds": 1}`), s.Records.Insert("slow", `{"seconds": 2}`)
	s.Jobs.Push(gone, stays)
	s.Eventually("both run", func() bool {
		return s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status = 'PROCESSING'") == 2
	})
	s.Records.Exec("DELETE FROM file_download_record WHERE id = ?", gone)
	views := s.Jobs.Wait(gone, stays)
	if views[0].Status != inspect.Deleted || views[1].Status != report.Success {
		t.Errorf("%+v", views)
	}
	if err := jobViews(views).failed(); exitCode(err) != exitJobFailed {
		t.Errorf("%v", err)
	}
}

// TestRetry: the next attempt of a record makes its own file, and the earlier file is deleted.
func TestRetry(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	s.Serve(s.File)
	first := s.Jobs.Run("slow", "")
	s.Files.Content(first)
	if out, code := s.fanfold("retry", first.ID, "--wait"); code != exitOK {
		t.Fatalf("%d %s", code, out)
	}
	second := s.Jobs.Wait(first.ID)[0]
	if s.Files.Content(second); second.Attempt != 2 || second.File == first.File {
		t.Errorf("%+v", second)
	}
	s.Eventually("records and sink agree", func() bool { return e2e.Agree(s.Stack) == "" })
	s.Jobs.Idle()
}

// TestManifest compares a manifest with its file.
func TestManifest(t *testing.T) {
	t.Parallel()
	s := newStack(t, crowdReport)
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

// TestGoogleCloudStorage runs a job whose sink is a bucket.
func TestGoogleCloudStorage(t *testing.T) {
	t.Parallel()
	storage := testmain.NewStorage(t, "reports", "")
	s := newStack(t, crowdReport)
	text, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.ReplaceAll(string(text), "sink: file://"+s.Dir+"/files", "sink: gs://reports/exports")
	if err := os.WriteFile(s.File, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	host := storage.Addr
	s.processWith([]string{"STORAGE_EMULATOR_HOST=" + host}, "-c", s.File, "serve")
	v := s.Jobs.Run("crowd", `{"job": 5}`)
	if v.Status != report.Success || v.File != "gs://reports/exports/"+s.Files.Named("crowd", v.ID, 1) {
		t.Fatalf("%+v", v)
	}
	read := func(object string) string {
		content, err := storage.Read(t.Context(), object)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	name := strings.TrimPrefix(v.File, "gs://reports/")
	if got := read(name); got != crowdFile(5) {
		t.Errorf("%q", got)
	}
	if got := read(name + ".manifest.json"); !strings.Contains(got, `"rows": 20`) {
		t.Errorf("%s", got)
	}
	attributes, err := storage.Object(t.Context(), name)
	if err != nil || attributes.Metadata["fanfold-installation"] != s.Files.Tag() || attributes.Metadata["fanfold-record"] != v.ID {
		t.Errorf("%+v %v", attributes, err)
	}
	// An emulator is spoken to without credentials, which cannot sign.
	c := command("-c", s.File, "url", v.ID)
	c.Env = append(c.Env, "STORAGE_EMULATOR_HOST="+host)
	out, err := c.CombinedOutput()
	if c.ProcessState.ExitCode() != exitFailure || !strings.Contains(string(out), "these credentials cannot sign for "+v.File) {
		t.Errorf("%v: %s", err, out)
	}
}

package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// noFiles fails the test if the sink has a file of the report.
func (s *stack) noFiles(report string) {
	s.t.Helper()
	files, err := filepath.Glob(s.dir + "/files/" + report + "/[^.]*")
	if err != nil || len(files) > 0 {
		s.t.Errorf("in the sink: %v %v", files, err)
	}
}

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
	s.exec("CREATE TABLE twins (k INT, v INT)")
	s.serve(s.config)
	for _, c := range []struct{ report, reason string }{
		{"bad-sql", "no_such_table' doesn't exist"},
		{"too-slow", "1.5s"},
		{"double", "k, v"},
	} {
		t.Run(c.report, func(t *testing.T) {
			s := s.in(t)
			v := s.run(c.report, "")
			if v.Status != report.Failed || !strings.Contains(v.Error, c.reason) {
				t.Errorf("%+v", v)
			}
			if !strings.Contains(v.Error, "listener ") {
				t.Errorf("the reason does not name the listener: %s", v.Error)
			}
			s.noFiles(c.report)
			s.eventually("the job is listed as dead", func() bool { // after its record says so
				return s.b.Redis.ZScore(t.Context(), s.b.Partitions.First().Keys.Dead, v.ID).Val() > 0
			})
		})
	}
	s.idle()
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
	s.process("-c", s.config, "serve", "--roles", "engine,scheduler")
	start := time.Now()
	v := s.run("waiting", "")
	if v.Status != report.Failed || v.Error != "deadline passed in stage 1, waiting for one, two" {
		t.Errorf("%+v", v)
	}
	if took := time.Since(start); took < 2*time.Second {
		t.Errorf("failed after %v, before its deadline of 2 s", took)
	}
	s.noFiles("waiting")
}

// TestARecordThatIsChangedInMidRun: if someone changes a record while its job runs, the change
// stays and the file of the job is deleted.
func TestARecordThatIsChangedInMidRun(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport, "limits: {lease: 1s}")
	s.serve(s.config)
	for name, change := range map[string]string{
		"deleted":   "DELETE FROM file_download_record WHERE id = ?",
		"cancelled": "UPDATE file_download_record SET status = 'CANCELLED' WHERE id = ?",
		"restarted": "UPDATE file_download_record SET attempt = 7 WHERE id = ?",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s.in(t)
			id := s.insert("slow", `{"seconds": 1}`)
			s.push(id)
			s.eventually("the job runs", func() bool { return s.status(id) != "" })
			s.exec(change, id)
			outcome := map[string]string{"deleted": "DELETED", "cancelled": "CANCELLED", "restarted": "SUPERSEDED"}[name]
			s.eventually("settled as "+outcome, func() bool {
				return s.status(id) == outcome
			})
			if files, _ := filepath.Glob(s.dir + "/files/slow/" + id + "-*"); len(files) > 0 {
				t.Errorf("in the sink: %v", files)
			}
			if done := s.number("SELECT COUNT(*) FROM file_download_record WHERE id = ? AND status = 'SUCCESS'", id); done != 0 {
				t.Error("the record was changed over")
			}
		})
	}
	t.Run("edited parameters", func(t *testing.T) {
		s := s.in(t)
		id := s.insert("slow", `{"seconds": 1}`)
		s.push(id)
		s.eventually("the job runs", func() bool { return s.status(id) != "" })
		s.exec("UPDATE file_download_record SET parameters = '{\"seconds\": 100000}' WHERE id = ?", id)
		if got := s.content(s.wait(id)[0]); got != "k,v\r\n1,0\r\n" {
			t.Errorf("%q", got)
		}
	})
}

// TestWaitingOutlivesADeletedRecord: waiting for several jobs continues if one of their records is
// deleted.
func TestWaitingOutlivesADeletedRecord(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport)
	s.serve(s.config)
	gone, stays := s.insert("slow", `{"seconds": 1}`), s.insert("slow", `{"seconds": 2}`)
	s.push(gone, stays)
	s.eventually("both run", func() bool {
		return s.number("SELECT COUNT(*) FROM file_download_record WHERE status = 'PROCESSING'") == 2
	})
	s.exec("DELETE FROM file_download_record WHERE id = ?", gone)
	views := s.wait(gone, stays)
	if views[0].Status != inspect.Deleted || views[1].Status != report.Success {
		t.Errorf("%+v", views)
	}
	if err := views.failed(); exitCode(err) != exitJobFailed {
		t.Errorf("%v", err)
	}
}

// TestRetry: the next attempt of a record makes its own file, and the earlier file is deleted.
func TestRetry(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport)
	s.serve(s.config)
	first := s.run("slow", "")
	s.content(first)
	if out, code := s.fanfold("retry", first.ID, "--wait"); code != exitOK {
		t.Fatalf("%d %s", code, out)
	}
	second := s.wait(first.ID)[0]
	if s.content(second); second.Attempt != 2 || second.File == first.File {
		t.Errorf("%+v", second)
	}
	s.eventually("records and sink agree", func() bool { return agree(s) == "" })
	s.idle()
}

// TestManifest compares a manifest with its file.
func TestManifest(t *testing.T) {
	t.Parallel()
	s := newStack(t, crowdReport)
	s.serve(s.config)
	v := s.run("crowd", `{"job": 3}`)
	content := s.content(v)
	b, err := os.ReadFile(strings.TrimPrefix(v.File, "file://") + ".manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var m sink.Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if m.Job.Record != v.ID || m.Job.Attempt != 1 || m.Rows != 20 || m.Bytes != int64(len(content)) || m.File != v.File ||
		!strings.Contains(string(b), `"job": 3`) || m.Definition != s.b.Config.Reports["crowd"].Hash() {
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
	text, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.ReplaceAll(string(text), "sink: file://"+s.dir+"/files", "sink: gs://reports/exports")
	if err := os.WriteFile(s.config, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	host := storage.Addr
	s.processWith([]string{"STORAGE_EMULATOR_HOST=" + host}, "-c", s.config, "serve")
	v := s.run("crowd", `{"job": 5}`)
	if v.Status != report.Success || v.File != "gs://reports/exports/"+s.fileName("crowd", v.ID, 1) {
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
	if err != nil || attributes.Metadata["fanfold-installation"] != s.installation() || attributes.Metadata["fanfold-record"] != v.ID {
		t.Errorf("%+v %v", attributes, err)
	}
	// An emulator is spoken to without credentials, which cannot sign.
	c := command("-c", s.config, "url", v.ID)
	c.Env = append(c.Env, "STORAGE_EMULATOR_HOST="+host)
	out, err := c.CombinedOutput()
	if c.ProcessState.ExitCode() != exitFailure || !strings.Contains(string(out), "these credentials cannot sign for "+v.File) {
		t.Errorf("%v: %s", err, out)
	}
}

package command

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink/s3/s3test"
)

// TestAnOverdueJob: the sweep fails an overdue job even if no worker has it.
func TestAnOverdueJob(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  waiting:
    timeout: 2s
    retry: 0
    listeners: {one: {database: db, timeout: 1s, query: "SELECT 1 AS k"}, two: {database: db, timeout: 1s, query: "SELECT 1 AS k"}}
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
	if views[0].Status != report.Deleted || views[1].Status != report.Success {
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

// TestS3 runs a job whose sink is a bucket of S3, reads its file by a link, and has doctor refuse a store that
// ignores the condition of a commit.
func TestS3(t *testing.T) {
	t.Parallel()
	store, careless := s3test.Start(t, "reports"), s3test.Start(t, "reports")
	careless.IgnoresOnComplete = true
	s := newStack(t, e2e.Crowd)
	text, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	configure := func(store *s3test.Store) (file string) {
		sink := "sink: {url: s3://reports/exports, endpoint: \"" + store.URL + "\", access_key: " + s3test.AccessKey +
			", secret_key: \"${S3_SECRET}\"}"
		file = filepath.Join(t.TempDir(), "fanfold.yaml")
		changed := strings.ReplaceAll(string(text), "sink: file://"+s.Dir+"/files", sink)
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	file, environment := configure(store), []string{"S3_SECRET=" + s3test.SecretKey}
	s.processWith(environment, "-c", file, "serve")
	v := s.Jobs.Run("crowd", `{"job": 5}`)
	if v.Status != report.Success || v.File != "s3://reports/exports/"+s.Files.Named("crowd", v.ID, 1) {
		t.Fatalf("%+v", v)
	}
	name := strings.TrimPrefix(v.File, "s3://reports/")
	stored, _ := store.Object(name)
	if string(stored.Data) != crowdFile(5) || stored.Header.Get("X-Amz-Meta-Fanfold-Installation") != s.Files.Tag() {
		t.Errorf("%q %v", stored.Data, stored.Header)
	}
	if m, _ := store.Object(name + ".manifest.json"); !strings.Contains(string(m.Data), `"rows": 20`) {
		t.Errorf("%s", m.Data)
	}
	c := command("-c", file, "url", v.ID)
	c.Env = append(c.Env, environment...)
	link, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get(strings.TrimSpace(string(link)))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil || string(got) != crowdFile(5) || !strings.HasPrefix(answer.Header.Get("Content-Disposition"), "attachment;") {
		t.Errorf("%s %v: %q, %v", answer.Status, answer.Header, got, err)
	}
	for file, wanted := range map[string]bool{configure(careless): true, file: false} {
		c := command("-c", file, "doctor")
		c.Env = append(c.Env, environment...)
		out, _ := c.CombinedOutput()
		found := strings.Contains(string(out), "ignores If-None-Match: * on CompleteMultipartUpload")
		if found != wanted || strings.Contains(string(out), "may this process create") {
			t.Errorf("doctor: %s", out)
		}
	}
}

// TestGoogleCloudStorage runs a job whose sink is a bucket.
func TestGoogleCloudStorage(t *testing.T) {
	t.Parallel()
	storage := testmain.NewStorage(t, "reports", "")
	s := newStack(t, e2e.Crowd)
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

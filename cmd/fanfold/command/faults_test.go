package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect/doctor"
	"github.com/fanfold/fanfold/report"
)

// TestARetryThatFails: a record keeps its earlier file during a retry, and has no file after the
// retry has failed.
func TestARetryThatFails(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, "limits: {lease: 1s}")
	s.Serve(s.File)
	first := s.Jobs.Run("slow", "")
	s.Files.Content(first)
	s.Records.Exec("UPDATE file_download_record SET parameters = '{\"seconds\": 1}' WHERE id = ?", first.ID)
	if out, code := s.fanfold("retry", first.ID); code != exitOK {
		t.Fatalf("%d %s", code, out)
	}
	s.Eventually("the second attempt runs", func() bool {
		state, err := s.Partitions.First().Jobs.Read(t.Context(), first.ID)
		return err == nil && state.Attempt == 2 && s.Jobs.Reads("one") == 1
	})
	s.Files.Content(first) // exists while the job runs
	s.Redis.ZAdd(t.Context(), s.Partitions.First().Keys.Deadlines, redis.Z{Score: 1, Member: first.ID})
	s.States.Set(first.ID, 4, "1")
	if v := s.Jobs.Wait(first.ID)[0]; v.Status != report.Failed || v.Attempt != 2 {
		t.Fatalf("%+v", v)
	}
	s.Jobs.Idle()
	s.Eventually("records and sink agree", func() bool { return e2e.Agree(s.Stack) == "" })
	s.Files.None("slow")
}

// TestScratchFiles: a join that needs scratch files fails after its tries if they cannot be
// created, and deletes them otherwise.
func TestScratchFiles(t *testing.T) {
	t.Parallel()
	const reports = `
  two:
    retry: {retries: 1, delay: 100ms}
    listeners:
      a: {database: db, query: "SELECT 'x' AS k, 1 AS a"}
      b: {database: db, query: "SELECT 'x' AS k, REPEAT('b', 200000) AS b"}
    join: {key: k}
`
	s := newStack(t, reports, "limits: {fold_memory: 64KB}")
	missing := filepath.Join(s.Dir, "missing")
	p := s.processWith([]string{"TMPDIR=" + missing}, "-c", s.File, "serve")
	v := s.Jobs.Run("two", "")
	if v.Status != report.Failed || !strings.Contains(v.Error, "scratch file: open "+missing) || !strings.HasSuffix(v.Error, "(try 2 of 2)") {
		t.Errorf("%+v", v)
	}
	s.Jobs.Idle()
	end(t, p, syscall.SIGTERM)
	if log := p.Stderr.(*bytes.Buffer).String(); !strings.Contains(log, "cannot write a scratch file") || !strings.Contains(log, "set TMPDIR") {
		t.Errorf("no warning at the start: %s", log)
	}
	check := command("-c", s.File, "doctor", "-o", "json")
	check.Env = append(check.Env, "TMPDIR="+missing)
	var all doctor.Findings
	out, err := check.Output()
	if err == nil || json.Unmarshal(out, &all) != nil || !all.Failed("scratch files") || !strings.Contains(string(out), missing) || !strings.Contains(string(out), "set TMPDIR") {
		t.Errorf("doctor: %v, %s", err, out)
	}
	folder := t.TempDir()
	s.processWith([]string{"TMPDIR=" + folder}, "-c", s.File, "serve")
	if got := s.Jobs.Succeed("two", ""); got != "k,a,b\r\nx,1,"+strings.Repeat("b", 200_000)+"\r\n" {
		t.Errorf("%.100q", got)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

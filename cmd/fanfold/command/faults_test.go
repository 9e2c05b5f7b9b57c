package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect/doctor"
	"github.com/fanfold/fanfold/internal/testenv/e2e"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

var errLost = errors.New("the connection broke after the change")

// lossyRecords makes the first changes and then returns an error, as if the answers were lost.
type lossyRecords struct {
	*record.Store
	lose atomic.Int64
}

func (r *lossyRecords) Start(ctx context.Context, runs []engine.Run) ([]bool, error) {
	started, err := r.Store.Start(ctx, runs)
	if r.lose.Add(-1) >= 0 {
		return nil, errors.Join(errLost, err)
	}
	return started, err
}

func (r *lossyRecords) Succeed(ctx context.Context, run engine.Run, file string, rows int64) (bool, error) {
	ok, err := r.Store.Succeed(ctx, run, file, rows)
	if r.lose.Add(-1) >= 0 {
		return false, errors.Join(errLost, err)
	}
	return ok, err
}

// brokenSink is down for the first objects, or refuses them.
type brokenSink struct {
	sink.Sink
	away, refuse atomic.Int64
}

func (s *brokenSink) Create(ctx context.Context, o sink.Object) (sink.Writer, error) {
	if s.away.Add(-1) >= 0 {
		return nil, errors.New("503 from the sink")
	}
	if s.refuse.Add(-1) >= 0 {
		return nil, fmt.Errorf("%w: 403 from the sink", sink.ErrRefused)
	}
	return s.Sink.Create(ctx, o)
}

// TestLostAnswers: a job is not lost if the answers of MySQL to successful changes are lost.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, "limits: {grace: 1s, lease: 1s}")
	records := &lossyRecords{Store: s.Process.Records}
	records.lose.Store(1)
	s.Roles.With(records, s.Files.Sink())
	v := s.Jobs.Run("slow", "")
	if s.Files.Content(v); v.Attempt != 2 {
		t.Errorf("after the answer to the start was lost: %+v", v)
	}
	id := s.Records.Insert("slow", `{"seconds": 1}`)
	s.Jobs.Push(id)
	s.Eventually("started", func() bool { return s.Redis.Exists(t.Context(), s.Partitions.First().Keys.Job(id)).Val() == 1 })
	records.lose.Store(1)
	if v := s.Jobs.Wait(id)[0]; v.Attempt != 1 {
		t.Errorf("after the answer to the end was lost: %+v", v)
	} else {
		s.Files.Content(v)
	}
	s.Jobs.Idle()
}

// TestAPublishedJobThatLostItsData: a job that lost its data after the commit of its file ends as
// its record says. The file stays if the record points to it, and is deleted if the record is
// FAILED.
func TestAPublishedJobThatLostItsData(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, "limits: {lease: 1s}")
	files := s.Files.Sink()
	success, failing := s.States.Published(files), s.States.Published(files)
	s.Records.Exec("UPDATE file_download_record SET status = 'SUCCESS', file = ? WHERE id = ?", files.URL(s.Files.Named("slow", success, 1)), success)
	for _, id := range []string{success, failing} {
		s.States.LoseData(id)
	}
	s.Roles.With(s.Process.Records, files)
	s.Jobs.Idle()
	if got := s.Files.Content(s.Jobs.Wait(success)[0]); got != "k,v\r\n1,0\r\n" {
		t.Errorf("%q", got)
	}
	if v := s.Jobs.Wait(failing)[0]; v.Status != report.Failed || !strings.Contains(v.Error, "chunk") {
		t.Errorf("%+v", v)
	}
	if _, err := os.Stat(s.Dir + "/files/" + s.Files.Named("slow", failing, 1)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of the failed job: %v", err)
	}
}

// TestAFileColumnThatIsTooShort: if the path does not fit into the file column, the job fails and
// its file is deleted.
func TestAFileColumnThatIsTooShort(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	s.Records.Exec("ALTER TABLE file_download_record MODIFY file VARCHAR(20) NULL")
	s.Serve(s.File)
	if v := s.Jobs.Run("slow", ""); v.Status != report.Failed || !strings.Contains(v.Error, "has 20 characters") {
		t.Errorf("%+v", v)
	}
	s.Jobs.Idle()
	s.Files.None("slow")
}

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

// TestASinkThatIsAway: an outage of the sink does not use a try. A refused file does, and an object
// that was published for it before is deleted once the record is FAILED.
func TestASinkThatIsAway(t *testing.T) {
	t.Parallel()
	s := newStack(t, strings.Replace(e2e.Slow, "stages:", "retry: {retries: 1, delay: 100ms}\n    stages:", 1), "limits: {lease: 1s}")
	files := &brokenSink{Sink: s.Files.Sink()}
	id := s.States.Published(files)
	files.away.Store(3)
	s.Roles.With(s.Process.Records, files)
	v := s.Jobs.Wait(id)[0]
	if got := s.Files.Content(v); got != "k,v\r\n1,0\r\n" || v.Attempt != 1 {
		t.Errorf("%q %+v", got, v)
	}
	files.away.Store(3)
	v = s.Jobs.Run("slow", "")
	if s.Files.Content(v); v.Attempt != 1 {
		t.Errorf("%+v", v)
	}
	if all, counted := s.Jobs.Retries(v.ID, "@fanin"); all != 3 || counted != 0 {
		t.Errorf("%d retries, of which %d counted", all, counted)
	}
	s.Jobs.Idle()

	files.refuse.Store(2)
	v = s.Jobs.Run("slow", "")
	if v.Status != report.Failed || v.Error != "sink: refused: 403 from the sink (try 2 of 2)" {
		t.Errorf("%+v", v)
	}
	s.Jobs.Idle()
}

// TestScratchFiles: a join that needs scratch files fails after its tries if they cannot be
// created, and deletes them otherwise.
func TestScratchFiles(t *testing.T) {
	t.Parallel()
	const reports = `
  two:
    retry: {retries: 1, delay: 100ms}
    stages:
      - listeners:
          - {name: a, database: db, query: "SELECT 'x' AS k, 1 AS a"}
          - {name: b, database: db, query: "SELECT 'x' AS k, REPEAT('b', 200000) AS b"}
    join: {key: k}
`
	s := newStack(t, reports, "limits: {fold_bytes: 64KB}")
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

// TestFilesOfLostAttempts: files of earlier attempts are deleted when a later attempt ends. Files
// that a hung worker writes afterwards are deleted by the next sweep, even if Redis has lost its
// memory meanwhile.
func TestFilesOfLostAttempts(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, "limits: {grace: 1s, lease: 1s}")
	id := s.Records.Insert("slow", "")
	s.Records.Exec("UPDATE file_download_record SET status = 'PROCESSING', attempt = 2 WHERE id = ?", id)
	if err := os.MkdirAll(s.Dir+"/files/slow", 0o755); err != nil {
		t.Fatal(err)
	}
	one, two := s.Files.Named("slow", id, 1), s.Files.Named("slow", id, 2)
	for _, name := range []string{one, two, two + ".manifest.json", one + ".gz", one + ".gz.manifest.json"} {
		if err := os.WriteFile(s.Dir+"/files/"+name, []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.Serve(s.File)
	s.Jobs.Push(id)
	v := s.Jobs.Wait(id)[0]
	if s.Files.Content(v); v.Attempt != 3 {
		t.Errorf("%+v", v)
	}
	inSink := func() []string {
		files, _ := filepath.Glob(s.Dir + "/files/slow/[^.]*")
		return files
	}
	s.Eventually("the files of lost attempts are deleted", func() bool { return len(inSink()) == 2 })
	s.Jobs.Idle()
	s.Server.FlushAll()
	if err := os.WriteFile(s.Dir+"/files/"+two+".gz", []byte("late"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Roles.Sweep()
	if files := inSink(); len(files) != 2 {
		t.Errorf("in the sink: %v", files)
	}
	s.Files.Content(v)
}

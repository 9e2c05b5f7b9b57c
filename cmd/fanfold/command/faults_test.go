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
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/fanin"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/engine/trigger"
	"github.com/fanfold/fanfold/inspect/doctor"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
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

// serveWith runs all roles with these records and this sink until the test ends or stop is called.
func (s *stack) serveWith(records engine.Records, to sink.Sink) (stop func()) {
	s.t.Helper()
	b := s.open(s.config)
	ctx, cancel := context.WithCancel(s.t.Context())
	var group errgroup.Group
	s.recover(ctx, &group, s.engine(ctx, &group, engine.Options{
		Redis: b.Blocking, Scripts: b.Partitions.First(), Records: records,
		Reports: b.Config.Reports, Limits: b.Config.Limits, Consumer: process.ConsumerName(),
	}, to), nil)
	for _, role := range []string{"listeners", "scheduler"} {
		r, err := b.Role(ctx, role, process.ConsumerName(), (&flags{}).logger(testLog{s.t}))
		if err != nil {
			s.t.Fatal(err)
		}
		group.Go(func() error { return r.Run(ctx) })
	}
	stop = sync.OnceFunc(func() {
		cancel()
		if err := group.Wait(); err != nil {
			s.t.Error(err)
		}
	})
	s.t.Cleanup(stop)
	return stop
}

// engine runs an engine with this sink. It returns what starts jobs.
func (s *stack) engine(ctx context.Context, group *errgroup.Group, o engine.Options, to sink.Sink) *trigger.Trigger {
	s.t.Helper()
	e, err := engine.New(o)
	if err != nil {
		s.t.Fatal(err)
	}
	f, err := files.New(e, files.Options{Sink: to, Formats: kinds.Standard().Formats, Installation: s.installation()})
	if err != nil {
		s.t.Fatal(err)
	}
	starts := trigger.New(e, f)
	for _, run := range []func(context.Context) error{starts.Run, fanin.New(e, f).Run, f.Run} {
		group.Go(func() error { return run(ctx) })
	}
	return starts
}

// recover runs the recovery next to an engine. It has no tables unless change sets them.
func (s *stack) recover(ctx context.Context, group *errgroup.Group, jobs recovery.Jobs, change func(*recovery.Options)) {
	s.t.Helper()
	limits := s.b.Config.Limits
	o := recovery.Options{Scripts: s.b.Partitions.First(), Jobs: jobs, Records: s.b.Records, Grace: limits.Grace, Rate: limits.Rebuild}
	if change != nil {
		change(&o)
	}
	r, err := recovery.New(o)
	if err != nil {
		s.t.Fatal(err)
	}
	group.Go(func() error { return r.Run(ctx) })
}

func (s *stack) dirSink() sink.Sink {
	s.t.Helper()
	d, err := dir.New(s.dir + "/files")
	if err != nil {
		s.t.Fatal(err)
	}
	if err := d.Make(); err != nil {
		s.t.Fatal(err)
	}
	return d
}

// TestLostAnswers: a job is not lost if the answers of MySQL to successful changes are lost.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport, "limits: {grace: 1s, lease: 1s}")
	records := &lossyRecords{Store: s.b.Records}
	records.lose.Store(1)
	s.serveWith(records, s.dirSink())
	v := s.run("slow", "")
	if s.content(v); v.Attempt != 2 {
		t.Errorf("after the answer to the start was lost: %+v", v)
	}
	id := s.insert("slow", `{"seconds": 1}`)
	s.push(id)
	s.eventually("started", func() bool { return s.b.Redis.Exists(t.Context(), s.b.Partitions.First().Keys.Job(id)).Val() == 1 })
	records.lose.Store(1)
	if v := s.wait(id)[0]; v.Attempt != 1 {
		t.Errorf("after the answer to the end was lost: %+v", v)
	} else {
		s.content(v)
	}
	s.idle()
}

// published starts a job whose worker dies right after the commit of its file.
func (s *stack) published(files sink.Sink) string {
	s.t.Helper()
	ctx, sc := s.t.Context(), s.b.Partitions.First()
	id := s.ready()
	if outcomes, err := sc.Folds.Publish(ctx, s.claim(id, "dead")); err != nil || outcomes[0] != scripts.OK {
		s.t.Fatal(outcomes, err)
	}
	w, err := files.Create(ctx, sink.Object{Name: s.fileName("slow", id, 1)})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := w.Write([]byte("k,v\r\n1,0\r\n")); err != nil {
		s.t.Fatal(err)
	}
	if _, err := w.Commit(); err != nil {
		s.t.Fatal(err)
	}
	return id
}

// TestAPublishedJobThatLostItsData: a job that lost its data after the commit of its file ends as
// its record says. The file stays if the record points to it, and is deleted if the record is
// FAILED.
func TestAPublishedJobThatLostItsData(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport, "limits: {lease: 1s}")
	files := s.dirSink()
	success, failing := s.published(files), s.published(files)
	s.exec("UPDATE file_download_record SET status = 'SUCCESS', file = ? WHERE id = ?", files.URL(s.fileName("slow", success, 1)), success)
	for _, id := range []string{success, failing} {
		s.loseData(id)
	}
	s.serveWith(s.b.Records, files)
	s.idle()
	if got := s.content(s.wait(success)[0]); got != "k,v\r\n1,0\r\n" {
		t.Errorf("%q", got)
	}
	if v := s.wait(failing)[0]; v.Status != report.Failed || !strings.Contains(v.Error, "chunk") {
		t.Errorf("%+v", v)
	}
	if _, err := os.Stat(s.dir + "/files/" + s.fileName("slow", failing, 1)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of the failed job: %v", err)
	}
}

// TestAFileColumnThatIsTooShort: if the path does not fit into the file column, the job fails and
// its file is deleted.
func TestAFileColumnThatIsTooShort(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport)
	s.exec("ALTER TABLE file_download_record MODIFY file VARCHAR(20) NULL")
	s.serve(s.config)
	if v := s.run("slow", ""); v.Status != report.Failed || !strings.Contains(v.Error, "has 20 characters") {
		t.Errorf("%+v", v)
	}
	s.idle()
	s.noFiles("slow")
}

// TestARetryThatFails: a record keeps its earlier file during a retry, and has no file after the
// retry has failed.
func TestARetryThatFails(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport, "limits: {lease: 1s}")
	s.serve(s.config)
	first := s.run("slow", "")
	s.content(first)
	s.exec("UPDATE file_download_record SET parameters = '{\"seconds\": 1}' WHERE id = ?", first.ID)
	if out, code := s.fanfold("retry", first.ID); code != exitOK {
		t.Fatalf("%d %s", code, out)
	}
	s.eventually("the second attempt runs", func() bool {
		state, err := s.b.Partitions.First().Jobs.Read(t.Context(), first.ID)
		return err == nil && state.Attempt == 2 && s.reads("one") == 1
	})
	s.content(first) // exists while the job runs
	s.b.Redis.ZAdd(t.Context(), s.b.Partitions.First().Keys.Deadlines, redis.Z{Score: 1, Member: first.ID})
	s.setJob(first.ID, 4, "1")
	if v := s.wait(first.ID)[0]; v.Status != report.Failed || v.Attempt != 2 {
		t.Fatalf("%+v", v)
	}
	s.idle()
	s.eventually("records and sink agree", func() bool { return agree(s) == "" })
	s.noFiles("slow")
}

// TestASinkThatIsAway: an outage of the sink does not use a try. A refused file does, and an object
// that was published for it before is deleted once the record is FAILED.
func TestASinkThatIsAway(t *testing.T) {
	t.Parallel()
	s := newStack(t, strings.Replace(oneReport, "stages:", "retry: {retries: 1, delay: 100ms}\n    stages:", 1), "limits: {lease: 1s}")
	files := &brokenSink{Sink: s.dirSink()}
	id := s.published(files)
	files.away.Store(3)
	s.serveWith(s.b.Records, files)
	v := s.wait(id)[0]
	if got := s.content(v); got != "k,v\r\n1,0\r\n" || v.Attempt != 1 {
		t.Errorf("%q %+v", got, v)
	}
	files.away.Store(3)
	v = s.run("slow", "")
	if s.content(v); v.Attempt != 1 {
		t.Errorf("%+v", v)
	}
	if all, counted := s.retries(v.ID, "@fanin"); all != 3 || counted != 0 {
		t.Errorf("%d retries, of which %d counted", all, counted)
	}
	s.idle()

	files.refuse.Store(2)
	v = s.run("slow", "")
	if v.Status != report.Failed || v.Error != "sink: refused: 403 from the sink (try 2 of 2)" {
		t.Errorf("%+v", v)
	}
	s.idle()
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
	missing := filepath.Join(s.dir, "missing")
	p := s.processWith([]string{"TMPDIR=" + missing}, "-c", s.config, "serve")
	v := s.run("two", "")
	if v.Status != report.Failed || !strings.Contains(v.Error, "scratch file: open "+missing) || !strings.HasSuffix(v.Error, "(try 2 of 2)") {
		t.Errorf("%+v", v)
	}
	s.idle()
	end(t, p, syscall.SIGTERM)
	if log := p.Stderr.(*bytes.Buffer).String(); !strings.Contains(log, "cannot write a scratch file") || !strings.Contains(log, "set TMPDIR") {
		t.Errorf("no warning at the start: %s", log)
	}
	check := command("-c", s.config, "doctor", "-o", "json")
	check.Env = append(check.Env, "TMPDIR="+missing)
	var all doctor.Findings
	out, err := check.Output()
	if err == nil || json.Unmarshal(out, &all) != nil || !all.Failed("scratch files") || !strings.Contains(string(out), missing) || !strings.Contains(string(out), "set TMPDIR") {
		t.Errorf("doctor: %v, %s", err, out)
	}
	folder := t.TempDir()
	s.processWith([]string{"TMPDIR=" + folder}, "-c", s.config, "serve")
	if got := s.succeed("two", ""); got != "k,a,b\r\nx,1,"+strings.Repeat("b", 200_000)+"\r\n" {
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
	s := newStack(t, oneReport, "limits: {grace: 1s, lease: 1s}")
	id := s.insert("slow", "")
	s.exec("UPDATE file_download_record SET status = 'PROCESSING', attempt = 2 WHERE id = ?", id)
	if err := os.MkdirAll(s.dir+"/files/slow", 0o755); err != nil {
		t.Fatal(err)
	}
	one, two := s.fileName("slow", id, 1), s.fileName("slow", id, 2)
	for _, name := range []string{one, two, two + ".manifest.json", one + ".gz", one + ".gz.manifest.json"} {
		if err := os.WriteFile(s.dir+"/files/"+name, []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.serve(s.config)
	s.push(id)
	v := s.wait(id)[0]
	if s.content(v); v.Attempt != 3 {
		t.Errorf("%+v", v)
	}
	inSink := func() []string {
		files, _ := filepath.Glob(s.dir + "/files/slow/[^.]*")
		return files
	}
	s.eventually("the files of lost attempts are deleted", func() bool { return len(inSink()) == 2 })
	s.idle()
	s.flushAll()
	if err := os.WriteFile(s.dir+"/files/"+two+".gz", []byte("late"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.sweep()
	if files := inSink(); len(files) != 2 {
		t.Errorf("in the sink: %v", files)
	}
	s.content(v)
}

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
)

// retries returns the number of retry events of a step, and how many of them counted as a try.
func (s *stack) retries(id, step string) (all, counted int) {
	s.t.Helper()
	for _, m := range s.b.Redis.XRange(s.t.Context(), s.b.Partitions.First().Keys.Events, "-", "+").Val() {
		if m.Values["event"] == "retry" && m.Values["id"] == id && m.Values["step"] == step {
			all++
			if m.Values["counts"] == "1" {
				counted++
			}
		}
	}
	return all, counted
}

// againReport sleeps as long as the table knob says. Its query may take half a second.
const againReport = `
  again:
    retry: {retries: 3, delay: 200ms}
    stages: [{listeners: [{name: one, database: db, timeout: 500ms, query: "SELECT id AS k, SLEEP(seconds) AS v FROM {schema}.knob"}]}]
`

func (s *stack) knob(seconds int) {
	s.t.Helper()
	s.exec("CREATE TABLE IF NOT EXISTS knob (id INT PRIMARY KEY, seconds INT)")
	s.exec("REPLACE INTO knob VALUES (1, ?)", seconds)
}

// TestATransientErrorIsTriedAgain: a query that fails is retried, and its job ends with a complete
// file.
func TestATransientErrorIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newStack(t, againReport)
	s.knob(30)
	s.serve(s.config)
	id := s.insert("again", "")
	s.push(id)
	s.eventually("a retry", func() bool { _, n := s.retries(id, "one"); return n > 0 })
	s.knob(0)
	if got := s.content(s.wait(id)[0]); got != "k,v\r\n1,0\r\n" {
		t.Errorf("%q", got)
	}
	s.idle()

	s.knob(30)
	v := s.run("again", "")
	if _, n := s.retries(v.ID, "one"); v.Status != report.Failed || n != 3 || !strings.Contains(v.Error, "timed out") || !strings.Contains(v.Error, "(try 4 of 4)") {
		t.Errorf("%d retries: %+v", n, v)
	}
	s.idle()
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
	s := newStack(t, `
  away:
    retry: {retries: 1, delay: 200ms}
    stages: [{listeners: [{name: one, database: source, timeout: 20s, query: "SELECT 1 AS k"}]}]
`, fmt.Sprintf("databases: {db: {dsn: %q}, source: {dsn: %q}}", "{dsn}", source.DSN("mysql")))
	s.serve(s.config)
	s.content(s.run("away", ""))
	source.Kill()
	id := s.insert("away", "")
	s.push(id)
	s.eventually("some retries", func() bool { n, _ := s.retries(id, "one"); return n > 3 })
	if err := source.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.content(s.wait(id)[0])
	if _, counted := s.retries(id, "one"); counted != 0 {
		t.Errorf("the outage used %d tries", counted)
	}
	s.idle()
}

// slowReport sleeps as long as a parameter says.
const slowReport = `
  slow:
    parameters: {seconds: integer}
    stages: [{listeners: [{name: one, database: db, query: "SELECT 1 AS k, SLEEP(:seconds) AS v"}]}]
`

// taken waits until a worker has the task of a job.
func (s *stack) taken(id string) {
	s.t.Helper()
	s.eventually("the task is taken", func() bool {
		state, err := s.b.Partitions.First().Jobs.Read(s.t.Context(), id)
		return err == nil && state.Tasks["one"].Owner != ""
	})
}

// TestSIGTERM: work that can end within limits.stop is completed, and the process exits with 0.
func TestSIGTERM(t *testing.T) {
	t.Parallel()
	s := newStack(t, slowReport)
	p := s.process("-c", s.config, "serve")
	id := s.insert("slow", `{"seconds": 2}`)
	s.push(id)
	s.taken(id)
	end(t, p, syscall.SIGTERM)
	state, err := s.b.Partitions.First().Jobs.Read(t.Context(), id)
	if err != nil || !state.Tasks["one"].Done || state.Tasks["one"].Tries != 1 {
		t.Errorf("%+v %v", state, err)
	}
	s.process("-c", s.config, "serve")
	s.content(s.wait(id)[0])
}

// TestSIGTERMHandsBack: work that does not end within limits.stop is handed back and does not count
// as a try. Another process takes it at once, before the lease ends.
func TestSIGTERMHandsBack(t *testing.T) {
	t.Parallel()
	s := newStack(t, slowReport, "limits: {stop: 200ms, lease: 10m}")
	p := s.process("-c", s.config, "serve")
	id := s.insert("slow", `{"seconds": 5}`)
	s.push(id)
	s.taken(id)
	end(t, p, syscall.SIGTERM)
	state, err := s.b.Partitions.First().Jobs.Read(t.Context(), id)
	if err != nil || state.Tasks["one"].Done || state.Tasks["one"].Owner != "" || state.Tasks["one"].Tries != 0 {
		t.Errorf("%+v %v", state, err)
	}
	s.process("-c", s.config, "serve")
	s.content(s.wait(id)[0])
	s.idle()
}

// TestASecondSignal: a second signal kills the process at once.
func TestASecondSignal(t *testing.T) {
	t.Parallel()
	s := newStack(t, slowReport, "limits: {stop: 10m}")
	p := s.process("-c", s.config, "serve")
	id := s.insert("slow", `{"seconds": 300}`)
	s.push(id)
	s.taken(id)
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	var err error
	s.eventually("the process ends", func() bool {
		_ = p.Process.Signal(syscall.SIGTERM)
		select {
		case err = <-ended:
			return true
		default:
			return false
		}
	})
	var failed *exec.ExitError
	if !errors.As(err, &failed) || failed.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("%v", err)
	}
}

// end signals a process and checks that it exits with 0.
func end(t *testing.T, p *exec.Cmd, signal os.Signal) {
	t.Helper()
	if err := p.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
}

// ready returns the id of a job that is READY and that no worker has claimed.
func (s *stack) ready() string {
	s.t.Helper()
	ctx := s.t.Context()
	id := s.insert("slow", "")
	if _, err := s.b.Records.Start(ctx, []engine.Run{{ID: id}}); err != nil {
		s.t.Fatal(err)
	}
	s.readyWith(id, s.b.Config.Reports["slow"].Hash())
	return id
}

// readyWith starts a job with a definition and completes its task.
func (s *stack) readyWith(id, hash string) {
	s.t.Helper()
	ctx, sc := s.t.Context(), s.b.Partitions.First()
	if _, err := sc.Jobs.Start(ctx, "", scripts.Start{
		ID: id, Attempt: 1, Parameters: []byte("{}"), Plan: scripts.Plan{Report: "slow", Definition: hash, Timeout: time.Hour, Listeners: "one"},
	}); err != nil {
		s.t.Fatal(err)
	}
	for _, entry := range s.b.Redis.XRange(ctx, sc.Keys.Task("one"), "-", "+").Val() {
		if entry.Values["id"] != id {
			continue
		}
		task, _ := sc.Tasks.New(scripts.Message{ID: id, Attempt: 1}, "one", scripts.Entry{Stream: sc.Keys.Task("one"), Group: scripts.Group, ID: entry.ID}, nil)
		if outcome, err := task.Complete(ctx, scripts.Chunk{
			Rows: 1, Names: []string{"k", "v"}, Fields: [][]byte{[]byte("[1]"), []byte("[0]")},
			Columns: []map[string]string{{"name": "k", "type": "integer"}, {"name": "v", "type": "integer"}},
		}, 0); err != nil || outcome != scripts.Already {
			s.t.Fatal(outcome, err)
		}
	}
}

// claim claims a READY job for a worker.
func (s *stack) claim(id, worker string) *scripts.Fold {
	s.t.Helper()
	ctx, sc := s.t.Context(), s.b.Partitions.First()
	state, err := sc.Jobs.Read(ctx, id)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = s.b.Redis.XGroupCreateMkStream(ctx, sc.Keys.FanIn, scripts.Group, "0").Err()
	if err := s.b.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{Group: scripts.Group, Consumer: worker, Streams: []string{sc.Keys.FanIn, ">"}, Block: -1}).Err(); err != nil && !errors.Is(err, redis.Nil) {
		s.t.Fatal(err)
	}
	claimed, _, err := s.b.Redis.XAutoClaim(ctx, &redis.XAutoClaimArgs{Stream: sc.Keys.FanIn, Group: scripts.Group, Consumer: worker, Start: "0"}).Result()
	if err != nil {
		s.t.Fatal(err)
	}
	entry := scripts.Entry{Stream: sc.Keys.FanIn, Group: scripts.Group, Consumer: worker}
	for _, m := range claimed {
		if m.Values["id"] == id {
			entry.ID = m.ID
		}
	}
	outcome, f, err := sc.Folds.Claim(ctx, scripts.Claim{
		Message: scripts.Message{ID: id, Attempt: 1}, Worker: worker, Known: []string{state.Definition}, Redelivered: state.Worker != "", Entry: entry,
	})
	if err != nil || outcome != scripts.OK {
		s.t.Fatal(outcome, err)
	}
	return f
}

// TestPoisonInFanIn: a fold that kills every worker before it can report an error fails after the
// configured number of tries.
func TestPoisonInFanIn(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport)
	id := s.ready()
	for _, worker := range numbers(7) {
		s.claim(id, worker)
	}
	s.serve(s.config)
	if v := s.wait(id)[0]; v.Status != report.Failed || v.Error != "fan-in: given up after 7 tries: worker 7 fell silent" {
		t.Errorf("%+v", v)
	}
	s.idle()
}

// hangingSink hangs in every write until its context ends.
type hangingSink struct {
	sink.Sink
	hangs chan struct{}
}

func (s *hangingSink) Create(ctx context.Context, _ sink.Object) (sink.Writer, error) {
	close(s.hangs)
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestAStopHandsAFoldBack: a process that stops hands its fold back without using a try. Another
// process takes it at once.
func TestAStopHandsAFoldBack(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport, "limits: {stop: 100ms, lease: 10m}")
	id := s.ready()
	files := &hangingSink{Sink: s.dirSink(), hangs: make(chan struct{})}
	stop := s.serveWith(s.b.Records, files)
	<-files.hangs
	stop()
	// Its file was small, so it is published before its object is begun.
	state, err := s.b.Partitions.First().Jobs.Read(t.Context(), id)
	if err != nil || state.Worker != "" || state.Fold.Tries != 0 || state.Status != job.StatusPublishing {
		t.Errorf("%+v %v", state, err)
	}
	s.serve(s.config)
	s.content(s.wait(id)[0])
	s.idle()
}

// TestARedisOutageUsesNoTry: an outage of Redis for several leases does not count as a try. The
// workers continue their work before another worker takes it over.
func TestARedisOutageUsesNoTry(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, strings.Replace(slowReport, "stages:", "retry: 0\n    stages:", 1), "limits: {lease: 3s, grace: 5m}")
	for range 2 {
		s.process("-c", s.config, "serve")
	}
	var ids []string
	for range 8 {
		ids = append(ids, s.insert("slow", `{"seconds": 6}`))
	}
	s.push(ids...)
	for _, id := range ids {
		s.taken(id)
	}
	s.redis.Stop()
	back := time.NewTimer(5 * time.Second)
	defer back.Stop()
	<-back.C
	if err := s.redis.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, v := range s.wait(ids...) {
		if v.Status != report.Success || v.Attempt != 1 {
			t.Errorf("%+v", v)
		}
	}
	s.idle()
}

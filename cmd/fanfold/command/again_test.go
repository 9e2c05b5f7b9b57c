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

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/e2e"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
)

// againReport sleeps as long as the table knob says. Its query may take half a second.
const againReport = `
  again:
    retry: {retries: 3, delay: 200ms}
    stages: [{listeners: [{name: one, database: db, timeout: 500ms, query: "SELECT id AS k, SLEEP(seconds) AS v FROM {schema}.knob"}]}]
`

func (s *stack) knob(seconds int) {
	s.Helper()
	s.Records.Exec("CREATE TABLE IF NOT EXISTS knob (id INT PRIMARY KEY, seconds INT)")
	s.Records.Exec("REPLACE INTO knob VALUES (1, ?)", seconds)
}

// TestATransientErrorIsTriedAgain: a query that fails is retried, and its job ends with a complete
// file.
func TestATransientErrorIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newStack(t, againReport)
	s.knob(30)
	s.Serve(s.File)
	id := s.Records.Insert("again", "")
	s.Jobs.Push(id)
	s.Eventually("a retry", func() bool { _, n := s.Jobs.Retries(id, "one"); return n > 0 })
	s.knob(0)
	if got := s.Files.Content(s.Jobs.Wait(id)[0]); got != "k,v\r\n1,0\r\n" {
		t.Errorf("%q", got)
	}
	s.Jobs.Idle()

	s.knob(30)
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
	s := newStack(t, `
  away:
    retry: {retries: 1, delay: 200ms}
    stages: [{listeners: [{name: one, database: source, timeout: 20s, query: "SELECT 1 AS k"}]}]
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

// slowReport sleeps as long as a parameter says.
const slowReport = `
  slow:
    parameters: {seconds: integer}
    stages: [{listeners: [{name: one, database: db, query: "SELECT 1 AS k, SLEEP(:seconds) AS v"}]}]
`

// TestSIGTERM: work that can end within limits.stop is completed, and the process exits with 0.
func TestSIGTERM(t *testing.T) {
	t.Parallel()
	s := newStack(t, slowReport)
	p := s.process("-c", s.File, "serve")
	id := s.Records.Insert("slow", `{"seconds": 2}`)
	s.Jobs.Push(id)
	s.States.Taken(id)
	end(t, p, syscall.SIGTERM)
	state, err := s.Partitions.First().Jobs.Read(t.Context(), id)
	if err != nil || !state.Tasks["one"].Done || state.Tasks["one"].Tries != 1 {
		t.Errorf("%+v %v", state, err)
	}
	s.process("-c", s.File, "serve")
	s.Files.Content(s.Jobs.Wait(id)[0])
}

// TestSIGTERMHandsBack: work that does not end within limits.stop is handed back and does not count
// as a try. Another process takes it at once, before the lease ends.
func TestSIGTERMHandsBack(t *testing.T) {
	t.Parallel()
	s := newStack(t, slowReport, "limits: {stop: 200ms, lease: 10m}")
	p := s.process("-c", s.File, "serve")
	id := s.Records.Insert("slow", `{"seconds": 5}`)
	s.Jobs.Push(id)
	s.States.Taken(id)
	end(t, p, syscall.SIGTERM)
	state, err := s.Partitions.First().Jobs.Read(t.Context(), id)
	if err != nil || state.Tasks["one"].Done || state.Tasks["one"].Owner != "" || state.Tasks["one"].Tries != 0 {
		t.Errorf("%+v %v", state, err)
	}
	s.process("-c", s.File, "serve")
	s.Files.Content(s.Jobs.Wait(id)[0])
	s.Jobs.Idle()
}

// TestASecondSignal: a second signal kills the process at once.
func TestASecondSignal(t *testing.T) {
	t.Parallel()
	s := newStack(t, slowReport, "limits: {stop: 10m}")
	p := s.process("-c", s.File, "serve")
	id := s.Records.Insert("slow", `{"seconds": 300}`)
	s.Jobs.Push(id)
	s.States.Taken(id)
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	var err error
	s.Eventually("the process ends", func() bool {
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

// TestPoisonInFanIn: a fold that kills every worker before it can report an error fails after the
// configured number of tries.
func TestPoisonInFanIn(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	id := s.States.Ready()
	for _, worker := range e2e.Numbers(7) {
		s.States.Claim(id, worker)
	}
	s.Serve(s.File)
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Failed || v.Error != "fan-in: given up after 7 tries: worker 7 fell silent" {
		t.Errorf("%+v", v)
	}
	s.Jobs.Idle()
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
	s := newStack(t, e2e.Slow, "limits: {stop: 100ms, lease: 10m}")
	id := s.States.Ready()
	files := &hangingSink{Sink: s.Files.Sink(), hangs: make(chan struct{})}
	stop := s.Roles.With(s.Process.Records, files)
	<-files.hangs
	stop()
	// Its file was small, so it is published before its object is begun.
	state, err := s.Partitions.First().Jobs.Read(t.Context(), id)
	if err != nil || state.Worker != "" || state.Fold.Tries != 0 || state.Status != job.StatusPublishing {
		t.Errorf("%+v %v", state, err)
	}
	s.Serve(s.File)
	s.Files.Content(s.Jobs.Wait(id)[0])
	s.Jobs.Idle()
}

// TestARedisOutageUsesNoTry: an outage of Redis for several leases does not count as a try. The
// workers continue their work before another worker takes it over.
func TestARedisOutageUsesNoTry(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, strings.Replace(slowReport, "stages:", "retry: 0\n    stages:", 1), "limits: {lease: 3s, grace: 5m}")
	for range 2 {
		s.process("-c", s.File, "serve")
	}
	var ids []string
	for range 8 {
		ids = append(ids, s.Records.Insert("slow", `{"seconds": 6}`))
	}
	s.Jobs.Push(ids...)
	for _, id := range ids {
		s.States.Taken(id)
	}
	s.Server.Stop()
	back := time.NewTimer(5 * time.Second)
	defer back.Stop()
	<-back.C
	if err := s.Server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, v := range s.Jobs.Wait(ids...) {
		if v.Status != report.Success || v.Attempt != 1 {
			t.Errorf("%+v", v)
		}
	}
	s.Jobs.Idle()
}

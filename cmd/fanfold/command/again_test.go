package command

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/report"
)

// slowReport sleeps as long as a parameter says.
const slowReport = `
  slow:
    parameters: {seconds: integer}
    listeners: {one: {database: db, query: "SELECT 1 AS k, SLEEP(:seconds) AS v"}}
`

// TestSIGTERM: work that can end within limits.shutdown_timeout is completed, and the process exits with 0.
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

// TestSIGTERMHandsBack: work that does not end within limits.shutdown_timeout is handed back and does not count
// as a try. Another process takes it at once, before the lease ends.
func TestSIGTERMHandsBack(t *testing.T) {
	t.Parallel()
	s := newStack(t, slowReport, "limits: {shutdown_timeout: 200ms, lease: 10m}")
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
	s := newStack(t, slowReport, "limits: {shutdown_timeout: 10m}")
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

// TestARedisOutageUsesNoTry: an outage of Redis for several leases does not count as a try. The
// workers continue their work before another worker takes it over.
func TestARedisOutageUsesNoTry(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, strings.Replace(slowReport, "listeners:", "retry: 0\n    listeners:", 1), "limits: {lease: 3s, recover_after: 5m}")
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

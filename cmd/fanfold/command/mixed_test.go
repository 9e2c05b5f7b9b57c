package command

import (
	"context"
	"github.com/fanfold/fanfold/internal/audit"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// previousRelease is the variable with the path of another release's binary: see make mixed. Without it,
// the other release is this one under another name, so that the test itself stays right.
const previousRelease = "FANFOLD_PREVIOUS"

// TestReleasesSideBySide replaces processes of one release by those of another, and back, killing every
// other one, while jobs run and are pushed: each record ends once, as SUCCESS, with one file.
func TestReleasesSideBySide(t *testing.T) {
	t.Parallel()
	s := newStack(t, changing("v"), "limits: {lease: 2s, recover_after: 2s, shutdown_timeout: 1s}")
	command := func(previous bool, args ...string) *exec.Cmd {
		c := command(append([]string{"-c", s.File}, args...)...)
		if binary := os.Getenv(previousRelease); previous && binary != "" {
			c.Path, c.Args[0] = binary, binary
		} else if previous {
			c.Env = append(c.Env, asVersion+"=previous")
		}
		return c
	}
	start := func(previous bool) *exec.Cmd {
		var log written
		c := command(previous, "serve")
		c.Stdout, c.Stderr = &log, &log
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Process.Kill()
			_ = c.Wait()
			if t.Failed() {
				t.Logf("previous: %v\n%s", previous, log.String())
			}
		})
		return c
	}
	migrate := func(previous bool) {
		if out, err := command(previous, "migrate").CombinedOutput(); err != nil {
			t.Errorf("migrate, previous: %v: %v %s", previous, err, out)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pushed := make(chan []string)
	go func() {
		var ids []string
		defer func() { pushed <- ids }()
		tick := time.NewTicker(150 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			id, err := s.Process.Records.Insert(t.Context(), record.Request{Report: "changing", Parameters: []byte(`{"seconds": "` + []string{"0", "0.5", "3"}[n%3] + `"}`)})
			if err == nil {
				err = s.Operate.Jobs.Push(audit.With(t.Context(), &audit.Actor{Who: "test"}), id)
			}
			if err != nil {
				t.Error(err)
				return
			}
			ids = append(ids, id)
		}
	}()
	members := s.Partitions.First().Definitions
	running := [2]*exec.Cmd{start(true), start(true)}
	for step, previous := range []bool{false, false, true, true, false, true} {
		n := step % 2
		stop := syscall.SIGINT
		if step%3 == 0 {
			stop = syscall.SIGKILL
		}
		migrate(previous)
		before := s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status = 'SUCCESS'")
		s.Eventually("jobs end", func() bool {
			return s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status = 'SUCCESS'") >= before+5
		})
		_ = running[n].Process.Signal(stop)
		_ = running[n].Wait()
		running[n] = start(previous)
		s.Eventually("the new process runs", func() bool {
			found, err := members.Processes(t.Context())
			return err == nil && len(found) >= 2
		})
	}
	cancel()
	ids := <-pushed
	anew := 0
	for _, v := range s.Jobs.Wait(ids...) {
		if v.Status != report.Success || s.Files.Content(v) != "k,v\r\n1,0\r\n" {
			t.Errorf("%+v", v)
		}
		if v.Attempt > 1 {
			anew++
		}
	}
	t.Logf("%d jobs, %d of them in a later attempt", len(ids), anew)
	for _, c := range running {
		_ = c.Process.Signal(syscall.SIGINT)
		if err := c.Wait(); err != nil {
			t.Errorf("serve after an interrupt: %v", err)
		}
	}
	if wrong := e2e.Agree(s.Stack); wrong != "" {
		t.Error(wrong)
	}
	s.Jobs.Idle()
}

package command

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
)

// processes runs fanfold in processes of its own, with the configurations of a stack.
type processes struct{ *e2e.Stack }

// process starts fanfold as a separate process, which is killed at the end of the test.
func (p processes) process(args ...string) *exec.Cmd {
	p.Helper()
	return p.processWith(nil, args...)
}

// processWith is process with additional environment variables.
func (p processes) processWith(env []string, args ...string) *exec.Cmd {
	p.Helper()
	c := command(args...)
	c.Env = append(c.Env, env...)
	var log bytes.Buffer
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
		if p.Failed() {
			p.Logf("process %d: %s", c.Process.Pid, log.String())
		}
	})
	return c
}

// startOnly starts a job on which no listener works.
func (p processes) startOnly(id string) {
	p.Helper()
	c := p.process("-c", p.File, "serve", "--roles", "engine")
	p.Jobs.Push(id)
	p.Eventually("started", func() bool {
		return p.Redis.Exists(p.Context(), p.Partitions.First().Keys.Job(id)).Val() == 1
	})
	_ = c.Process.Signal(os.Interrupt)
	if err := c.Wait(); err != nil {
		p.Errorf("serve after an interrupt: %v", err)
	}
}

// command returns a command that runs this test binary as fanfold.
func command(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asFanfold+"=1")
	c.WaitDelay = 10 * time.Second
	return c
}

// openBackend opens a configuration with the kinds of the command.
func openBackend(config string) (*backend, error) {
	f := flags{kinds: kinds.Standard()}
	return f.open(config)
}

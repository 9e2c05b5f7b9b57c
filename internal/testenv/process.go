package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// process is a child that runs until it is stopped or killed, or until this process ends.
type process struct {
	cmd    *exec.Cmd
	done   chan struct{} // closed when it has ended
	output *tail
}

// startProcess starts a program and keeps the end of its output for errors.
func startProcess(name string, args ...string) (*process, error) {
	path, err := find(name)
	if err != nil {
		return nil, err
	}
	return startCommand(exec.Command(path, args...), childAttributes(syscall.SIGKILL))
}

// startCommand starts a command with these attributes.
func startCommand(cmd *exec.Cmd, attributes *syscall.SysProcAttr) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{}), output: &tail{}}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.Env = append(os.Environ(), "LC_ALL=C")
	p.cmd.SysProcAttr = attributes
	started := make(chan error, 1)
	go func() {
		// The parent-death signal is sent when the thread that forked ends: keep
		// that thread for as long as the child lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait()
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("testenv: start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// stop sends SIGTERM, and kills the process if it has not ended after 10 s.
func (p *process) stop() { p.end(syscall.SIGTERM, syscall.SIGKILL) }

// kill kills the process and waits for its end.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// end sends a signal, another one if the process has not ended after 10 s, and waits for the end.
func (p *process) end(first, second syscall.Signal) {
	p.signal(first)
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		p.signal(second)
		<-p.done
	}
}

func (p *process) signal(s os.Signal) {
	select {
	case <-p.done:
	default:
		_ = p.cmd.Process.Signal(s)
	}
}

// await polls ready until it returns nil, the process ends, or ctx does. The pauses grow with the time that a
// check takes: those of a set of servers would take time from the tests that run in parallel.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	for {
		began := time.Now()
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("testenv: %s ended: %s", p.cmd.Path, p.output)
		case <-ctx.Done():
			return fmt.Errorf("testenv: %s is not ready: %w: %s", p.cmd.Path, errors.Join(ctx.Err(), err), p.output)
		case <-time.After(min(max(5*time.Millisecond, 4*time.Since(began)), 100*time.Millisecond)):
		}
	}
}

// packages names the Debian package of every program.
var packages = map[string]string{
	"redis-server":       "redis-server",
	"redis-cli":          "redis-tools",
	"mariadbd":           "mariadb-server",
	"mariadb-install-db": "mariadb-server",
	"rabbitmq-server":    "rabbitmq-server",
	"epmd":               "rabbitmq-server",
	"postgres":           "postgresql",
	"initdb":             "postgresql",
}

// RedisProgram is the environment variable that names a program to run instead of redis-server,
// such as valkey-server. It must take the same arguments, including --sentinel.
const RedisProgram = "FANFOLD_TEST_REDIS"

// find returns the path of a program. Debian installs some servers outside of the PATH.
func find(name string) (string, error) {
	redis, database, postgres := os.Getenv(RedisProgram), os.Getenv(DatabaseProgram), os.Getenv(PostgresProgram)
	switch {
	case name == "redis-server" && redis != "":
		return exec.LookPath(redis)
	case name == "mariadbd" && database != "":
		return exec.LookPath(database)
	case name == "mariadb-install-db" && database != "":
		return exec.LookPath(filepath.Join(filepath.Dir(database), name))
	case name == "postgres" && postgres != "":
		return exec.LookPath(postgres)
	case name == "initdb" && postgres != "":
		return exec.LookPath(filepath.Join(filepath.Dir(postgres), name))
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	versions, _ := filepath.Glob("/usr/lib/postgresql/*/bin/")
	for _, dir := range append([]string{"/usr/sbin/", "/usr/local/sbin/", "/usr/libexec/"}, versions...) {
		if path, err := exec.LookPath(dir + name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("testenv: %s is not installed: run `make deps`, or apt-get install %s", name, packages[name])
}

// tail keeps the last 4 KB that were written to it.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(b)
	if over := t.buf.Len() - 4096; over > 0 {
		t.buf.Next(over)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}

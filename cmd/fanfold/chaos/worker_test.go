package chaos

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// crew has the roles of the workers. There are at least two of every role, so that one can take
// over when the other is dead.
var crew = []string{
	"engine,listeners,scheduler", "engine,listeners,scheduler",
	"engine,scheduler", "listeners,scheduler", "engine,listeners",
}

// worker runs a fanfold process and starts it again whenever it ends.
type worker struct {
	number  int
	round   *round
	config  string
	log     string
	taps    map[string]*tap
	proxies map[string]testmain.Proxy
	busy    map[string]*sync.Mutex // one fault at a time in a proxy

	crashing atomic.Bool // crash points are enabled
	closing  chan struct{}
	done     chan struct{}

	mu      sync.Mutex
	process *os.Process // nil if none runs
	life    int
	plan    crash
	calls   int
}

func (r *round) newWorker(t testing.TB, number int, upstream map[string]string, names map[string]string) *worker {
	w := &worker{
		number: number, round: r, taps: map[string]*tap{}, proxies: map[string]testmain.Proxy{}, busy: map[string]*sync.Mutex{},
		config: filepath.Join(r.dir, fmt.Sprintf("worker%d.yaml", number)), log: filepath.Join(r.dir, fmt.Sprintf("worker%d.log", number)),
		closing: make(chan struct{}), done: make(chan struct{}),
	}
	for server, address := range upstream {
		w.proxies[server] = testmain.NewProxy(t, address)
		w.busy[server] = &sync.Mutex{}
		w.taps[server] = newTap(t, server, w.proxies[server].Addr, names, w.die)
	}
	relay := ""
	if tap := w.taps["redis"]; tap != nil {
		relay = tap.addr()
	}
	text := r.configuration(relay, w.taps["mysql"].addr(), spoolAbove(number))
	if err := os.WriteFile(w.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	go w.live()
	return w
}

// live keeps a process running.
func (w *worker) live() {
	defer close(w.done)
	log, err := os.OpenFile(w.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		w.round.violated("log of a worker: %v", err)
		return
	}
	defer log.Close()
	for {
		c := fanfold("-c", w.config, "serve", "--roles", crew[w.number])
		c.Env = append(c.Env, untilEOF+"=1", "STORAGE_EMULATOR_HOST="+w.taps["sink"].addr(), "GOMAXPROCS=2")
		c.Stdout, c.Stderr = copied{log}, copied{log}
		stdin, err := c.StdinPipe()
		if err == nil {
			err = w.start(c)
		}
		if errors.Is(err, errClosing) {
			return
		} else if err != nil {
			w.round.violated("start worker %d: %v", w.number, err)
			return
		}
		w.end(c, stdin)
		select {
		case <-w.closing:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// copied is a log into which this process writes for a worker: the worker's disk can be full.
type copied struct{ io.Writer }

var errClosing = errors.New("the worker ends for good")

func (w *worker) start(c *exec.Cmd) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.closing:
		return errClosing
	default:
	}
	if err := c.Start(); err != nil {
		return err
	}
	w.process, w.calls = c.Process, 0
	w.plan = crashOf(w.round.seed, stepsAt(relays(w.round.kind)), w.number, w.life)
	w.life++
	w.round.totals.add("processes", 1)
	return nil
}

// end waits for a process and checks how it ended: killed, stopped, or because a server was down at
// its start.
func (w *worker) end(c *exec.Cmd, stdin io.Closer) {
	err := c.Wait()
	stdin.Close()
	w.mu.Lock()
	w.process = nil
	w.mu.Unlock()
	var exit *exec.ExitError
	switch code := c.ProcessState.ExitCode(); {
	case err == nil:
		w.round.totals.add("processes stopped", 1)
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled():
		w.round.totals.add("processes killed", 1)
	case code == unreachable:
		w.round.totals.add("processes that found no server", 1)
	default:
		w.round.totals.add(fmt.Sprintf("processes that ended with %d", code), 1)
	}
}

// signal sends a signal to the process and reports whether there was one.
func (w *worker) signal(s os.Signal) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.process != nil && w.process.Signal(s) == nil
}

// die kills the process if one of these calls is its crash point, and reports whether it did.
func (w *worker) die(steps []string, answer bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.process == nil {
		return true // data that a killed process has sent before
	}
	if !w.crashing.Load() {
		return false
	}
	if !answer {
		w.calls++
	}
	hit := ""
	if w.plan.after == answer && slices.Contains(steps, w.plan.step) {
		if w.plan.skip--; w.plan.skip < 0 {
			hit = w.plan.step
		}
	}
	if hit == "" && w.calls >= w.plan.calls {
		hit = steps[0]
	}
	if hit == "" {
		return false
	}
	if err := w.process.Signal(syscall.SIGKILL); err != nil {
		return true
	}
	w.process = nil // at most once
	side := "before"
	if answer {
		side = "after"
	}
	w.round.totals.add("crash", 1)
	w.round.totals.add("crash "+side+" "+hit, 1)
	return true
}

// stop ends the worker for good.
func (w *worker) stop() {
	w.mu.Lock()
	close(w.closing)
	p := w.process
	w.mu.Unlock()
	if p != nil {
		_ = p.Signal(syscall.SIGCONT)
		_ = p.Signal(syscall.SIGTERM)
	}
	select {
	case <-w.done:
	case <-time.After(20 * time.Second):
		w.round.violated("worker %d does not stop within 20 s of SIGTERM", w.number)
		w.mu.Lock()
		if w.process != nil {
			_ = w.process.Kill()
		}
		w.mu.Unlock()
		<-w.done
	}
	for server, tap := range w.taps {
		tap.close()
		w.proxies[server].Close()
	}
}

// read checks the worker's log for messages that must never appear, and counts the takeovers.
func (w *worker) read() {
	b, err := os.ReadFile(w.log)
	if err != nil {
		w.round.violated("log of worker %d: %v", w.number, err)
	}
	for line := range strings.Lines(string(b)) {
		switch {
		case strings.HasPrefix(line, "panic:"), strings.HasPrefix(line, "fatal error:"), strings.Contains(line, "DATA RACE"):
			w.round.violated("worker %d: %s", w.number, line)
		case strings.Contains(line, `msg="took over entries"`):
			var n int
			_, count, _ := strings.Cut(line, " entries=")
			_, _ = fmt.Sscan(count, &n)
			w.round.totals.add("entries taken over", n)
		}
	}
}

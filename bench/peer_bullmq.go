package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// bullMQ is a node process with bullmq/peer.js, which says how it works. Commands
// and what it tells go through pipes. On two cores, beside Redis, a second process
// does not make it faster.
type bullMQ struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	ready  chan struct{} // closed when it has connected
	pushed chan struct{} // one for each push
	ended  chan struct{} // closed when it has ended

	mu   sync.Mutex // one command at a time
	told told       // set before the workers are started
	err  error      // set before ended is closed
}

var _ delayer = (*bullMQ)(nil)

// missingBullMQ installs BullMQ where node and npm are.
func missingBullMQ(ctx context.Context) error {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return err
		}
	}
	// Not ci, which refuses a lock file that names one of its optional binaries for
	// Linux only.
	return command(ctx, os.Stderr, "npm", "install", "--no-save", "--prefix", "bullmq", "--loglevel", "error",
		"--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund")
}

func startBullMQ(ctx context.Context, s servers, listeners int) (peer, error) {
	_, port, _ := strings.Cut(s.redis.Addr, ":")
	p := &bullMQ{ready: make(chan struct{}), pushed: make(chan struct{}, 1), ended: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, "node", "peer.js", port, strconv.Itoa(listeners))
	p.cmd.Dir, p.cmd.Stderr = "bullmq", os.Stderr
	input, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.input = input
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.listen(output)
	return p, p.await(ctx, p.ready)
}

// listen reads what the process says until it ends.
func (p *bullMQ) listen(output io.Reader) {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		id, wrong, _ := strings.Cut(rest, " ")
		switch word {
		case "ready":
			close(p.ready)
		case "pushed":
			p.pushed <- struct{}{}
		case "started":
			p.told.started(id)
		case "folded":
			var err error
			if wrong != "" {
				err = errors.New(wrong)
			}
			p.told.folded(id, err)
		}
	}
	p.err = errors.Join(lines.Err(), p.cmd.Wait())
	close(p.ended)
}

// await waits for a signal of the process.
func (p *bullMQ) await(ctx context.Context, signal <-chan struct{}) error {
	select {
	case <-signal:
		return nil
	case <-p.ended:
		return fmt.Errorf("node has ended: %w", p.err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// bullCommand is one line to the process.
type bullCommand struct {
	Push []string `json:"push,omitempty"`
	At   int64    `json:"at,omitempty"` // ms
	Run  bool     `json:"run,omitempty"`
	Tell bool     `json:"tell,omitempty"` // of what has started
}

func (p *bullMQ) push(ctx context.Context, ids []string) error {
	return p.add(ctx, bullCommand{Push: ids})
}

func (p *bullMQ) pushAt(ctx context.Context, id string, at time.Time) error {
	return p.add(ctx, bullCommand{Push: []string{id}, At: at.UnixMilli()})
}

func (p *bullMQ) add(ctx context.Context, c bullCommand) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := json.NewEncoder(p.input).Encode(c); err != nil {
		return err
	}
	return p.await(ctx, p.pushed)
}

func (p *bullMQ) run(ctx context.Context, tell told) error {
	p.told = tell
	p.mu.Lock()
	err := json.NewEncoder(p.input).Encode(bullCommand{Run: true, Tell: tell.started != nil})
	p.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-p.ended:
	}
	// It ends when its workers have: nothing is told after that.
	return p.stop()
}

func (p *bullMQ) stop() error {
	_ = p.input.Close()
	<-p.ended
	return p.err
}

// hash is the parent's; that of the values goes with it.
func (*bullMQ) hash(id string) string { return "bull:folds:" + id }

func (p *bullMQ) close() { _ = p.stop() }

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
	"strings"
	"sync"
	"time"
)

// child is a process that does the unit of work. It says by lines what happens:
// "ready" when it has connected, "pushed" for each push, "started ID", and "folded
// ID", with what was wrong with the job. When its input ends it says "cpu", with the CPU
// time that its work has taken, and ends.
type child struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	ready  chan struct{} // closed when it has connected
	pushed chan struct{} // one for each push
	ended  chan struct{} // closed when it has ended

	mu   sync.Mutex // one command at a time
	told told       // set before the workers are started
	err  error      // set before ended is closed
	peak float64    // largest resident set in MB, set by stop

	cpu time.Duration // of its work; set before ended is closed
}

// childCommand is one line to the process.
type childCommand struct {
	Push []string `json:"push,omitempty"`
	At   int64    `json:"at,omitempty"` // ms
	Run  bool     `json:"run,omitempty"`
	Tell bool     `json:"tell,omitempty"` // of what has started
}

// startChild starts a process and waits until it is ready.
func startChild(ctx context.Context, cmd *exec.Cmd) (*child, error) {
	c := &child{cmd: cmd, ready: make(chan struct{}), pushed: make(chan struct{}, 1), ended: make(chan struct{})}
	cmd.Stderr = os.Stderr
	var err error
	if c.input, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go c.listen(output)
	return c, c.await(ctx, c.ready)
}

// listen reads what the process says until it ends.
func (c *child) listen(output io.Reader) {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		id, wrong, _ := strings.Cut(rest, " ")
		switch word {
		case "ready":
			close(c.ready)
		case "pushed":
			c.pushed <- struct{}{}
		case "started":
			c.told.started(id)
		case "folded":
			var err error
			if wrong != "" {
				err = errors.New(wrong)
			}
			c.told.folded(id, err)
		case "cpu":
			c.cpu, _ = time.ParseDuration(rest)
		}
	}
	c.err = errors.Join(lines.Err(), c.cmd.Wait())
	close(c.ended)
}

// await waits for a signal of the process.
func (c *child) await(ctx context.Context, signal <-chan struct{}) error {
	select {
	case <-signal:
		return nil
	case <-c.ended:
		return fmt.Errorf("%s has ended: %w", c.cmd.Path, c.err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// add has the process push, and waits for that.
func (c *child) add(ctx context.Context, push childCommand) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := json.NewEncoder(c.input).Encode(push); err != nil {
		return err
	}
	return c.await(ctx, c.pushed)
}

func (c *child) run(ctx context.Context, tell told) error {
	c.told = tell
	c.mu.Lock()
	err := json.NewEncoder(c.input).Encode(childCommand{Run: true, Tell: tell.started != nil})
	c.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-c.ended:
	}
	// It ends when its workers have: nothing is told after that.
	return c.stop()
}

func (c *child) stop() error {
	if mb, err := peakMemory(c.cmd.Process.Pid); err == nil { // it may have ended
		c.peak = mb
	}
	_ = c.input.Close()
	<-c.ended
	return c.err
}

func (c *child) close() { _ = c.stop() }

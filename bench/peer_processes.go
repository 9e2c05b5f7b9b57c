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
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/internal/testenv"
)

// fanfolds is Fanfold in processes of its own, each with all roles: this program
// once more, with -worker.
type fanfolds struct {
	*fanfold // pushes
	children []*child
}

func startFanfolds(ctx context.Context, server *testenv.Redis, processes int) (*fanfolds, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f := &fanfolds{}
	if f.fanfold, err = newFanfold(server, fanfoldOptions{listeners: workerListeners}); err != nil {
		return nil, err
	}
	for range processes {
		c, err := startChild(ctx, exec.CommandContext(ctx, self, "-worker", server.Addr))
		if err != nil {
			f.close()
			return nil, err
		}
		f.children = append(f.children, c)
	}
	return f, nil
}

func (f *fanfolds) run(ctx context.Context, tell told) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, c := range f.children {
		group.Go(func() error { return c.run(ctx, tell) })
	}
	return group.Wait()
}

// peak is the largest resident set of all processes together, in MB, once they were
// stopped.
func (f *fanfolds) peak() (mb float64) {
	for _, c := range f.children {
		mb += c.peak
	}
	return mb
}

// cpu is what all processes together have used, once they have ended.
func (f *fanfolds) cpu() (used time.Duration) {
	for _, c := range f.children {
		used += c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
	}
	return used
}

func (f *fanfolds) close() {
	for _, c := range f.children {
		c.close()
	}
	f.fanfold.close()
}

// workerListeners is the fan-out where Fanfold runs in processes of its own.
const workerListeners = 2

// beWorker is such a process: it works when it is told to, until its input ends.
func beWorker(ctx context.Context, addr string) error {
	f, err := newFanfold(&testenv.Redis{Addr: addr}, fanfoldOptions{
		listeners: workerListeners, consumer: "bench-" + strconv.Itoa(os.Getpid()), apart: true,
	})
	if err != nil {
		return err
	}
	defer f.close()
	if err := f.client.Ping(ctx).Err(); err != nil {
		return err
	}
	var mu sync.Mutex
	out := bufio.NewWriter(os.Stdout)
	say := func(words ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(out, words...)
		_ = out.Flush() // nobody is there to listen: then the input ends, too
	}
	say("ready")
	input := json.NewDecoder(os.Stdin)
	if err := input.Decode(new(childCommand)); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	return f.run(ctx, told{folded: func(id string, err error) {
		if err != nil {
			say("folded", id, err)
		} else {
			say("folded", id)
		}
	}})
}

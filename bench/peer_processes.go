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
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/report"
)

// fanfolds is Fanfold in processes of its own, each with all roles: this program
// once more, with -worker.
type fanfolds struct {
	*fanfold // pushes
	children []*child
}

func startFanfolds(ctx context.Context, s servers, processes int) (*fanfolds, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f := &fanfolds{}
	if f.fanfold, err = newFanfold(s.at(), fanfoldOptions{listeners: workerListeners}); err != nil {
		return nil, err
	}
	var addresses []string
	for _, n := range s.nodes() {
		addresses = append(addresses, n.Addr)
	}
	for range processes {
		c, err := startChild(ctx, exec.CommandContext(ctx, self, "-worker", strings.Join(addresses, ","), "-partitions", strconv.Itoa(s.partitions)))
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

// cpu is what the work of all processes together has used, once they have ended.
func (f *fanfolds) cpu() (used time.Duration) {
	for _, c := range f.children {
		used += c.cpu
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
func beWorker(ctx context.Context, addresses []string, partitions int) error {
	at := report.Redis{Cluster: addresses, Partitions: partitions}
	if len(addresses) == 1 {
		at.Cluster, at.URL = nil, report.Secret("redis://"+addresses[0])
	}
	f, err := newFanfold(at, fanfoldOptions{
		listeners: workerListeners, consumer: "bench-" + strconv.Itoa(os.Getpid()), apart: true,
	})
	if err != nil {
		return err
	}
	defer f.close()
	if err := f.client.Ping(ctx).Err(); err != nil {
		return err
	}
	lines := make(chan string, 1000)
	var saying sync.WaitGroup
	saying.Go(func() {
		out := bufio.NewWriter(os.Stdout)
		for line := range lines {
			fmt.Fprintln(out, line)
			if len(lines) == 0 {
				_ = out.Flush() // nobody is there to listen: then the input ends, too
			}
		}
	})
	defer saying.Wait()
	defer close(lines)
	say := func(words ...string) { lines <- strings.Join(words, " ") }
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
	began := usedCPU()
	err = f.run(ctx, told{folded: func(id string, err error) {
		if err != nil {
			say("folded", id, err.Error())
		} else {
			say("folded", id)
		}
	}})
	say("cpu", (usedCPU() - began).String())
	return err
}

// usedCPU is the CPU time that this process has used.
func usedCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // its arguments are right
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

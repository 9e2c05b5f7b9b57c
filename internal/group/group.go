// Package group is a group commit: calls that come at the same time share a round trip.
// While one runs, calls gather for the next one: few under light load, many under heavy
// load, and none waits for others to come. A round trip of a single call, which may be slow
// for its own reasons, lets another one run beside it.
package group

import (
	"context"
	"iter"
	"runtime"
	"sync"
)

// Group gathers calls into batches. It is safe for concurrent use.
type Group[C any] struct {
	size int
	run  func(batches iter.Seq[[]C])

	mu      sync.Mutex
	queue   []*batch[C]
	running int
	single  int // how many of the round trips that run have a single call
}

// batch is what shares a round trip.
type batch[C any] struct {
	calls []C
	done  chan struct{}
}

// New returns a group. run carries out batches of up to size calls until there are no
// more; it sets the outcomes of a batch before it takes the next one, and is called at
// most twice at the same time.
func New[C any](size int, run func(batches iter.Seq[[]C])) *Group[C] {
	return &Group[C]{size: size, run: run}
}

// Do returns when a call was carried out, or with the error of ctx. The call may run
// although ctx has ended.
func (g *Group[C]) Do(ctx context.Context, call C) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	last := len(g.queue) - 1
	if last < 0 || len(g.queue[last].calls) == g.size {
		g.queue = append(g.queue, &batch[C]{done: make(chan struct{})})
		last++
	}
	b := g.queue[last]
	b.calls = append(b.calls, call)
	if g.running == 0 || g.running == 1 && g.single == 1 {
		g.running++
		go func() {
			runtime.Gosched() // calls that are about to come are in the first batch
			g.run(g.batches)
		}()
	}
	g.mu.Unlock()
	select {
	case <-b.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Waiting returns how many calls are in no round trip yet.
func (g *Group[C]) Waiting() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, b := range g.queue {
		n += len(b.calls)
	}
	return n
}

// batches yields what is queued until nothing is, or until a round trip of several calls runs
// beside this one, which goes on with the queue.
func (g *Group[C]) batches(yield func([]C) bool) {
	single := 0 // 1 if the batch has a single call
	for {
		g.mu.Lock()
		g.single -= single
		if len(g.queue) == 0 || g.running-1 > g.single {
			g.running--
			g.mu.Unlock()
			return
		}
		b := g.queue[0]
		g.queue = g.queue[1:]
		if single = 0; len(b.calls) == 1 {
			single = 1
		}
		g.single += single
		g.mu.Unlock()
		yield(b.calls)
		close(b.done)
	}
}

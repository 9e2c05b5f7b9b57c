// Package group answers one question: how do concurrent calls share a round trip? It is a group
// commit: while a round trip runs, calls gather for the next one. Batches are small under light
// load and large under heavy load, and no call waits for others to arrive. A round trip of a single
// call, which may be slow for its own reasons, lets another one run beside it.
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
	single  int // how many running round trips have a single call
}

// batch is the set of calls that share a round trip.
type batch[C any] struct {
	calls []C
	done  chan struct{}
}

// New returns a Group. Run carries out batches of at most size calls until the sequence ends; it
// sets the outcomes of a batch before it takes the next one. At most two calls of run run at once.
func New[C any](size int, run func(batches iter.Seq[[]C])) *Group[C] {
	return &Group[C]{size: size, run: run}
}

// Do returns when the call was carried out, or with the error of ctx. The call may run even if ctx
// has ended.
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
			runtime.Gosched() // let calls that are about to arrive join the first batch
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

// Waiting returns how many calls are not in a round trip yet.
func (g *Group[C]) Waiting() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, b := range g.queue {
		n += len(b.calls)
	}
	return n
}

// batches yields queued batches until the queue is empty, or until a round trip of several calls
// runs beside this one and continues with the queue.
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

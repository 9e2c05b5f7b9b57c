// Package group is a group commit: calls that come at the same time share a round trip.
// While round trips run, calls gather for the next one: few under light load, many under
// heavy load, and none waits for others to come.
package group

import (
	"context"
	"iter"
	"sync"
)

// depth is how many round trips of a group run at once: when one is slow, such as at a
// locked row, others go on.
const depth = 2

// Group gathers calls into batches. It is safe for concurrent use.
type Group[C any] struct {
	size int
	run         func(batches iter.Seq[[]C])

	mu      sync.Mutex
	queue   []*batch[C]
	running int
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
	if g.running < depth {
		g.running++
		go g.run(g.batches)
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

// batches yields what is queued until nothing is.
func (g *Group[C]) batches(yield func([]C) bool) {
	for {
		g.mu.Lock()
		if len(g.queue) == 0 {
			g.running--
			g.mu.Unlock()
			return
		}
		b := g.queue[0]
		g.queue = g.queue[1:]
		g.mu.Unlock()
		yield(b.calls)
		close(b.done)
	}
}

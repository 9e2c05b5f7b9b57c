package scripts

import (
	"context"
	"sync"
)

const (
	// groupDepth is how many round trips of a group run at once. Meanwhile calls gather
	// for the next one: few under light load, many under heavy load, and none waits for
	// others to come.
	groupDepth = 2
	// groupCalls bounds how many calls share a round trip.
	groupCalls = 256
)

// group is a group commit: calls that come at the same time share a round trip.
type group struct {
	run func(calls []*completion) // sets the outcome of every call

	mu      sync.Mutex
	queue   []*completion
	running int
}

// do waits for the outcome of a call, or for the end of ctx. The call may run although ctx
// has ended.
func (g *group) do(ctx context.Context, c *completion) (Outcome, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	c.done = make(chan struct{})
	g.mu.Lock()
	g.queue = append(g.queue, c)
	if g.running < groupDepth {
		g.running++
		go g.drain()
	}
	g.mu.Unlock()
	select {
	case <-c.done:
		return c.outcome, c.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// drain runs what is queued until nothing is.
func (g *group) drain() {
	for {
		g.mu.Lock()
		n := min(len(g.queue), groupCalls)
		if n == 0 {
			g.running--
			g.mu.Unlock()
			return
		}
		calls := g.queue[:n:n]
		g.queue = g.queue[n:]
		g.mu.Unlock()

		g.run(calls)
		for _, c := range calls {
			close(c.done)
		}
	}
}

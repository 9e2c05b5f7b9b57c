package scripts

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// pipelineDepth is how many round trips are under way at once. While they
	// are, calls gather for the next one: few under light load, many under heavy
	// load, without waiting for anything.
	pipelineDepth = 4
	// pipelineCalls bounds how many calls share a round trip.
	pipelineCalls = 256
)

// pipeline lets calls that come at the same time share a round trip.
type pipeline struct {
	rdb     redis.UniversalClient
	timeout time.Duration
	split   bool // keys of several jobs cannot be in one call

	mu      sync.Mutex
	queue   []*waiting
	running int
}

// waiting is a row of commands that one caller waits for; they run in its order.
type waiting struct {
	cmds []redis.Cmder
	done chan struct{}
}

// do runs the commands in one round trip, perhaps with those of others. Each
// command has its own error; do returns only that of ctx. The commands may run
// although ctx has ended: their arguments must not be changed after that.
func (p *pipeline) do(ctx context.Context, cmds ...redis.Cmder) error {
	if err := ctx.Err(); err != nil || len(cmds) == 0 {
		return err
	}
	w := &waiting{cmds: cmds, done: make(chan struct{})}
	p.mu.Lock()
	p.queue = append(p.queue, w)
	if p.running < pipelineDepth {
		p.running++
		go p.drain()
	}
	p.mu.Unlock()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drain sends what is queued until nothing is.
func (p *pipeline) drain() {
	for {
		p.mu.Lock()
		n := min(len(p.queue), pipelineCalls)
		if n == 0 {
			p.running--
			p.mu.Unlock()
			return
		}
		together := p.queue[:n:n]
		p.queue = p.queue[n:]
		p.mu.Unlock()

		p.send(together)
		for _, w := range together {
			close(w.done)
		}
	}
}

func (p *pipeline) send(together []*waiting) {
	ctx, cancel := context.WithTimeout(context.Background(), p.timeout)
	defer cancel()
	if !p.split {
		batches, cmds := merge(together)
		run(ctx, p.rdb, batches, cmds)
		return
	}
	var cmds []redis.Cmder
	for _, w := range together {
		cmds = append(cmds, w.cmds...)
	}
	run(ctx, p.rdb, nil, cmds)
}

// run runs batches, and then commands, in one round trip.
func run(ctx context.Context, rdb redis.UniversalClient, batches []*batch, cmds []redis.Cmder) {
	all := make([]redis.Cmder, 0, len(batches)+len(cmds))
	for _, b := range batches {
		all = append(all, b.cmd(ctx))
	}
	for _, cmd := range cmds {
		if c, ok := cmd.(*call); ok {
			b := &batch{of: []*call{c}}
			batches = append(batches, b)
			cmd = b.cmd(ctx)
		}
		all = append(all, cmd)
	}
	exec(ctx, rdb, all)
	resend(ctx, rdb, all)
	for _, b := range batches {
		b.share()
	}
}

// resend runs those commands again, in their order, that did not run because
// Redis does not know their script: it was restarted, or its cache flushed. They
// bring the script with them this time, so that it cannot be missing.
func resend(ctx context.Context, rdb redis.UniversalClient, cmds []redis.Cmder) {
	var again []redis.Cmder
	for _, cmd := range cmds {
		if isNoScript(cmd.Err()) {
			args := cmd.Args()
			args[0], args[1] = "eval", all[args[1].(string)].source
			again = append(again, cmd)
		}
	}
	if len(again) > 0 {
		exec(ctx, rdb, again)
	}
}

// exec runs the commands as one pipeline; each gets its own error, also where
// the connection failed before its turn.
func exec(ctx context.Context, rdb redis.UniversalClient, cmds []redis.Cmder) {
	pipe := rdb.Pipeline()
	for _, cmd := range cmds {
		_ = pipe.Process(ctx, cmd) // queues it; errors come with Exec
	}
	_, _ = pipe.Exec(ctx)
}

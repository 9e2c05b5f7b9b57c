package stream

import (
	"context"
	"sync"
	"time"
)

// Holds are what a process keeps alive with Keep, by the id of the job: a hint about
// one has its renewals come at once. The zero value is ready; it is safe for
// concurrent use.
type Holds struct {
	mu   sync.Mutex
	held map[string]map[*time.Timer]struct{}
}

// Keep is the function Keep, for the job of that id.
func (h *Holds) Keep(ctx context.Context, id string, lease time.Duration, renew func(context.Context) (bool, error)) (held context.Context, stop func()) {
	held, timer, end := keep(ctx, lease, renew)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil {
		h.held = map[string]map[*time.Timer]struct{}{}
	}
	if h.held[id] == nil {
		h.held[id] = map[*time.Timer]struct{}{}
	}
	h.held[id][timer] = struct{}{}
	return held, func() {
		h.mu.Lock()
		delete(h.held[id], timer)
		if len(h.held[id]) == 0 {
			delete(h.held, id)
		}
		h.mu.Unlock()
		end()
	}
}

// Hint has what is held of a job be renewed now: who has lost it finds that.
func (h *Holds) Hint(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for timer := range h.held[id] {
		timer.Reset(0)
	}
}

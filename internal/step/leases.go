package step

import (
	"context"
	"sync"
	"time"
)

// Leases are what a process keeps alive with Keep, by the id of the job: a hint about
// one has its renewals come at once. The zero value is ready; it is safe for
// concurrent use.
type Leases struct {
	mu   sync.Mutex
	held map[string]map[*time.Timer]struct{}
}

// Keep is the function Keep, for the job of that id.
func (l *Leases) Keep(ctx context.Context, id string, lease time.Duration, renew func(context.Context) (bool, error)) (held context.Context, stop func()) {
	held, timer, end := keep(ctx, lease, renew)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[string]map[*time.Timer]struct{}{}
	}
	if l.held[id] == nil {
		l.held[id] = map[*time.Timer]struct{}{}
	}
	l.held[id][timer] = struct{}{}
	return held, func() {
		l.mu.Lock()
		delete(l.held[id], timer)
		if len(l.held[id]) == 0 {
			delete(l.held, id)
		}
		l.mu.Unlock()
		end()
	}
}

// Hint has what is held of a job be renewed now: who has lost it finds that.
func (l *Leases) Hint(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for timer := range l.held[id] {
		timer.Reset(0)
	}
}

package step

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Leases are what a process keeps alive with Keep, by the id of the job: a hint about
// one has its renewals come at once. The zero value is ready; it is safe for
// concurrent use.
type Leases struct {
	mu   sync.Mutex
	held map[string][]*time.Timer
}

// Keep is the function Keep, for the job of that id.
func (l *Leases) Keep(ctx context.Context, id string, lease time.Duration, renew func(context.Context) (bool, error)) (held context.Context, stop func()) {
	held, timer, end := keep(ctx, lease, renew)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[string][]*time.Timer{}
	}
	l.held[id] = append(l.held[id], timer)
	return held, func() {
		l.mu.Lock()
		left := slices.DeleteFunc(l.held[id], func(t *time.Timer) bool { return t == timer })
		if l.held[id] = left; len(left) == 0 {
			delete(l.held, id)
		}
		l.mu.Unlock()
		end()
	}
}

// Hint renews the leases of a job now: a worker that has lost one finds that.
func (l *Leases) Hint(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, timer := range l.held[id] {
		timer.Reset(0)
	}
}

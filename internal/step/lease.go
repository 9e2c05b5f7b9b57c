package step

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrLost is the cause of the end of a context from Keep whose holder has lost
// what it held.
var ErrLost = errors.New("step: another owner has taken over, or the job has ended")

// firstRenewal is after how long a lease is renewed for the first time, at the latest: from
// then on people see who works on the step.
const firstRenewal = 500 * time.Millisecond

// Keep calls renew three times in each lease until stop is called. The context
// that it returns ends with ErrLost when renew answers false. That renew fails
// changes nothing: every write is fenced anyway, and Redis may come back within
// the lease. Stop waits for the last call of renew.
func Keep(ctx context.Context, lease time.Duration, renew func(context.Context) (bool, error)) (held context.Context, stop func()) {
	held, _, stop = keep(ctx, lease, renew)
	return held, stop
}

// keep is Keep, and returns the timer of the renewals as well.
func keep(ctx context.Context, lease time.Duration, renew func(context.Context) (bool, error)) (held context.Context, timer *time.Timer, stop func()) {
	held, cancel := context.WithCancelCause(ctx)
	var mu sync.Mutex // held while renew runs
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(min(lease/3, firstRenewal), func() {
		mu.Lock()
		defer mu.Unlock()
		if held.Err() != nil {
			return
		}
		if ok, err := renew(held); err == nil && !ok {
			cancel(ErrLost)
		}
		timer.Reset(lease / 3)
	})
	return held, timer, func() {
		cancel(context.Canceled)
		timer.Stop()
		mu.Lock() // a call of renew that is under way ends first
		defer mu.Unlock()
	}
}

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

package step

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrLost is the cause of a context from Renew that ended because the lease was lost.
var ErrLost = errors.New("step: another owner has taken over, or the job has ended")

// firstRenewal is the maximum delay before a lease is renewed for the first time. From then on the
// state shows who works on the step.
const firstRenewal = 500 * time.Millisecond

// Renew calls renew three times per lease until stop is called. The context that it returns ends
// with ErrLost when renew returns false. Errors of renew are ignored: every write is fenced, and
// Redis may come back within the lease. Stop waits for a running call of renew.
func Renew(ctx context.Context, lease time.Duration,
	renew func(context.Context) (bool, error)) (leased context.Context, stop func()) {
	leased, _, stop = renewWithTimer(ctx, lease, renew)
	return leased, stop
}

// renewWithTimer is Renew, and also returns the timer of the renewals.
func renewWithTimer(ctx context.Context, lease time.Duration,
	renew func(context.Context) (bool, error)) (leased context.Context, timer *time.Timer, stop func()) {
	leased, cancel := context.WithCancelCause(ctx)
	var mu sync.Mutex // locked while renew runs
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(min(lease/3, firstRenewal), func() {
		mu.Lock()
		defer mu.Unlock()
		if leased.Err() != nil {
			return
		}
		if ok, err := renew(leased); err == nil && !ok {
			cancel(ErrLost)
		}
		timer.Reset(lease / 3)
	})
	return leased, timer, func() {
		cancel(context.Canceled)
		timer.Stop()
		mu.Lock() // wait for a running call of renew
		defer mu.Unlock()
	}
}

// Leases are the leases that a process renews, by job id, so that a hint about a job can renew its
// leases at once. The zero value is ready to use. It is safe for concurrent use.
type Leases struct {
	mu     sync.Mutex
	timers map[string][]*time.Timer
}

// Renew is the function Renew, for the lease of a job.
func (l *Leases) Renew(ctx context.Context, id string, lease time.Duration,
	renew func(context.Context) (bool, error)) (leased context.Context, stop func()) {
	leased, timer, end := renewWithTimer(ctx, lease, renew)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timers == nil {
		l.timers = map[string][]*time.Timer{}
	}
	l.timers[id] = append(l.timers[id], timer)
	return leased, func() {
		l.mu.Lock()
		left := slices.DeleteFunc(l.timers[id], func(t *time.Timer) bool { return t == timer })
		if l.timers[id] = left; len(left) == 0 {
			delete(l.timers, id)
		}
		l.mu.Unlock()
		end()
	}
}

// Hint renews the leases of a job now, so that a worker that has lost one stops at once.
func (l *Leases) Hint(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, timer := range l.timers[id] {
		timer.Reset(0)
	}
}

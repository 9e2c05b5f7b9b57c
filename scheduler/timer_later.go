package scheduler

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/internal/stream"
	"github.com/fanfold/fanfold/scripts"
)

const (
	// shortWait is the longest wait that keeps a slot: with longer ones an endpoint
	// that is away would hold up the actions of all others.
	shortWait = time.Second
	// outageWait is the time between two tries where a server is away.
	outageWait = 3 * time.Second
	// strangeWait is the least time after which another process may read a firing
	// that no definition here matches, and a half of the most: with the same time
	// always, it could be the same process that reads it again each time.
	strangeWait = time.Second
)

// postponed says that an action is to be tried later.
type postponed struct {
	error
	wait  time.Duration
	tries int // that were made
}

func (p *postponed) Unwrap() error { return p.error }

// postpone puts a firing where it waits without a slot. Where that fails, it is
// taken over after the lease.
func (t *Timers) postpone(ctx context.Context, entry stream.Entry, p *postponed) {
	// Also in a process that is about to stop: a try that was made counts.
	quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackTime)
	defer cancel()
	e := scripts.FiredEntry{Name: entry.Fields["name"], Due: entry.Fields["due"], Late: entry.Fields["late"], Try: p.tries}
	if _, err := t.scripts.FireLater(quick, t.o.Consumer, entry.ID, e, p.wait); err != nil {
		t.log.Warn("left for later", "timer", e.Name, "err", err)
		return
	}
	t.log.Debug("timer waits", "timer", e.Name, "wait", p.wait, "err", p.error)
	t.later.ring()
}

// bringBack brings firings back that have waited long enough, and returns how
// long it is until the next one.
func (t *Timers) bringBack(ctx context.Context) (time.Duration, error) {
	wait, err := t.scripts.FireAgain(ctx, most)
	if wait < 0 {
		wait = pause
	}
	return wait, err
}

// waited waits, and tells whether nobody has stopped it.
func waited(stopping <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-stopping:
		return false
	case <-timer.C:
		return true
	}
}

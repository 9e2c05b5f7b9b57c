package scheduler

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/scripts"
)

const (
	// mostHeardTimeouts bounds the timeouts that wait; beyond, the sweep finds them.
	mostHeardTimeouts = 100_000
	// atOnce is how many timeouts are under way at once.
	atOnce = 32
	// lockTime is how long a timeout belongs to the process that took its lock.
	lockTime = time.Second
)

// timeout is the end of an attempt's timeout key.
type timeout struct {
	id      string
	attempt int64
}

// heardTimeouts are those that were heard and wait. It is safe for concurrent use.
type heardTimeouts struct {
	bell bell
	mu   sync.Mutex
	set  map[timeout]bool
}

// add adds a timeout and tells whether there was room.
func (h *heardTimeouts) add(t timeout) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.set) >= mostHeardTimeouts {
		return false
	}
	if h.set == nil {
		h.set = map[timeout]bool{}
	}
	h.set[t] = true
	h.bell.ring()
	return true
}

// take returns all, which do not wait any more.
func (h *heardTimeouts) take() map[timeout]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	set := h.set
	h.set = nil
	return set
}

// failExpired decides that the jobs fail whose timeout was heard.
func (s *Scheduler) failExpired(ctx context.Context) (time.Duration, error) {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for t := range s.expired.take() {
		group.Go(func() error { return s.failHeard(ctx, t) })
	}
	return pause, group.Wait()
}

// failHeard decides it of one job, if no other scheduler that has heard the same
// does. The lock only saves work, and ends by itself: the script decides once.
func (s *Scheduler) failHeard(ctx context.Context, t timeout) error {
	key := s.scripts.Lock("timeout:" + t.id + ":" + strconv.FormatInt(t.attempt, 10))
	_, err := s.locks.Obtain(ctx, key, lockTime, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil
	}
	// A Redis that is full has no room for a lock, but for the decision.
	_, err = s.fail(ctx, t.id, byEvent)
	return err
}

// fail decides that a job fails, if its deadline has passed.
func (s *Scheduler) fail(ctx context.Context, id, found string) (scripts.Outcome, error) {
	outcome, late, err := s.scripts.Expire(ctx, id)
	if err == nil && outcome == scripts.OK {
		s.metrics.timeout(found, late)
		s.log.Info("job is over its deadline", "job", id, "late", late, "found", found)
	}
	return outcome, err
}

package scheduler

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/scripts"
)

const (
	// touches bounds how often a timeout key is touched until it is gone, a
	// millisecond apart.
	touches = 10
	// mostTouched is how many deadlines one pass takes.
	mostTouched = 1000
	// newKeys is how long the keys of jobs that start are gathered until the next
	// deadline is looked for: one might be within the second of the sleep.
	newKeys = 20 * time.Millisecond
	// deaf is how long after a deadline its event is waited for: then the sweep
	// decides.
	deaf = 100 * time.Millisecond
)

// touchPassed ends the timeout keys of the jobs whose deadline has passed since
// the last call, so that Redis publishes that they have expired: by itself it does
// so when it happens to find them. It returns how long it is until the next
// deadline. What goes wrong here, the sweep makes up for.
func (s *Scheduler) touchPassed(ctx context.Context) (time.Duration, error) {
	t, err := s.scripts.Passed(ctx, s.looked, mostTouched)
	if err != nil {
		return 0, err
	}
	if len(t.Passed) > 0 {
		if err := s.touch(ctx, t.Passed); err != nil {
			return 0, err
		}
	}
	// What is settled only later, or in another attempt, is not looked at again.
	s.looked = t.Last
	if t.Wait < 0 {
		return pause, nil
	}
	return t.Wait, nil
}

func (s *Scheduler) touch(ctx context.Context, ids []string) error {
	if !s.hears.Load() {
		s.sweeps.ring()
		return nil
	}
	attempts, statuses, err := s.scripts.Attempts(ctx, ids)
	if err != nil {
		return err
	}
	var keys []string
	for i, id := range ids {
		if mayExpire(statuses[i]) {
			keys = append(keys, s.scripts.Timeout(id, attempts[i]))
		}
	}
	if len(keys) == 0 {
		return nil
	}
	s.sweeps.ringIn(deaf + 10*time.Millisecond)
	return s.touchKeys(ctx, keys)
}

// touchKeys touches keys until they are gone.
func (s *Scheduler) touchKeys(ctx context.Context, keys []string) error {
	for range touches {
		var err error
		if keys, err = s.scripts.Touch(ctx, keys); err != nil || len(keys) == 0 {
			return err
		}
		if !rest(ctx, time.Millisecond) {
			return nil
		}
	}
	return nil
}

// mayExpire tells whether a deadline means something to a job: later, it is being
// finished.
func mayExpire(status string) bool {
	return status == scripts.StatusRun || status == scripts.StatusReady || status == scripts.StatusFold
}

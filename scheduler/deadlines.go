package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

const (
	// newKeys is how long starts of jobs are gathered before the next deadline is read: one of them
	// might be within the second of the sleep.
	newKeys = 20 * time.Millisecond
	// deaf is how long after a deadline its event is awaited before the sweep fails the job.
	deaf = 100 * time.Millisecond
	// atOnce is how many jobs are failed concurrently.
	atOnce = 32
	// lockTime is how long an expired event belongs to the process that took its lock.
	lockTime = time.Second
)

// deadlines fails jobs whose deadline has passed.
type deadlines struct {
	*base
	lost *lost

	next    step.Bell   // wakes touchWake
	event   step.Bell   // wakes failExpired
	sweep   step.Bell   // wakes failOverdue
	expired atomic.Bool // the wake key has expired since failExpired
	passed  int64       // the last deadline (ms) that touchWake has read
}

// touchWake touches the wake key once the next deadline has passed, so that Redis publishes its
// expiry at once instead of when it happens to find the key. Then the key is set for the next
// deadline. touchWake returns the time until that. The sweep compensates for its failures.
func (s *deadlines) touchWake(ctx context.Context) (time.Duration, error) {
	t, err := s.scripts.Clock.Passed(ctx, s.passed, most)
	if err != nil {
		return 0, err
	}
	// What is settled only later, or in another attempt, is not read again.
	s.passed = t.Last
	switch {
	case len(t.Passed) > 0 && s.hears.Load():
		s.sweep.RingIn(deaf + 10*time.Millisecond)
	case len(t.Passed) > 0:
		s.sweep.Ring()
	}
	if t.Wait < 0 {
		return pause, nil
	}
	return t.Wait, nil
}

// failExpired fails the jobs whose deadline has passed, after the wake key's expired event. Of the
// schedulers that receive an event, one does so: the lock only saves work and expires on its own;
// the script decides once.
func (s *deadlines) failExpired(ctx context.Context) (time.Duration, error) {
	if !s.expired.Swap(false) {
		return pause, nil
	}
	for jobs, err := range s.scripts.Clock.Overdue(ctx, 0) {
		if err != nil {
			s.expired.Store(true)
			return 0, err
		}
		if len(jobs) == 0 {
			break
		}
		last := jobs[len(jobs)-1]
		// A full Redis cannot store the lock, but accepts the decision.
		what := fmt.Sprintf("timeout:%s:%d", last.Name, int64(last.Score))
		if ok, err := s.scripts.TryLock(ctx, what, lockTime); !ok && err == nil {
			continue
		}
		if err := s.failAll(ctx, jobs, byEvent); err != nil {
			return 0, err
		}
	}
	return pause, nil
}

// failOverdue fails the jobs whose deadline has passed and whose event was missed. The engine gives
// the records their status; the deadline stays until the job is settled.
func (s *deadlines) failOverdue(ctx context.Context) (time.Duration, error) {
	by := time.Duration(0)
	if s.hears.Load() {
		by = deaf // their event may still arrive
	}
	for jobs, err := range s.scripts.Clock.Overdue(ctx, by) {
		if err != nil {
			return 0, err
		}
		if err := s.failAll(ctx, jobs, bySweep); err != nil {
			return 0, err
		}
	}
	return pause, nil
}

// failAll fails jobs whose deadline has passed. An error of one job does not affect the others.
func (s *deadlines) failAll(ctx context.Context, jobs []scripts.Member, found string) error {
	ids := make([]string, len(jobs))
	for i, j := range jobs {
		ids[i] = j.Name
	}
	attempts, statuses, err := s.scripts.Jobs.Attempts(ctx, ids)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, id := range ids {
		if attempts[i] != 0 && !slices.Contains(expiring, statuses[i]) {
			continue // it is ending already
		}
		group.Go(func() error {
			if err := s.fail(ctx, id, found); err != nil && ctx.Err() == nil {
				s.log.Warn("could not fail a job that passed its deadline; will try again", "job", id, "err", err)
			}
			return nil
		})
	}
	return group.Wait()
}

// fail fails a job if its deadline has passed.
func (s *deadlines) fail(ctx context.Context, id, found string) error {
	outcome, late, err := s.scripts.Jobs.Expire(ctx, id)
	switch {
	case errors.Is(err, scripts.ErrBroken):
		return s.lost.pushBroken(ctx, id)
	case err != nil:
		return err
	case outcome == scripts.OK:
		s.metrics.timeout(found, late)
		s.log.Info("the job passed its deadline", "job", id, "late", late, "found", found)
	case outcome == scripts.Gone && found == bySweep:
		// An ended job has no deadline, so this job has lost its hash.
		if outcome, err = s.scripts.Clock.Repair(ctx, id); outcome == scripts.OK {
			s.log.Warn("a job that passed its deadline has lost its hash; pushing its id again", "job", id)
		}
	}
	return err
}

// expiring are the statuses to which a deadline applies: with a later one, a job is being finished.
var expiring = []string{job.StatusRun, job.StatusReady, job.StatusFold, scripts.StatusBroken, scripts.StatusGarbled}

package scheduler

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/scripts"
)

// failOverdue decides that the jobs fail whose deadline has passed and of which
// nothing was heard. The engine gives the records their status; until it has
// settled a job, the deadline stays.
func (s *Scheduler) failOverdue(ctx context.Context) (time.Duration, error) {
	by := time.Duration(0)
	if s.hears.Load() {
		by = deaf // their events are on their way
	}
	for ids, err := range s.scripts.Overdue(ctx, by) {
		if err != nil {
			return 0, err
		}
		attempts, statuses, err := s.scripts.Attempts(ctx, ids)
		if err != nil {
			return 0, err
		}
		var group errgroup.Group
		group.SetLimit(atOnce)
		for i, id := range ids {
			if attempts[i] != 0 && !mayExpire(statuses[i]) && statuses[i] != scripts.StatusBroken {
				continue // it is ending already
			}
			group.Go(func() error {
				// One that cannot be failed must not keep the others from it.
				if err := s.failOne(ctx, id); err != nil && ctx.Err() == nil {
					s.log.Warn("fail overdue job", "job", id, "err", err)
				}
				return nil
			})
		}
		_ = group.Wait()
	}
	return pause, nil
}

func (s *Scheduler) failOne(ctx context.Context, id string) error {
	outcome, err := s.fail(ctx, id, bySweep)
	if err != nil || outcome != scripts.Gone {
		return err
	}
	// A state that is final has no deadline: this one has lost its state.
	if outcome, err = s.scripts.PushAgain(ctx, id); outcome == scripts.OK {
		s.log.Warn("state of an overdue job is lost", "job", id)
	}
	return err
}

package scheduler

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/scripts"
)

// failOverdue fails the jobs whose deadline has passed. The engine gives the
// records their status; until it has settled a job, the deadline stays.
func (s *Scheduler) failOverdue(ctx context.Context) (time.Duration, error) {
	for id, err := range s.scripts.Overdue(ctx) {
		if err != nil {
			return 0, err
		}
		// One that cannot be failed must not keep the others from it.
		if err := s.failOne(ctx, id); err != nil {
			s.log.Warn("fail overdue job", "job", id, "err", err)
		}
	}
	return pause, nil
}

func (s *Scheduler) failOne(ctx context.Context, id string) error {
	outcome, err := s.scripts.Expire(ctx, id)
	if err != nil {
		return err
	}
	if outcome == scripts.OK {
		s.log.Info("job is over its deadline", "job", id)
	}
	if outcome != scripts.Gone {
		return nil
	}
	// A state that is final has no deadline: this one has lost its state.
	if outcome, err = s.scripts.PushAgain(ctx, id); outcome == scripts.OK {
		s.log.Warn("state of an overdue job is lost", "job", id)
	}
	return err
}

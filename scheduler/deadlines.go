package scheduler

import (
	"context"
	"errors"
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
		outcome, err := s.scripts.Expire(ctx, id)
		if err != nil {
			return 0, err
		}
		switch outcome {
		case scripts.OK:
			s.log.Info("job is over its deadline", "job", id)
		case scripts.Gone:
			// A state that is final has no deadline: this one is lost.
			if _, err := s.scripts.Read(ctx, id); !errors.Is(err, scripts.ErrNoJob) {
				continue
			}
			s.log.Warn("state of an overdue job is lost", "job", id)
			if err := s.scripts.PushAgain(ctx, id); err != nil {
				return 0, err
			}
		}
	}
	return pause, nil
}

package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// maxTold is how many jobs a pass reads. Of more, each has its turn.
const maxTold = 200

// tellProgress writes, in one process at a time, into the hash of each job that has run for a while
// how far it is. It is for people: no other part of Fanfold reads it, and a short job never has it.
func (s *Scheduler) tellProgress(ctx context.Context) (time.Duration, error) {
	every := s.pace.progress
	switch _, err := s.locks.Obtain(ctx, s.scripts.Keys.Lock("progress"), every*9/10, nil); {
	case errors.Is(err, redislock.ErrNotObtained):
		return every, nil
	case err != nil:
		return every, full(err)
	}
	now, err := s.scripts.Now(ctx)
	if err != nil {
		return every, err
	}
	running, err := s.scripts.Jobs.Running(ctx)
	if err != nil || running == 0 {
		return every, err
	}
	pages := (running + maxTold - 1) / maxTold
	found, err := s.scripts.Jobs.List(ctx, now.UnixMilli()/every.Milliseconds()%pages*maxTold, maxTold)
	if err != nil {
		return every, err
	}
	var jobs []*job.State
	var texts []string
	var unknown error // how long earlier runs took
	for _, f := range found {
		if f.State == nil || now.Sub(f.State.Started) < every {
			continue
		}
		took, err := s.past.Of(ctx, f.State.Report)
		unknown = errors.Join(unknown, err)
		jobs, texts = append(jobs, f.State), append(texts, f.State.Progress(now, took.Left(now.Sub(f.State.Started))))
	}
	if len(jobs) == 0 {
		return every, nil
	}
	_, err = s.scripts.Jobs.Tell(ctx, jobs, texts)
	return every, errors.Join(unknown, full(err))
}

// full is nil for a Redis that is full: it takes what ends jobs, and no line for people.
func full(err error) error {
	if errors.Is(err, scripts.ErrFull) || redis.HasErrorPrefix(err, "OOM") {
		return nil
	}
	return err
}

package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// maxTold is how many jobs a pass reads at most; further jobs are read in later passes.
const maxTold = 200

// tellProgress writes, in one process at a time, how far a job is into the hash of every job that
// has run for a while. The text is for people: no other part of Fanfold reads it, and short jobs
// never have it.
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
		jobs, texts = append(jobs, f.State), append(texts, progressLine(f.State, now, took.Left(now.Sub(f.State.Started))))
	}
	if len(jobs) == 0 {
		return every, nil
	}
	_, err = s.scripts.Jobs.WriteProgress(ctx, jobs, texts)
	return every, errors.Join(unknown, full(err))
}

// full hides the error of a full Redis, which accepts only what ends jobs.
func full(err error) error {
	if scripts.Full(err) {
		return nil
	}
	return err
}

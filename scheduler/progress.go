package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/scripts/past"
)

// maxTold is how many jobs a pass reads at most; further jobs are read in later passes.
const maxTold = 200

// progress writes how far jobs are.
type progress struct {
	*base
	past *past.Runs // of the reports of this partition
}

// once writes, in one process at a time, how far a job is into the hash of every job that
// has run for a while. The text is for people: no other part of Fanfold reads it, and short jobs
// never have it.
func (s *progress) once(ctx context.Context) (time.Duration, error) {
	every := s.pace.progress
	if ok, err := s.scripts.TryLock(ctx, "progress", every*9/10); !ok {
		return every, full(err)
	}
	found, now, err := s.scripts.Jobs.Turn(ctx, every, maxTold)
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
		jobs = append(jobs, f.State)
		texts = append(texts, progressLine(f.State, now, took.Left(now.Sub(f.State.Started))))
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

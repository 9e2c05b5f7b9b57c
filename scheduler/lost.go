package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// lost finds jobs that wait for data that Redis has lost.
type lost struct {
	*base
	last time.Time // when this process last searched
}

// once finds, in one process at a time, jobs that wait for data that Redis has lost, after a
// foreign XDEL, XTRIM, SET or DEL, or an eviction. A step without a worker, a due time or an entry
// gets its message again: if the message was not lost after all, the second one does nothing. A job
// without data or state is pushed again, and starts with its next attempt. So is a job whose state
// another program has overwritten: its record fails.
func (s *lost) once(ctx context.Context) (time.Duration, error) {
	if time.Since(s.last) < s.pace.lost {
		return pause, nil
	}
	if ok, err := s.scripts.TryLock(ctx, "lost", s.pace.lost); !ok {
		return pause, err
	}
	s.last = time.Now()
	found, now, err := s.scripts.Jobs.Turn(ctx, s.pace.lost, scripts.LostJobs)
	if err != nil {
		return pause, err
	}
	wanted := map[string][]scripts.Message{} // by step
	var failed error
	for _, f := range found {
		switch {
		case f.Err != nil:
			failed = errors.Join(failed, s.pushBroken(ctx, f.ID))
		case f.State == nil:
			failed = errors.Join(failed, s.pushLost(ctx, f.ID))
		default:
			for _, step := range idleSteps(f.State, now) {
				wanted[step] = append(wanted[step], scripts.Message{ID: f.ID, Attempt: f.State.Attempt})
			}
		}
	}
	for step, messages := range wanted {
		failed = errors.Join(failed, s.resend(ctx, step, messages))
	}
	return pause, failed
}

// idleSteps returns the steps that a job waits for and that no worker has.
func idleSteps(state *job.State, now time.Time) (steps []string) {
	if state.Status == job.StatusRun {
		for _, name := range state.Listeners {
			if t := state.Tasks[name]; !t.Done && now.After(t.Lease) {
				steps = append(steps, name)
			}
		}
	} else {
		steps = append(steps, job.StepFanIn)
	}
	return steps
}

// resend sends messages again that are missing in the stream and not delayed.
func (s *lost) resend(ctx context.Context, step string, messages []scripts.Message) error {
	var members []string
	for _, m := range messages {
		members = append(members, job.Later{ID: m.ID, Attempt: m.Attempt, Step: step}.String())
	}
	waits, err := s.scripts.Sets.Scores(ctx, s.scripts.Keys.Delayed, members)
	if err != nil {
		return err
	}
	var left []scripts.Message
	for i, m := range messages {
		if _, ok := waits[members[i]]; !ok {
			left = append(left, m)
		}
	}
	if len(left) == 0 {
		return nil
	}
	lost, err := s.scripts.Streams.Lost(ctx, step, left)
	if err != nil {
		return err
	}
	for m, entry := range lost {
		outcome, err := s.scripts.Streams.Resend(ctx, m, step, entry)
		if err != nil {
			return err
		}
		if outcome == scripts.OK {
			s.log.Warn("resent a lost message", "job", m.ID, "attempt", m.Attempt, "step", step, "stream", entry.Stream)
		}
	}
	return nil
}

// pushLost pushes a job again that has lost its state or data.
func (s *lost) pushLost(ctx context.Context, id string) error {
	outcome, err := s.scripts.Clock.Repair(ctx, id)
	if err == nil && outcome == scripts.OK {
		s.log.Warn("a running job has lost its state or data; pushed its id again", "job", id)
	}
	return err
}

// brokenEvery is how often a job whose state was overwritten is pushed again until an engine has
// failed its record.
const brokenEvery = 30 * time.Second

// pushBroken pushes a job again whose state another program has overwritten, in one process at a
// time: an engine fails its record and removes what stands in the place of the state.
func (s *lost) pushBroken(ctx context.Context, id string) error {
	_, statuses, err := s.scripts.Jobs.Attempts(ctx, []string{id})
	if err != nil || statuses[0] != scripts.StatusBroken && statuses[0] != scripts.StatusGarbled {
		return err
	}
	if ok, err := s.scripts.TryLock(ctx, "broken:"+id, brokenEvery); !ok {
		return err
	}
	s.log.Warn("another program overwrote the state of a running job; pushing its id, so that its record fails",
		"job", id, "key", s.scripts.Keys.Job(id))
	return s.scripts.Streams.Push(ctx, map[string]string{"id": id})
}

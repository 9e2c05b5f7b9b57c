package listeners

import (
	"context"
	"errors"
	"fmt"

	"github.com/fanfold/fanfold/internal/stream"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// retry is how often and when the task is tried again.
func (r *Runner) retry(t *scripts.Task) report.Retry {
	if l, _, ok := r.definitions[t.Definition].Listener(t.Listener); ok {
		return l.Retry
	}
	return report.DefaultRetry
}

// fail gives a task up: its job fails, or goes on without its listener where that is
// not required. It returns what became of the task.
func (r *Runner) fail(ctx context.Context, t *scripts.Task, why error) (outcome string, err error) {
	if l, _, ok := r.definitions[t.Definition].Listener(t.Listener); ok && l.CanOmit() {
		return taskOmitted, r.omit(ctx, t, l.OnFailure, why)
	}
	return taskFailed, r.failJob(ctx, t, why)
}

// blame says whose fault the error of a task is.
func blame(err error) scripts.Blame {
	switch {
	case errors.Is(err, scripts.ErrFull), errors.Is(err, errRedis):
		return scripts.BlameRedis
	case errors.Is(err, errReport):
		return scripts.BlameReport
	}
	return scripts.BlameSource
}

// omit has the job of a task go on without its listener.
func (r *Runner) omit(ctx context.Context, t *scripts.Task, policy report.OnFailure, why error) error {
	r.log.Warn("the job goes on without a listener", "job", t.ID, "attempt", t.Attempt, "listener", t.Listener, "policy", policy, "err", why)
	return r.giveUp(ctx, "omit task", func() (scripts.Outcome, error) {
		return t.Omit(ctx, string(policy), why.Error())
	})
}

// failJob fails the job of a task.
func (r *Runner) failJob(ctx context.Context, t *scripts.Task, why error) error {
	r.log.Warn("task failed", "job", t.ID, "attempt", t.Attempt, "listener", t.Listener, "err", why)
	return r.giveUp(ctx, "fail job", func() (scripts.Outcome, error) {
		return t.Fail(ctx, fmt.Sprintf("listener %s: %v", t.Listener, why), blame(why))
	})
}

// requeue has a task come again.
func (r *Runner) requeue(ctx context.Context, t *scripts.Task, a scripts.Again) error {
	if a.Waits {
		r.log.Debug("task waits", "job", t.ID, "attempt", t.Attempt, "listener", t.Listener, "in", a.Delay, "for", a.Error)
		return r.giveUp(ctx, "requeue task", func() (scripts.Outcome, error) { return t.Requeue(ctx, a) })
	}
	r.log.Warn("task comes again", "job", t.ID, "attempt", t.Attempt, "listener", t.Listener, "in", a.Delay, "counts", a.Counts, "err", a.Error)
	return r.giveUp(ctx, "requeue task", func() (scripts.Outcome, error) { return t.Requeue(ctx, a) })
}

// handBack leaves a task to the next reader, in a process that must stop now.
func (r *Runner) handBack(ctx context.Context, t *scripts.Task) error {
	r.log.Info("handed back: the process stops", "job", t.ID, "attempt", t.Attempt, "listener", t.Listener)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackTime)
	defer cancel()
	return r.giveUp(ctx, "hand task back", func() (scripts.Outcome, error) {
		return t.Requeue(ctx, scripts.Again{})
	})
}

// giveUp runs the last script for a task, until Redis is there.
func (r *Runner) giveUp(ctx context.Context, what string, script func() (scripts.Outcome, error)) error {
	var outcome scripts.Outcome
	err := r.insist(ctx, what, func() (err error) {
		outcome, err = script()
		return err
	})
	if err == nil && outcome == scripts.Busy {
		return errLeft
	}
	return err
}

// insist repeats an effect on Redis, which may be away for a while. It gives up
// where trying again cannot help.
func (r *Runner) insist(ctx context.Context, what string, f func() error) error {
	return stream.Insist(ctx, r.log, what, func() error {
		err := f()
		for _, final := range []error{scripts.ErrBroken, scripts.ErrChunk, scripts.ErrFull, scripts.ErrNoJob, scripts.ErrNoChunk} {
			if errors.Is(err, final) {
				return stream.Final(err)
			}
		}
		return err
	})
}

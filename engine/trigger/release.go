package trigger

import (
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/scripts"
)

// releaseEvery is the time between two polls of pauses and limits.
const releaseEvery = time.Second

// release pushes the ids that wait for reports that are no longer paused, or whose running jobs are
// fewer than their limit, until ctx ends. The command that resumes a report does so, too, but may die
// before it is done.
func (t *Trigger) release(ctx context.Context) error {
	waiting := map[string]bool{} // reports for which ids may wait
	for name := range t.Reports {
		waiting[name] = true
	}
	return step.Every(ctx, t.Log, releaseEvery, "push ids that wait for their reports", func(ctx context.Context) error {
		return t.releaseResumed(ctx, waiting)
	})
}

// releaseResumed pushes the ids of resumed and limited reports, and updates waiting. A failure of one report
// does not keep others.
func (t *Trigger) releaseResumed(ctx context.Context, waiting map[string]bool) (failed error) {
	for name, r := range t.Reports {
		paused, err := t.Scripts.Gate.IsPaused(ctx, scripts.PausedReport(name))
		switch {
		case err != nil:
			return err
		case !paused && r.Running > 0:
			failed = errors.Join(failed, t.releaseQueued(ctx, r))
			continue
		case paused || !waiting[name]:
			waiting[name] = waiting[name] || paused
			continue
		}
		if _, err := t.Scripts.Gate.ReleaseAll(ctx, name); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		waiting[name] = false
	}
	return failed
}

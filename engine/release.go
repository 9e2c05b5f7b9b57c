package engine

import (
	"context"
	"math"
	"time"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/scripts"
)

// releaseEvery is the time between two polls of pauses and limits.
const releaseEvery = time.Second

// release pushes the ids that wait for reports that are no longer paused, or whose running jobs are
// fewer than their limit, until ctx ends. The command that resumes a report does so, too, but may die
// before it is done.
func (e *Engine) release(ctx context.Context) error {
	waiting := map[string]bool{} // reports for which ids may wait
	for name := range e.o.Reports {
		waiting[name] = true
	}
	return step.Every(ctx, e.log, releaseEvery, "push ids that wait for their reports", func(ctx context.Context) error {
		return e.releaseResumed(ctx, waiting)
	})
}

// releaseResumed pushes the ids of resumed reports, and updates waiting.
func (e *Engine) releaseResumed(ctx context.Context, waiting map[string]bool) error {
	for name, r := range e.o.Reports {
		paused, err := e.o.Scripts.Gate.IsPaused(ctx, scripts.PausedReport(name))
		if err != nil {
			return err
		}
		if !paused && r.Running > 0 {
			if err := e.releaseQueued(ctx, r); err != nil {
				return err
			}
			continue
		}
		if paused || !waiting[name] {
			waiting[name] = waiting[name] || paused
			continue
		}
		if _, err := e.o.Scripts.Gate.Release(ctx, name, math.MaxInt); err != nil {
			return err
		}
		waiting[name] = false
	}
	return nil
}

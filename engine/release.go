package engine

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/scripts"
)

// releaseEvery is the time between two polls of pauses.
const releaseEvery = time.Second

// release pushes the ids that wait for reports that are no longer paused, until ctx ends. The
// command that resumes a report does so, too, but may die before it is done.
func (e *Engine) release(ctx context.Context) error {
	waiting := map[string]bool{} // reports for which ids may wait
	for name := range e.o.Reports {
		waiting[name] = true
	}
	return step.Every(ctx, e.log, releaseEvery, "push ids of resumed reports", func(ctx context.Context) error {
		return e.releaseResumed(ctx, waiting)
	})
}

// releaseResumed pushes the ids of resumed reports, and updates waiting.
func (e *Engine) releaseResumed(ctx context.Context, waiting map[string]bool) error {
	for name := range e.o.Reports {
		paused, err := e.o.Scripts.Gate.IsPaused(ctx, scripts.PausedReport(name))
		if err != nil {
			return err
		}
		if paused || !waiting[name] {
			waiting[name] = waiting[name] || paused
			continue
		}
		if _, err := e.o.Scripts.Gate.Release(ctx, name); err != nil {
			return err
		}
		waiting[name] = false
	}
	return nil
}

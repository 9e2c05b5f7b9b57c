package engine

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/scripts"
)

// releaseEvery is the time between two polls of what is paused.
const releaseEvery = time.Second

// release pushes the ids that wait for reports that are not paused any more, until ctx
// ends. Whoever resumes a report does so, too, but may die in the middle.
func (e *Engine) release(ctx context.Context) error {
	held := map[string]bool{} // reports for which ids may wait
	for name := range e.o.Reports {
		held[name] = true
	}
	return step.Every(ctx, e.log, releaseEvery, "release ids of reports that are resumed", func(ctx context.Context) error {
		return e.releaseResumed(ctx, held)
	})
}

// releaseResumed releases what is not paused, and notes what is.
func (e *Engine) releaseResumed(ctx context.Context, held map[string]bool) error {
	for name := range e.o.Reports {
		paused, err := e.o.Scripts.Gate.IsPaused(ctx, scripts.PausedReport(name))
		if err != nil {
			return err
		}
		if paused || !held[name] {
			held[name] = held[name] || paused
			continue
		}
		if _, err := e.o.Scripts.Gate.Release(ctx, name); err != nil {
			return err
		}
		held[name] = false
	}
	return nil
}

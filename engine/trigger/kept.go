package trigger

import (
	"context"
	"slices"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// findKept finds what the jobs that start can reuse.
func findKept(ctx context.Context, t *engine.Engine, pushes []*push) error {
	var of []*push
	var ids []string
	for _, p := range pushes {
		if p.reuse = nil; p.report.Keep > 0 && p.run.Attempt > 1 {
			of, ids = append(of, p), append(ids, p.id)
		}
	}
	if len(of) == 0 {
		return nil
	}
	return step.Ensure(ctx, t.Log, "find datasets that are kept", func() error {
		all, err := t.Scripts.Kept.Read(ctx, ids...)
		if err != nil || !slices.ContainsFunc(all, func(s *job.State) bool { return s != nil }) {
			return err
		}
		now, err := t.Scripts.Kept.Now(ctx)
		if err != nil {
			return err
		}
		for i, kept := range all {
			if kept == nil {
				continue
			}
			of[i].reuse = &scripts.Reuse{Attempt: kept.Attempt}
			for _, reading := range job.Readings(of[i].report, kept, of[i].parameters, of[i].within, now) {
				if reading.Reused > 0 {
					of[i].reuse.Listeners = append(of[i].reuse.Listeners, reading.Listener)
				}
			}
		}
		return nil
	})
}

package trigger

import (
	"context"
	"slices"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// forgetKept deletes what is kept of an id that does not start now, if its push bounds the age of what it reuses: while
// it waits, only the id is stored, and it would come again without the bound.
func forgetKept(ctx context.Context, t *engine.Engine, p *push) error {
	if p.within == job.AnyAge || p.record == nil || p.record.Attempt == 0 {
		return nil
	}
	return t.Scripts.Kept.Remove(ctx, p.id)
}

// reuses tells whether the run takes datasets from an earlier attempt, after findKept.
func (p *push) reuses() bool { return p.reuse != nil && len(p.reuse.Listeners) > 0 }

// findKept finds what the jobs that start can reuse.
func findKept(ctx context.Context, t *engine.Engine, pushes []*push) error {
	var of []*push
	var ids []string
	for _, p := range pushes {
		if p.reuse = nil; p.report.Keep > 0 && p.next() > 1 {
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
			p := of[i]
			p.reuse = &scripts.Reuse{Attempt: kept.Attempt}
			stored, _ := fold.Stored(p.report)
			for _, reading := range job.Readings(p.report, stored, kept, p.parameters, p.within, now) {
				if reading.Reused > 0 {
					p.reuse.Listeners = append(p.reuse.Listeners, reading.Listener)
				}
			}
		}
		return nil
	})
}

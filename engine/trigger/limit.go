package trigger

import (
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// takePlaces returns the pushes that may start. Those of reports that have as many running jobs as they
// may have wait until one of these ends; also if the partition with the places does not answer, so
// that other reports do not wait for it.
func (t *Trigger) takePlaces(ctx context.Context, pushes []*push) []*push {
	limited := map[*report.Report][]*push{}
	var free []*push
	for _, p := range pushes {
		if p.report.Running > 0 {
			limited[p.report] = append(limited[p.report], p)
		} else {
			free = append(free, p)
		}
	}
	for r, pushes := range limited {
		ids := make([]string, len(pushes))
		for i, p := range pushes {
			ids[i] = p.id
		}
		short, cancel := context.WithTimeout(ctx, engine.PlacesTime)
		taken, err := t.Scripts.Limits.TakePlaces(short, r.Name, r.Running, placeLease(r), ids)
		cancel()
		if err != nil {
			t.Log.Warn("could not count the running jobs of a report; ids wait", "report", r.Name, "ids", len(ids), "err", err)
			taken = make([]bool, len(ids))
		}
		for i, p := range pushes {
			if taken[i] {
				free = append(free, p)
			} else {
				p.ends(t.queue(ctx, p))
			}
		}
	}
	return free
}

// placeLease is how long a job has its place if nobody renews it or gives it back.
func placeLease(r *report.Report) time.Duration { return r.Timeout + scripts.Margin }

// queue keeps an id until a running job of its report ends.
func (t *Trigger) queue(ctx context.Context, p *push) step.Result {
	if err := step.Ensure(ctx, t.Log, "queue an id", func() error {
		if err := t.Scripts.Gate.Queue(ctx, p.report.Name, p.id); err != nil {
			return err
		}
		return t.Scripts.Jobs.Note(ctx, p.id, p.record.Attempt, "limited", "report", p.report.Name)
	}); err != nil {
		return step.Result{Kind: step.Elsewhere, Err: err}
	}
	return step.Result{Kind: step.Void}
}

// releaseQueued gives the free places of a report to the ids that have waited longest, and pushes them.
func (t *Trigger) releaseQueued(ctx context.Context, r *report.Report) error {
	free, err := t.Partitions.FreePlaces(ctx, r.Name, r.Running, placeLease(r))
	if err != nil || free <= 0 {
		return err
	}
	ids, err := t.Scripts.Gate.Waiting(ctx, r.Name, free)
	if err != nil || len(ids) == 0 {
		return err
	}
	taken, err := t.Scripts.Limits.TakePlaces(ctx, r.Name, r.Running, placeLease(r), ids)
	if err != nil {
		return err
	}
	var next []string
	for i, id := range ids {
		if taken[i] {
			next = append(next, id)
		}
	}
	_, err = t.Scripts.Gate.Release(ctx, r.Name, next)
	return err
}

// queued returns those of the pushes that wait until a running job of their report ends.
func (t *Trigger) queued(ctx context.Context, pushes []*push) (map[string]bool, error) {
	of := map[string][]string{}
	for _, p := range pushes {
		if p.report != nil && p.report.Running > 0 {
			of[p.report.Name] = append(of[p.report.Name], p.id)
		}
	}
	queued := map[string]bool{}
	var failed error
	for name, ids := range of {
		scores, err := t.Scripts.Sets.Scores(ctx, t.Scripts.Keys.Waiting(name), ids)
		failed = errors.Join(failed, err)
		for id := range scores {
			queued[id] = true
		}
	}
	return queued, failed
}

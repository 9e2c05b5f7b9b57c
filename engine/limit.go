package engine

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// takePlaces returns the pushes that may start. Those of reports that have as many running jobs as they
// may have wait until one of these ends.
func (e *Engine) takePlaces(ctx context.Context, pushes []*push) ([]*push, error) {
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
		var taken []bool
		if err := e.insist(ctx, "take places", func() (err error) {
			taken, err = e.o.Scripts.Gate.TakePlaces(ctx, r.Name, r.Running, placeLease(r), ids)
			return err
		}); err != nil {
			return nil, err
		}
		for i, p := range pushes {
			if taken[i] {
				free = append(free, p)
			} else {
				p.ends(e.queue(ctx, p))
			}
		}
	}
	return free, nil
}

// placeLease is how long a job has its place, if nobody gives it back: as long as its hash can live.
func placeLease(r *report.Report) time.Duration { return r.Timeout + scripts.Margin }

// queue keeps an id until a running job of its report ends.
func (e *Engine) queue(ctx context.Context, p *push) step.Result {
	if err := e.insist(ctx, "queue an id", func() error {
		if err := e.o.Scripts.Gate.Queue(ctx, p.report.Name, p.id); err != nil {
			return err
		}
		return e.o.Scripts.Jobs.Note(ctx, p.id, p.record.Attempt, "limited", "report", p.report.Name)
	}); err != nil {
		return step.Result{Kind: step.Elsewhere, Err: err}
	}
	return step.Result{Kind: step.Void}
}

// givePlace gives the place of a job back that has ended. If that fails, releaseQueued does it.
func (e *Engine) givePlace(ctx context.Context, of, id string) {
	if r := e.o.Reports[of]; r == nil || r.Running == 0 {
		return
	}
	if err := e.o.Scripts.Gate.GivePlace(ctx, of, id); err != nil {
		e.log.Debug("could not give a place back; it is found later", "job", id, "report", of, "err", err)
	}
}

// releaseQueued pushes ids of a report with a limit, as many as may start.
func (e *Engine) releaseQueued(ctx context.Context, r *report.Report) error {
	n, err := e.o.Scripts.Gate.Queued(ctx, r.Name)
	if err != nil || n == 0 {
		return err
	}
	free, err := e.o.Partitions.FreePlaces(ctx, r.Name, r.Running, placeLease(r))
	if err != nil || free <= 0 {
		return err
	}
	_, err = e.o.Scripts.Gate.Release(ctx, r.Name, free)
	return err
}

package trigger

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// Lost is the outcome of StartLost.
type Lost struct {
	Started, Failed int
	Skipped         []string        // ids that can be neither started nor failed, such as those of unknown reports
	Left            []engine.Record // records to start when there is capacity
}

// StartLost starts those of the records that Redis does not know: without a job and without a
// member of the delayed set. It fails records with invalid parameters, and puts the deadline of a
// running job back that has lost it: no scheduler sees such a job. Jobs start only in a Redis
// of this epoch, and use half of the free capacity, so that the trigger keeps the rest. Valid is
// called after Redis was read and before anything changes; StartLost returns its error.
func (t *Trigger) StartLost(
	ctx context.Context, records []engine.Record, epoch string, valid func(context.Context) error,
) (l Lost, err error) {
	var pushes, start []*push
	var places, running []string
	for _, r := range records {
		if !report.ValidID(r.ID) {
			l.Skipped = append(l.Skipped, r.ID)
			continue
		}
		// An unknown report is not polled again: the next pass is soon enough.
		p := &push{id: r.ID, polls: int64(len(report.RecordPolls)), within: job.AnyAge}
		pushes, places = append(pushes, p), append(places, BeforeStart(p.id)...)
	}
	if len(pushes) == 0 {
		return l, nil
	}
	if _, err := t.lookup.read(ctx, pushes); err != nil {
		return l, err
	}
	var delayed map[string]float64
	var queued map[string]bool
	room := 0
	if err := step.Ensure(ctx, t.Log, "read waiting ids and running jobs", func() error {
		if delayed, err = t.Scripts.Sets.Scores(ctx, t.Scripts.Keys.Delayed, places); err != nil {
			return err
		}
		if queued, err = t.slots.queued(ctx, pushes); err != nil {
			return err
		}
		if err = t.once.waiting(ctx, pushes, queued); err != nil {
			return err
		}
		if err = (lanes{t}).parked(ctx, pushes, queued); err != nil {
			return err
		}
		room, err = t.admission.free(ctx)
		return err
	}); err != nil {
		return l, err
	}
	if err := valid(ctx); err != nil {
		return l, err
	}
	for _, p := range pushes {
		if p.record == nil || p.record.Age < t.Limits.RecoverAfter {
			continue
		}
		switch d := decide(p, t.Limits.RecoverAfter, time.Now()); {
		case d.act == actIgnore:
			running = append(running, p.id)
		case p.isPlaced(delayed) || queued[p.id]:
		case d.act == actStart && len(start) < (room+1)/2:
			p.parameters = d.parameters
			start = append(start, p)
		case d.act == actStart:
			l.Left = append(l.Left, *p.record)
		case d.act == actQuarantine: // a pass must not fill the quarantine
			l.Skipped = append(l.Skipped, p.id)
		case d.act == actFail:
			if r := t.carryOut(ctx, p, d); r.Kind == step.Elsewhere {
				return l, r.Err
			}
			l.Failed++
		}
	}
	if len(start) > 0 {
		l.Started = t.start(ctx, start, epoch)
	}
	return l, step.Ensure(ctx, t.Log, "put lost deadlines back",
		func() error { return t.restoreDeadlines(ctx, running) })
}

// restoreDeadlines puts the deadlines back that running jobs have lost.
func (t *Trigger) restoreDeadlines(ctx context.Context, ids []string) error {
	deadlines, err := t.Scripts.Sets.Scores(ctx, t.Scripts.Keys.Deadlines, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, ok := deadlines[id]; ok {
			continue
		}
		switch outcome, err := t.Scripts.Clock.Repair(ctx, id); {
		case errors.Is(err, scripts.ErrBroken):
			t.Log.Warn("a running job has lost its deadline, and its state cannot be read", "job", id, "err", err)
		case err != nil:
			return err
		case outcome == scripts.Already:
			t.Log.Warn("a running job had lost its deadline; put it back", "job", id)
		}
	}
	return nil
}

// BeforeStart returns the members that an id can have in the delayed set before its job starts: the
// id itself, and one per poll of its record.
func BeforeStart(id string) []string {
	members := []string{id}
	for i := range report.RecordPolls {
		members = append(members, job.Later{ID: id, Attempt: int64(i + 1), Step: job.StepTrigger}.String())
	}
	return members
}

func (p *push) isPlaced(places map[string]float64) bool {
	return slices.ContainsFunc(BeforeStart(p.id), func(member string) bool {
		_, ok := places[member]
		return ok
	})
}

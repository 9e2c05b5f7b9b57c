package engine

import (
	"context"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Lost returns those of the records that are to be started or failed, since Redis has
// neither a job for them nor a member of the delayed set; and the ids of those that can
// be neither, such as records of unknown reports.
func (e *Engine) Lost(ctx context.Context, records []Record) (lost []Record, skipped []string, err error) {
	var pushes []*push
	var ids, places []string
	for i, r := range records {
		if !report.ValidID(r.ID) {
			skipped = append(skipped, r.ID)
			continue
		}
		// An unknown report is not looked for again: the next pass does.
		p := &push{id: r.ID, look: int64(len(report.RecordPolls)), record: &records[i], report: e.o.Reports[r.Report]}
		pushes, ids, places = append(pushes, p), append(ids, p.id), append(places, p.places()...)
	}
	if len(pushes) == 0 {
		return nil, skipped, nil
	}
	attempts, statuses, err := e.o.Scripts.Attempts(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	if err := e.lookAtPauses(ctx, pushes); err != nil {
		return nil, nil, err
	}
	delayed, err := e.o.Scripts.Scores(ctx, e.o.Scripts.Delayed(), places)
	if err != nil {
		return nil, nil, err
	}
	for i, p := range pushes {
		if p.found(attempts[i], statuses[i]); p.isPlaced(delayed) {
			continue
		}
		switch decide(*p, e.o.Limits.Grace).act {
		case actStart, actFail:
			lost = append(lost, *p.record)
		case actQuarantine: // a pass must not fill the quarantine
			skipped = append(skipped, p.id)
		}
	}
	return lost, skipped, nil
}

// StartLost starts those records that still are lost by what MySQL and Redis say now, in
// a Redis of this epoch, and fails those whose parameters their report does not take. It
// returns how many.
func (e *Engine) StartLost(ctx context.Context, records []Record, epoch string) (started, failed int, err error) {
	var pushes, start []*push
	for _, r := range records {
		pushes = append(pushes, &push{id: r.ID, look: int64(len(report.RecordPolls))})
	}
	if err := e.readAll(ctx, pushes); err != nil {
		return 0, 0, err
	}
	for _, p := range pushes {
		if p.record == nil || p.record.Age < e.o.Limits.Grace {
			continue
		}
		switch d := decide(*p, e.o.Limits.Grace); d.act {
		case actStart:
			start = append(start, p)
		case actFail:
			if r := e.carryOut(ctx, p, d); r.Kind == step.Elsewhere {
				return 0, failed, r.Err
			}
			failed++
		}
	}
	if len(start) > 0 {
		started = e.start(ctx, start, epoch)
	}
	return started, failed, ctx.Err()
}

// places are the members of the delayed set with which an id waits for its time.
func (p push) places() []string {
	places := []string{p.id}
	for i := range report.RecordPolls {
		places = append(places, scripts.Later{ID: p.id, Attempt: int64(i + 1), Step: scripts.StepTrigger}.String())
	}
	return places
}

func (p push) isPlaced(places map[string]float64) bool {
	for _, place := range p.places() {
		if _, ok := places[place]; ok {
			return true
		}
	}
	return false
}

package process

import (
	"context"
	"errors"

	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/scheduler"
	"github.com/fanfold/fanfold/scheduler/action"
)

// Ends reads the records of ended jobs, for notifications.
type Ends struct{ Records *record.Store }

var _ scheduler.Records = Ends{}

// Ended implements scheduler.Records.
func (e Ends) Ended(ctx context.Context, id string) (scheduler.Ended, bool, error) {
	found, err := e.Records.Read(ctx, []string{id})
	r, ok := found[id]
	if err != nil || !ok || r.ID != id {
		return scheduler.Ended{}, false, err
	}
	ended := scheduler.Ended{ID: id, Report: r.Report, Attempt: r.Attempt, Status: r.Status, Error: r.Error}
	if r.Status.HasFile() {
		ended.File, ended.Rows = r.File, r.Rows
	}
	return ended, true, nil
}

// Submitter inserts the records of reports that timers submit.
type Submitter struct{ Records *record.Store }

var _ action.Submitter = Submitter{}

// Submit implements action.Submitter.
func (s Submitter) Submit(
	ctx context.Context, name string, due int64, report string, parameters []byte,
) (string, error) {
	id, err := s.Records.Submit(ctx, name, due, report, parameters)
	switch {
	case errors.Is(err, record.ErrNotCounted):
		err = action.Permanent(err)
	case s.Records.Kind().Away(err):
		err = action.Outage(err)
	}
	return id, err
}

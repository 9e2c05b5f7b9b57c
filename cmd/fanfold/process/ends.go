package process

import (
	"context"
	"errors"
	"fmt"

	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/scheduler"
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

var _ scheduler.Submitter = Submitter{}

// Submit implements scheduler.Submitter.
func (s Submitter) Submit(
	ctx context.Context, name string, due int64, report string, parameters []byte,
) (string, error) {
	id, err := s.Records.Submit(ctx, name, due, report, parameters)
	switch {
	case errors.Is(err, record.ErrNotCounted):
		err = fmt.Errorf("%w: %w", scheduler.ErrRefused, err)
	case mysqldb.Away(err):
		err = fmt.Errorf("%w: %w", scheduler.ErrOutage, err)
	}
	return id, err
}

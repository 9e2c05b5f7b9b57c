package fanin

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// Outcomes of a job whose record was changed by others meanwhile.
const (
	outcomeDeleted    = "DELETED"    // the row was deleted
	outcomeSuperseded = "SUPERSEDED" // the row has another attempt, or a status that others have set
)

// finishFailed ends a FAILING job as FAILED or CANCELLED: record, file, and the rest. It may be
// repeated.
func (e *FanIn) finishFailed(ctx context.Context, f *scripts.Fold) (ending, error) {
	state := f.State
	var ok bool
	status, end := report.Failed, e.Records.Fail
	if state.Outcome == string(report.Cancelled) {
		status, end = report.Cancelled, e.Records.Cancel
	}
	if err := e.onRecord(ctx, state, "fail record", func() (err error) {
		ok, err = end(ctx, engine.Run{ID: state.ID, Attempt: state.Attempt}, state.Reason)
		return err
	}); err != nil {
		return ending{}, err
	}
	if !ok {
		return e.finishForeign(ctx, f, state.Remove)
	}
	if status == report.Failed {
		e.Log.Warn("job failed", "job", state.ID, "attempt", state.Attempt, "report", state.Report, "reason", state.Reason)
	} else {
		e.Log.Info("job cancelled", "job", state.ID, "attempt", state.Attempt, "report", state.Report, "reason", state.Reason)
	}
	// Without Remove the job made no file: a file of that name is not ours.
	if state.Remove {
		if err := e.files.Remove(ctx, state); err != nil {
			return ending{}, ofSink(err)
		}
	}
	e.files.SweepAttempts(ctx, state, state.Attempt-1)
	return ending{string(status), state.Reason}, nil
}

// finishForeign ends a job whose record does not accept its outcome, because it was deleted,
// cancelled or edited. It removes the job's committed file, unless the record points to it after
// all.
func (e *FanIn) finishForeign(ctx context.Context, claimed *scripts.Fold, committed bool) (ending, error) {
	state := claimed.State
	f, err := e.foreign(ctx, state)
	if err != nil {
		return ending{}, err
	}
	if committed && !f.pointed {
		if err := e.files.Remove(ctx, state); err != nil {
			return ending{}, ofSink(err)
		}
	}
	e.files.SweepAttempts(ctx, state, state.Attempt-1)
	if !f.pointed { // otherwise an earlier worker died after it changed the record
		e.Log.Warn("the record was changed by others", "job", state.ID, "attempt", state.Attempt, "outcome", f.outcome)
	}
	return ending{f.outcome, f.detail}, nil
}

// foreign is the outcome of a job according to its record.
type foreign struct {
	outcome string // a final status, DELETED, or SUPERSEDED
	detail  string // the file or a reason
	pointed bool   // the record has this job's file, maybe under another name
	running bool   // the record is not final and has this attempt
}

func (e *FanIn) foreign(ctx context.Context, state *job.State) (f foreign, err error) {
	err = e.onRecord(ctx, state, "read record", func() error {
		f = foreign{outcome: outcomeSuperseded, detail: "the record was changed from outside"}
		records, err := e.Records.Read(ctx, []string{state.ID})
		if err != nil {
			return err
		}
		r, ok := records[state.ID]
		mine := ok && r.Attempt == state.Attempt
		f.pointed = e.files.Has(state, r.File) || mine && r.Status.HasFile()
		f.running = mine && !r.Status.Final()
		switch {
		case !ok:
			f.outcome = outcomeDeleted
		case mine && r.Status.HasFile():
			f.outcome, f.detail = string(r.Status), r.File
		case mine && r.Status.Final():
			f.outcome = string(r.Status)
		}
		return nil
	})
	return f, err
}

// settleTime bounds the settling of a job in a process that is stopping.
const settleTime = 5 * time.Second

// settle removes what is left of a job in Redis after the record is final. A process that is
// stopping does it first: it is quick, and the job is then done.
func (e *FanIn) settle(ctx context.Context, f *scripts.Fold, end ending) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	err := e.finally(ctx, "settle job", func() (scripts.Outcome, error) {
		outcomes, err := e.Scripts.Folds.Settle(ctx, scripts.End{Fold: f, Status: end.status, Detail: end.detail, Tell: e.Notifies(f.Report)})
		if err != nil {
			return 0, err
		}
		return outcomes[0], nil
	})
	if err == nil {
		e.GivePlaces(ctx, map[string][]string{f.Report: {f.ID}})
		e.count(f.State, end)
	}
	return err
}

package engine

import (
	"context"
	"slices"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
)

// Outcomes of a job whose record was changed by others meanwhile.
const (
	outcomeDeleted    = "DELETED"    // the row was deleted
	outcomeSuperseded = "SUPERSEDED" // the row has another attempt, or a status that others have set
)

// finishFailed ends a FAILING job as FAILED or CANCELLED: record, file, and the rest. It may be
// repeated.
func (e *Engine) finishFailed(ctx context.Context, f *scripts.Fold) (ending, error) {
	state := f.State
	var ok bool
	status, end := report.Failed, e.o.Records.Fail
	if state.Outcome == string(report.Cancelled) {
		status, end = report.Cancelled, e.o.Records.Cancel
	}
	if err := e.onRecord(ctx, state, "fail record", func() (err error) {
		ok, err = end(ctx, Run{ID: state.ID, Attempt: state.Attempt}, state.Reason)
		return err
	}); err != nil {
		return ending{}, err
	}
	if !ok {
		return e.finishForeign(ctx, f, state.Remove)
	}
	if status == report.Failed {
		e.log.Warn("job failed", "job", state.ID, "attempt", state.Attempt, "report", state.Report, "reason", state.Reason)
	} else {
		e.log.Info("job cancelled", "job", state.ID, "attempt", state.Attempt, "report", state.Report, "reason", state.Reason)
	}
	// Without Remove the job made no file: a file of that name is not ours.
	if state.Remove {
		if err := e.removeFile(ctx, state); err != nil {
			return ending{}, err
		}
	}
	e.sweepAttempts(ctx, state, state.Attempt-1)
	return ending{string(status), state.Reason}, nil
}

// finishForeign ends a job whose record does not accept its outcome, because it was deleted,
// cancelled or edited. It removes the job's committed file, unless the record points to it after
// all.
func (e *Engine) finishForeign(ctx context.Context, claimed *scripts.Fold, committed bool) (ending, error) {
	state := claimed.State
	f, err := e.foreign(ctx, state)
	if err != nil {
		return ending{}, err
	}
	if committed && !f.pointed {
		if err := e.removeFile(ctx, state); err != nil {
			return ending{}, err
		}
	}
	e.sweepAttempts(ctx, state, state.Attempt-1)
	if !f.pointed { // otherwise an earlier worker died after it changed the record
		e.log.Warn("the record was changed by others", "job", state.ID, "attempt", state.Attempt, "outcome", f.outcome)
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

func (e *Engine) foreign(ctx context.Context, state *job.State) (f foreign, err error) {
	err = e.onRecord(ctx, state, "read record", func() error {
		f = foreign{outcome: outcomeSuperseded, detail: "the record was changed from outside"}
		records, err := e.o.Records.Read(ctx, []string{state.ID})
		if err != nil {
			return err
		}
		r, ok := records[state.ID]
		name, ours := e.o.Sink.Name(r.File)
		mine := ok && r.Attempt == state.Attempt
		f.pointed = ours && slices.Contains(e.fileNames(state), name) || mine && r.Status.HasFile()
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

// removeFile deletes the file of a job that ended without one, and its manifest. Without a tag it
// is unknown whether the file is this job's.
func (e *Engine) removeFile(ctx context.Context, state *job.State) error {
	if e.o.Installation == "" {
		return nil
	}
	for _, name := range e.fileNames(state) {
		for _, name := range []string{name, sink.ManifestName(name)} {
			if err := e.remove(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// tells tells whether the end of a job must be reported to a service. A report that is not in this
// configuration may be in a scheduler's.
func (e *Engine) tells(name string) bool {
	of := e.o.Reports[name]
	return of == nil || of.Notify != nil
}

// settleTime bounds the settling of a job in a process that is stopping.
const settleTime = 5 * time.Second

// settle removes what is left of a job in Redis after the record is final. A process that is
// stopping does it first: it is quick, and the job is then done.
func (e *Engine) settle(ctx context.Context, f *scripts.Fold, end ending) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	err := e.finally(ctx, "settle job", func() (scripts.Outcome, error) {
		outcomes, err := e.o.Scripts.Folds.Settle(ctx, scripts.End{Fold: f, Status: end.status, Detail: end.detail, Tell: e.tells(f.Report)})
		if err != nil {
			return 0, err
		}
		return outcomes[0], nil
	})
	if err == nil {
		e.givePlaces(ctx, map[string][]string{f.Report: {f.ID}})
		e.count(f.State, end)
	}
	return err
}

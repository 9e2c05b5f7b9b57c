package fanin

import (
	"context"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
	"github.com/fanfold/fanfold/trace"
)

// finisher makes the files of jobs, and gives their records the final status.
type finisher struct {
	*engine.Engine
	files   *files.Files
	folds   map[*report.Report]*definition
	columns columns
}

// definition is what all jobs of a definition have in common.
type definition struct {
	needed map[string][]string // see fold.Needed
	plans  fold.Plans
}

// outcomeSuperseded is the outcome of a job whose row has another attempt, or a status that others have set.
const outcomeSuperseded = "SUPERSEDED"

// fail fails a claimed job and ends it. With remove, its file may exist and is deleted. Nothing is
// deleted before the record has accepted the failure: a worker that lost its claim without noticing
// must not touch the file of the one that succeeded.
func (f *finisher) fail(ctx context.Context, w *work, reason string, blame job.Blame, remove bool) step.Result {
	outcome, err := step.Insist(ctx, f.Log, "fail job", func() (scripts.Outcome, error) {
		return w.Fail(ctx, reason, blame, remove)
	})
	switch {
	case err != nil:
		return resultOf(err)
	case outcome == scripts.OK || outcome == scripts.Already:
		w.Reason, w.Remove = reason, remove
		return f.finishFailed(ctx, w)
	}
	return step.Result{Kind: step.Elsewhere}
}

// finishFailed ends a FAILING job as FAILED or CANCELLED: record, file, and the rest. It may be
// repeated.
func (f *finisher) finishFailed(ctx context.Context, w *work) step.Result {
	status, end := report.Failed, f.Records.Fail
	if w.Outcome == string(report.Cancelled) {
		status, end = report.Cancelled, f.Records.Cancel
	}
	did := engine.HistoryOf(w.State, w.report, status)
	changed, err := onRecord(ctx, f, w.State, "fail record", func() (bool, error) {
		return end(ctx, engine.Run{ID: w.ID, Attempt: w.Attempt, Did: did}, w.Reason)
	})
	switch {
	case err != nil:
		return resultOf(err)
	case !changed:
		return f.finishForeign(ctx, w, w.Remove)
	}
	if status == report.Failed {
		f.Log.Warn("job failed", "job", w.ID, "attempt", w.Attempt, "report", w.Report, "reason", w.Reason)
	} else {
		f.Log.Info("job cancelled", "job", w.ID, "attempt", w.Attempt, "report", w.Report, "reason", w.Reason)
	}
	// Without Remove the job made no file: a file of that name is not ours.
	if w.Remove {
		if err := f.files.Remove(ctx, w.State); err != nil {
			return resultOf(err)
		}
	}
	f.files.SweepAttempts(ctx, w.State, w.Attempt-1, string(status))
	w.end = scripts.End{Status: string(status), Detail: w.Reason}
	return step.Result{}
}

// finishForeign ends a job whose record does not accept its outcome, because it was deleted,
// cancelled or edited. It removes the job's committed file, unless the record points to it after
// all.
func (f *finisher) finishForeign(ctx context.Context, w *work, committed bool) step.Result {
	found, err := f.foreign(ctx, w.State)
	if err != nil {
		return resultOf(err)
	}
	if committed && !found.pointed {
		if err := f.files.Remove(ctx, w.State); err != nil {
			return resultOf(err)
		}
	}
	f.files.SweepAttempts(ctx, w.State, w.Attempt-1, found.end.Status)
	if !found.pointed { // otherwise an earlier worker died after it changed the record
		f.Log.Warn("the record was changed by others", "job", w.ID, "attempt", w.Attempt, "outcome", found.end.Status)
	}
	w.end = found.end
	return step.Result{}
}

// foreign is the outcome of a job according to its record.
type foreign struct {
	end     scripts.End // its status can also be DELETED or SUPERSEDED
	pointed bool        // the record has this job's file, maybe under another name
	running bool        // the record is not final and has this attempt
}

func (f *finisher) foreign(ctx context.Context, state *job.State) (foreign, error) {
	records, err := onRecord(ctx, f, state, "read record", func() (map[string]engine.Record, error) {
		return f.Records.Read(ctx, []string{state.ID})
	})
	if err != nil {
		return foreign{}, err
	}
	r, ok := records[state.ID]
	mine := ok && r.Attempt == state.Attempt
	found := foreign{
		end:     scripts.End{Status: outcomeSuperseded, Detail: "the record was changed from outside"},
		pointed: f.files.Has(state, r.File) || mine && r.Status.HasFile(),
		running: mine && !r.Status.Final(),
	}
	switch {
	case !ok:
		found.end.Status = string(report.Deleted)
	case mine && r.Status.HasFile():
		found.end = scripts.End{Status: string(r.Status), Detail: r.File}
	case mine && r.Status.Final():
		found.end.Status = string(r.Status)
	}
	return found, nil
}

// recordPatience is how long a claimed job waits for the records before it frees its slot.
const recordPatience = 5 * time.Second

// onRecord retries an operation on the record of a job for a short time. If the records stay
// unavailable, the error is a step.Failure.
func onRecord[T any](
	ctx context.Context, f *finisher, state *job.State, what string, do func() (T, error),
) (value T, err error) {
	ctx, span := f.Trace.Start(ctx, trace.Record, traced(state))
	defer func() { endSpan(span, err) }()
	short, cancel := context.WithTimeout(ctx, recordPatience)
	defer cancel()
	var last error
	value, err = step.Insist(short, f.Log, what, func() (value T, err error) {
		value, last = do()
		return value, last
	})
	if err != nil && ctx.Err() == nil && short.Err() != nil {
		reason := fmt.Errorf("records: %s: %w", what, last)
		err = &step.Failure{Result: step.Result{Kind: step.Outage, Err: reason, Blame: job.BlameRecords}}
	}
	return value, err
}

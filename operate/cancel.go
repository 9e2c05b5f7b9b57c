package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/trigger"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// cancelTries bounds the reads of a record that keeps changing.
const cancelTries = 100

// Cancel cancels a record and its job, and returns what was done. If the job has a state, the state
// decides first: an engine finishes what is interrupted after that.
func (j Jobs) Cancel(ctx context.Context, id, reason string) (outcome string, err error) {
	act, err := begin(ctx, j.in, "cancel", id)
	if err != nil {
		return "", err
	}
	act.more = reason
	defer act.end(ctx, &err)
	return cancel(ctx, j, id, reason, false)
}

// cancel is Cancel without the audit. With waiting, it refuses a job that has started.
func cancel(ctx context.Context, j Jobs, id, reason string, waiting bool) (outcome string, err error) {
	for range cancelTries {
		r, err := j.in.Jobs.Record(ctx, id)
		if err != nil {
			return "", err
		}
		if r.Status.Final() && r.Status != report.Cancelled {
			return "", notCancelled(id, "it is %s", r.Status)
		}
		if waiting && r.Status != report.Pending {
			return "", notCancelled(id, "it has started")
		}
		runs, err := j.stop(ctx, r, reason)
		if err != nil {
			return "", err
		}
		if r.Status == report.Cancelled {
			outcome, reason = "cancelled before", cmp.Or(r.Error, reason)
		} else {
			outcome = "cancelled"
			run := engine.Run{ID: id, Attempt: r.Attempt, Pending: true}
			if runs {
				if run.Did, err = did(ctx, j.in, r); err != nil {
					return "", err
				}
			}
			ok, err := j.in.Records.Cancel(ctx, run, reason)
			if err != nil {
				return "", err
			}
			if !ok {
				continue // it was started or has ended meanwhile
			}
			// The trigger may have changed the record before, and written the state only now.
			after, err := j.stop(ctx, r, reason)
			if err != nil && !errors.Is(err, fault.Refused) {
				return "", err
			}
			runs = runs || after || err != nil
		}
		if !runs {
			if err := j.finish(ctx, r, reason); err != nil {
				return "", err
			}
		}
		s := j.in.Scripts.Of(id)
		if _, err := s.Sets.Remove(ctx, s.Keys.Delayed, trigger.BeforeStart(id)...); err != nil {
			return "", err
		}
		if err := s.Memory.RemoveContender(ctx, id); err != nil {
			return "", err
		}
		if _, err = s.Sets.Remove(ctx, s.Keys.Waiting(r.Report), id); err != nil {
			return "", err
		}
		if of := j.in.Config.Reports[r.Report]; !runs && of != nil && of.Once != nil {
			// If it fails, such as because the first partition does not answer, a sweep does it.
			_ = scripts.EndOnce(ctx, j.in.Scripts, scripts.OnceEnd{ID: id, Window: of.Once.Window})
		}
		return outcome, s.Lanes.Remove(ctx, id)
	}
	return "", notCancelled(id, "it keeps changing")
}

// stop stops the job of a record, and reports whether there is one.
func (j Jobs) stop(ctx context.Context, r engine.Record, reason string) (runs bool, err error) {
	outcome, status, err := j.in.Scripts.Of(r.ID).Jobs.Cancel(ctx, r.ID, r.Attempt, reason)
	switch {
	case errors.Is(err, scripts.ErrBroken):
		return false, nil // another program overwrote its state: only the record can be cancelled
	case err != nil:
		return false, err
	case outcome == scripts.Busy && status == job.StatusPublishing:
		return true, notCancelled(r.ID,
			"its file is being committed, so it ends with its file or as FAILED; see fanfold "+
				"why %s", r.ID)
	case outcome == scripts.Busy:
		return true, notCancelled(r.ID, "its job is already failing")
	}
	return outcome != scripts.Gone, nil
}

// did returns what the job of a record has done until it was cancelled; nil: it has ended meanwhile.
func did(ctx context.Context, in *inspect.Inspector, r engine.Record) (*engine.History, error) {
	state, err := in.Jobs.State(ctx, r.ID)
	if err != nil || state == nil || state.Attempt != r.Attempt || !state.Runs() {
		return nil, err
	}
	return engine.HistoryOf(state.State, nil, report.Cancelled), nil
}

// finish does for a cancelled record without a job what an engine does when a job ends: it writes the
// events, even if an interrupted command may have written them before. An engine deletes the files of
// an earlier run or of an attempt that Redis lost.
func (j Jobs) finish(ctx context.Context, r engine.Record, reason string) error {
	s := j.in.Scripts.Of(r.ID)
	if r.Attempt > 0 {
		if _, err := s.Jobs.Discard(ctx, r.ID); err != nil {
			return err
		}
		err := s.Streams.Append(ctx, s.Keys.FanIn, 0, "id", r.ID, "attempt", strconv.FormatInt(r.Attempt, 10),
			"report", r.Report)
		if err != nil {
			return err
		}
	}
	of := j.in.Config.Reports[r.Report]
	if err := s.Receipts.Ended(ctx, r.ID, r.Attempt, of == nil || of.Notify != nil); err != nil {
		return err
	}
	return s.Jobs.Note(ctx, r.ID, r.Attempt, "finished", "status", string(report.Cancelled), "reason", reason)
}

// notCancelled is the error of a record that cannot be cancelled.
func notCancelled(id, format string, args ...any) error {
	return fault.Refused.New("record %s: not cancelled: %s", id, fmt.Sprintf(format, args...))
}

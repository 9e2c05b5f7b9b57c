// Package spooled answers: where are the rows of a listener that are not in Redis, and what if they are lost?
package spooled

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/spool"
	"github.com/fanfold/fanfold/step"
)

// SegmentBytes is spool.Options.SegmentBytes of this process. Only tests set it.
var SegmentBytes int

// MinRange is the least number of numbers in a range of a listener that is read in parts: fewer rows are not worth a
// query. Only tests change it.
var MinRange int64 = 10_000

// Open returns the dataset in the spool of a listener that is done; the other datasets are in Redis.
func Open(s *spool.Spool, listener string, task job.TaskState) (*spool.Reader, error) {
	var columns []dataset.Column
	if err := json.Unmarshal(task.Columns, &columns); err != nil {
		return nil, fmt.Errorf("listener %s: %w: columns: %w", listener, spool.ErrTicket, err)
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	r, err := s.Open(task.At, names)
	if err != nil {
		return nil, fmt.Errorf("listener %s: %w", listener, err)
	}
	return r, nil
}

// ResultOf returns the result of a try that could not read or write the spool. Only a refusal counts as a try. A
// dataset that is lost counts as one, too: see Reopen. A ticket that is not valid is permanent.
func ResultOf(err error) step.Result {
	r := step.Result{Kind: step.Outage, Err: fmt.Errorf("spool: %w", err), Blame: job.BlameSpool}
	switch {
	case errors.As(err, new(spool.Damaged)):
		r = step.Result{Kind: step.Retry, Err: err, Blame: job.BlameSpool}
	case errors.Is(err, spool.ErrTicket):
		r = step.Result{Kind: step.Permanent, Err: err, Blame: job.BlameSpool}
	case errors.Is(err, sink.ErrRefused), errors.Is(err, sink.ErrTooLarge):
		r.Kind = step.Retry
	}
	return r
}

// Lost is the error of a dataset of which a segment is missing or damaged.
type Lost struct {
	Listener string
	Task     job.TaskState // as the reader has it
	spool.Damaged
}

// Unwrap returns the damage.
func (l Lost) Unwrap() error { return l.Damaged }

// LostOf makes an error of reading a listener's dataset a Lost if a segment is lost.
func LostOf(listener string, task job.TaskState, err error) error {
	if d, ok := errors.AsType[spool.Damaged](err); ok {
		return Lost{listener, task, d}
	}
	return err
}

// Reopen makes the listener of a lost dataset run again, as if its try had failed, and returns how the try of the
// reader ends: Void; Elsewhere if the job has changed, such as by another reader, which may have claimed the job with
// the same entry; or Permanent if the listener has no try left and its job cannot continue, or another listener than
// the reader has used its values, because the file would have rows of two readings. A listener without a try left
// whose job can continue runs again at once: its worker finds that its tries are used up, and ends the task.
func Reopen(
	ctx context.Context, log *slog.Logger, s *scripts.Scripts, m scripts.Message,
	of *report.Report, reader string, l Lost,
) step.Result {
	lost, _, _ := of.Listener(l.Listener)
	reopen := scripts.Reopen{Message: m, Listener: l.Listener, At: l.Task.At, Error: l.Damaged.Error()}
	permanent := func(err error) step.Result {
		if _, failed := step.Insist(ctx, log, "note that a dataset is lost", func() (scripts.Outcome, error) {
			return s.Folds.Spoil(ctx, reopen)
		}); failed != nil {
			return step.Result{Kind: step.Elsewhere, Err: failed}
		}
		return step.Result{Kind: step.Permanent, Blame: job.BlameSpool, Err: err}
	}
	for _, other := range of.Listeners() {
		if other.From != nil && other.From.Listener == l.Listener && other.Name != reader {
			return permanent(fmt.Errorf("listener %s: %w: listener %s may have used its values: retry the job",
				l.Listener, l.Damaged, other.Name))
		}
	}
	v := step.Decide(step.Result{Kind: step.Retry, Err: l.Damaged, Blame: job.BlameSpool}, l.Task.Tries, lost.Retry)
	if v.Act != step.Requeue && !lost.CanFail() {
		return permanent(fmt.Errorf("listener %s: %w", l.Listener, v.Err))
	}
	if l.Task.Reused == 0 { // otherwise no try has failed
		reopen.Delay = v.Again.Delay
	}
	outcome, err := step.Insist(ctx, log, "reopen listener", func() (scripts.Outcome, error) {
		return s.Folds.Reopen(ctx, reopen)
	}, step.UnlessFull)
	if err != nil || outcome != scripts.OK {
		return step.Result{Kind: step.Elsewhere, Err: err}
	}
	log.Warn("a dataset in the spool is lost: its task is queued again", "job", m.ID, "attempt", m.Attempt,
		"listener", l.Listener, "in", reopen.Delay, "err", l.Damaged)
	return step.Result{Kind: step.Void}
}

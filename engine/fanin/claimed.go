package fanin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/internal/trace"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
)

// folds claims jobs and takes each to its next stage or to its end.
type folds struct {
	*FanIn
	stream string // of their entries
	failed error  // why the file of a small job could not be made before the claim
}

// claimed is a claimed job.
type claimed struct {
	*scripts.Fold
	definition *report.Report // nil: not in this configuration
}

var (
	_ step.Handler[*claimed] = folds{}
	_ step.Step              = (*claimed)(nil)
)

func (c *claimed) Job() string { return c.ID }

func (c *claimed) Renew(ctx context.Context) (bool, error) {
	kept, err := c.Fold.Renew(ctx)
	return kept == scripts.OK, err
}

// Tries counts tries of the file. A decided failure is carried out without limit.
func (c *claimed) Tries() (int64, report.Retry, string) {
	retry := report.DefaultRetry
	if c.definition != nil {
		retry = c.definition.Retry
	}
	try := c.State.Fold.Tries
	switch c.Status {
	case job.StatusFailing:
		retry.Retries = math.MaxInt32
	case job.StatusPublishing: // dead workers do not end it: its file may exist
		try = min(try, int64(retry.Retries)+1)
	}
	return try, retry, c.State.Fold.Error
}

func (e *FanIn) newClaimed(f *scripts.Fold) *claimed {
	return &claimed{f, e.definitions[f.Definition]}
}

func (e folds) message(b barrier) scripts.Entry {
	return scripts.Entry{Stream: e.stream, Group: scripts.Group, Consumer: e.Consumer, ID: b.entry.ID}
}

// Claim claims the job of an entry.
func (e folds) Claim(ctx context.Context, entry step.Entry) (*claimed, step.Result) {
	b, ok := parseBarrier(entry)
	if !ok {
		return nil, step.Result{Kind: step.Unusable, Err: errors.New("not a job: the fields id and attempt are required")}
	}
	var outcome scripts.Outcome
	var f *scripts.Fold
	worker := e.Consumer + "/" + strconv.FormatInt(e.claims.Add(1), 10)
	err := e.Insist(ctx, "claim job", func() (err error) {
		outcome, f, err = e.Scripts.Folds.Claim(ctx, scripts.Claim{
			Message: b.Message, Stage: b.stage, Worker: worker, Known: e.known, Silent: b.silent, Entry: e.message(b),
		})
		return err
	})
	switch {
	case errors.Is(err, scripts.ErrBroken):
		return nil, step.Result{Kind: step.Unusable, Err: err}
	case err != nil || outcome == scripts.Busy:
		return nil, step.Result{Kind: step.Elsewhere, Err: err} // its worker may die
	case outcome == scripts.Unknown:
		return nil, e.handBack(ctx, b)
	case outcome == scripts.Large:
		return nil, step.Result{Kind: step.Moved}
	case outcome == scripts.OK || outcome == scripts.ToFail:
		return e.newClaimed(f), step.Result{}
	case outcome == scripts.Gone && entry.Fields["report"] != "":
		e.files.SweepJob(ctx, entry.Fields["report"], b.ID, b.Attempt) // cancelled before it had a job
	}
	return nil, step.Result{Kind: step.Void}
}

// Work takes a claimed job to its next stage or to its end.
func (e folds) Work(ctx context.Context, c *claimed) step.Result {
	if e.failed != nil && c.Status == job.StatusFold {
		return resultOf(e.failed, c)
	}
	bring := e.forward
	if c.Status == job.StatusFailing {
		bring = e.finishFailed
	}
	end, err := bring(ctx, c.Fold)
	return e.conclude(ctx, c, end, err)
}

// conclude settles a job that has reached its end.
func (e *FanIn) conclude(ctx context.Context, c *claimed, end ending, err error) step.Result {
	if err == nil && end.status != "" {
		err = e.settle(ctx, c.Fold, end)
	}
	return resultOf(err, c)
}

// resultOf says what an error means for a claimed job. Only refusals of the sink count as tries: an
// outage of the records, the sink or Redis is not the job's fault.
func resultOf(err error, c *claimed) step.Result {
	switch {
	case err == nil:
		return step.Result{}
	case errors.Is(err, errElsewhere):
		return step.Result{Kind: step.Elsewhere}
	}
	r := step.Result{Kind: step.Outage, Err: errors.New(engine.Reason(err)), Blame: blame(err)}
	switch {
	case errors.Is(err, sink.ErrRefused), errors.Is(err, files.ErrScratch):
		r.Kind = step.Retry // the error may be permanent
	case errors.As(err, new(brokenError)):
		r.Kind, r.Blame = step.Permanent, job.BlameReport
	default:
		_, retry, _ := c.Tries()
		r.After = outagePause(retry, c.Fence)
	}
	return r
}

// blame says which part of the system caused an error.
func blame(err error) job.Blame {
	switch {
	case errors.Is(err, errRecord):
		return job.BlameRecords
	case errors.Is(err, errSink), errors.Is(err, files.ErrScratch):
		return job.BlameSink
	}
	return job.BlameRedis
}

// outagePause is the delay after an outage. It grows with the fence, and so with the number of
// claims, because every claim may make the file again.
func outagePause(retry report.Retry, fence int64) time.Duration {
	pause := retry.Outage()
	return min(pause<<min(fence/8, 4), max(pause, time.Minute))
}

// End requeues a claimed job or fails it.
func (e folds) End(ctx context.Context, c *claimed, v step.Verdict) step.Result {
	if v.Act == step.GiveUp {
		reason := engine.Reason(v.Err)
		if v.Blame == "" { // its workers died without a reason
			reason = "fan-in: " + reason
		}
		end, err := e.fail(ctx, c.Fold, reason, v.Blame, c.Status == job.StatusPublishing)
		result := e.conclude(ctx, c, end, err)
		if result.Kind == step.Done || result.Kind == step.Elsewhere {
			return result
		}
		tries, retry, _ := c.Tries()
		v = step.Decide(result, tries, retry) // the job is FAILING now, so it is requeued
	}
	name := job.StepFanIn
	if v.Again.Blame == job.BlameRecords {
		name = job.StepRecord
	}
	e.Log.Warn("job will be retried", "job", c.ID, "attempt", c.Attempt, "step", name, "in", v.Again.Delay, "counts", v.Again.Counts, "err", v.Again.Error)
	e.requeued.WithLabelValues(name, requeueReason(v.Again)).Inc()
	if err := e.finally(ctx, "requeue job", func() (scripts.Outcome, error) { return c.Requeue(ctx, name, v.Again) }); err != nil {
		return step.Result{Kind: step.Elsewhere, Err: err}
	}
	return step.Result{}
}

// errRecord marks an error of the records, in a job that only waits for its record.
var errRecord = errors.New("records")

// brokenError is an error of a job's data or definition, which every try would repeat. Its text is
// unchanged.
type brokenError struct{ error }

func (b brokenError) Unwrap() error { return b.error }

// recordPatience is how long a claimed job waits for the records before it frees its slot.
const recordPatience = 5 * time.Second

// onRecord retries an operation on the record of a job for a short time.
func (e *FanIn) onRecord(ctx context.Context, state *job.State, what string, f func() error) (err error) {
	ctx, span := e.Trace.Start(ctx, trace.Record, traced(state))
	defer func() { endSpan(span, err) }()
	short, cancel := context.WithTimeout(ctx, recordPatience)
	defer cancel()
	var last error
	err = e.Insist(short, what, func() error {
		last = f()
		return last
	})
	if err != nil && ctx.Err() == nil && short.Err() != nil {
		return fmt.Errorf("%w: %s: %w", errRecord, what, last)
	}
	return err
}

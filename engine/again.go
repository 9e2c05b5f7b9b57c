package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/internal/stream"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// giveUp has a claimed job come again that could not be brought further, and
// returns nil where its entry is to be acknowledged. Only what the sink refuses
// counts as a try: that the records, the sink or Redis are away is not the job's
// fault, and a decision is carried out however long it takes.
func (e *Engine) giveUp(ctx context.Context, f *scripts.Fold, why error) error {
	state, retry := f.State, report.DefaultRetry
	if r := e.definitions[state.Definition]; r != nil {
		retry = r.Retry
	}
	step := scripts.StepFanIn
	if errors.Is(why, errRecord) {
		step = scripts.StepRecord
	}
	again, reason := scripts.Again{Delay: outagePause(retry, state.Fence), Error: Reason(why), Blame: blame(why)}, requeuedOutage
	switch {
	case errors.Is(context.Cause(ctx), stream.ErrStopping):
		var cancel context.CancelFunc
		ctx, cancel = lasting(ctx)
		defer cancel()
		again, reason = scripts.Again{}, requeuedStop
	case counts(why):
		again, reason = scripts.Again{Delay: retry.Before(int(state.Fold.Tries)), Counts: true, Error: Reason(why), Blame: blame(why)}, requeuedRefused
	}
	e.log.Warn("job comes again", "job", state.ID, "attempt", state.Attempt, "step", step, "in", again.Delay, "counts", again.Counts, "err", why)
	e.jobs.requeued.WithLabelValues(step, reason).Inc()
	return e.finally(ctx, "requeue job", func() (scripts.Outcome, error) {
		return f.Requeue(ctx, step, again)
	})
}

// blame says whose fault it is that a job could not be brought on.
func blame(err error) scripts.Blame {
	switch {
	case errors.Is(err, errRecord):
		return scripts.BlameRecords
	case errors.Is(err, errSink), errors.Is(err, errScratch):
		return scripts.BlameSink
	}
	return scripts.BlameRedis
}

// outagePause is how long a job rests that a server was away for: it grows with the
// fence number, and so with the claims, since each one may make the file anew.
func outagePause(retry report.Retry, fence int64) time.Duration {
	pause := retry.Outage()
	return min(pause<<min(fence/8, 4), max(pause, time.Minute))
}

// counts tells whether an error uses a try: what the sink refuses, and what the disk
// for scratch files has no room for, may be so for ever.
func counts(err error) bool { return errors.Is(err, sink.ErrRefused) || errors.Is(err, errScratch) }

// lastTry tells whether an error counts and was that of the last try.
func lastTry(r *report.Report, state *scripts.State, err error) bool {
	return counts(err) && state.Fold.Tries > int64(r.Retry.Retries)
}

// tried is the reason of a job whose last try has failed.
func tried(r *report.Report, state *scripts.State, err error) string {
	return fmt.Sprintf("%s (try %d of %d)", Reason(err), state.Fold.Tries, r.Retry.Retries+1)
}

// errRecord marks an error of the records, in a job that only needs its record
// changed.
var errRecord = errors.New("records")

// recordPatience is how long a claimed job waits for the records before it makes
// room for others.
const recordPatience = 5 * time.Second

// onRecord repeats an effect on the records, for a short while.
func (e *Engine) onRecord(ctx context.Context, what string, f func() error) error {
	short, cancel := context.WithTimeout(ctx, recordPatience)
	defer cancel()
	var last error
	err := e.insist(short, what, func() error {
		last = f()
		return last
	})
	if err != nil && ctx.Err() == nil && short.Err() != nil {
		return fmt.Errorf("%w: %s: %w", errRecord, what, last)
	}
	return err
}

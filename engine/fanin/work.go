package fanin

import (
	"context"
	"math"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
	"github.com/fanfold/fanfold/trace"
)

// work is a job on its way to its next stage or to its end.
type work struct {
	*scripts.Fold
	report *report.Report // its definition; nil: not in this configuration
	file   file           // written, and not committed
	end    scripts.End    // without a status the job continues; settle sets Fold and Notify
	result step.Result    // how the try ended; Done: as it should
}

var _ step.Step = (*work)(nil)

func (w *work) Job() string { return w.ID }

func (w *work) Renew(ctx context.Context) (bool, error) {
	kept, err := w.Fold.Renew(ctx)
	return kept == scripts.OK, err
}

// Tries counts tries of the file. A decided failure is carried out without limit.
func (w *work) Tries() (int64, report.Retry, string) {
	retry := report.DefaultRetry
	if w.report != nil {
		retry = w.report.Retry
	}
	try := w.State.Fold.Tries
	switch w.Status {
	case job.StatusFailing:
		retry.Retries = math.MaxInt32
	case job.StatusPublishing: // dead workers do not end it: its file may exist
		try = min(try, int64(retry.Retries)+1)
	}
	return try, retry, w.State.Fold.Error
}

// outagePause is the delay after an outage. It grows with the fence, and so with the number of
// claims, because every claim may make the file again.
func (w *work) outagePause() time.Duration {
	_, retry, _ := w.Tries()
	pause := retry.Outage()
	return min(pause<<min(w.Fence/8, 4), max(pause, time.Minute))
}

// bring takes jobs to their next stage or to their end: a batch of small ones, or one that is claimed.
// Every job has its result afterwards. All of it may be repeated after a crash: the chunks are the
// same, so the file is the same, and an object that already exists is adopted. Jobs that fail before
// they are claimed are left beside the commits of the others: they do not wait for a slow sink.
func (f *FanIn) bring(ctx context.Context, jobs []*work, begin create, leave func(i int, w *work)) {
	defer func() {
		for _, w := range jobs {
			w.file.abort()
		}
	}()
	each(jobs, func(_ int, w *work) {
		if w.result.Kind == step.Done {
			w.result = f.prepare(ctx, w, begin)
		}
	})
	f.publish(ctx, jobs)
	each(jobs, func(i int, w *work) {
		switch {
		case w.result.Kind != step.Done && !w.Claimed():
			leave(i, w)
		case w.result.Kind == step.Done && w.file.writer != nil:
			w.result = f.commit(ctx, w)
		}
	})
	f.settle(ctx, jobs)
}

// prepare advances a job, ends one that fails, or makes the file.
func (f *FanIn) prepare(ctx context.Context, w *work, begin create) step.Result {
	switch {
	case w.Status == job.StatusFailing:
		return f.finishFailed(ctx, w)
	case int(w.Stage) < len(w.report.Stages):
		return f.last(ctx, "advance job", func() (scripts.Outcome, error) {
			return w.Advance(ctx, w.report.Stages[w.Stage].Names())
		})
	case w.Status == job.StatusPublishing: // by an earlier claim
		// Usually the records were unavailable, and still are: check them before making the file.
		found, err := f.foreign(ctx, w.State)
		if err != nil {
			return resultOf(err)
		}
		if !found.running {
			return f.finishForeign(ctx, w, true)
		}
	}
	var err error
	w.file, err = f.make(ctx, w, begin)
	return resultOf(err) // a published file may exist: it must be found or made
}

// last runs the last script of an entry, which acknowledges it. The result is Elsewhere if another
// claim owns the job: that worker has the same entry, and may die.
func (f *FanIn) last(ctx context.Context, what string, script func() (scripts.Outcome, error)) step.Result {
	outcome, err := step.Insist(ctx, f.Log, what, script, step.UnlessFull)
	switch {
	case err != nil:
		return resultOf(err)
	case outcome == scripts.Busy:
		return step.Result{Kind: step.Elsewhere}
	}
	return step.Result{}
}

// publish publishes the jobs that have a file, and claims those that are not claimed: from then on
// timeout and cancel lose.
func (f *FanIn) publish(ctx context.Context, jobs []*work) {
	var folds []*scripts.Fold
	var of []*work
	for _, w := range jobs {
		if w.file.writer != nil {
			folds, of = append(folds, w.Fold), append(of, w)
		}
	}
	if len(folds) == 0 {
		return
	}
	outcomes, err := step.Insist(ctx, f.Log, "publish jobs", func() ([]scripts.Outcome, error) {
		return f.Scripts.Folds.Publish(ctx, folds...)
	})
	for i, w := range of {
		switch {
		case err != nil:
			w.result = resultOf(err)
		case outcomes[i] == scripts.OK:
		case outcomes[i] == scripts.Late && w.Claimed():
			w.file.abort()
			w.file = file{}
			w.result = f.fail(ctx, w, "the deadline passed while the file was being made", job.BlameReport, false)
		default:
			w.result = step.Result{Kind: step.Elsewhere}
		}
	}
}

// settleTime bounds the settling of jobs in a process that is stopping.
const settleTime = 5 * time.Second

// settle removes what is left in Redis of the jobs whose records are final. A process that is stopping
// does it first: it is quick, and the jobs are then done.
func (f *FanIn) settle(ctx context.Context, jobs []*work) {
	var ends []scripts.End
	var of []*work
	for _, w := range jobs {
		if w.end.Status != "" && w.result.Kind == step.Done {
			w.end.Fold, w.end.Notify = w.Fold, f.Notifies(w.Report)
			of, ends = append(of, w), append(ends, w.end)
		}
	}
	if len(ends) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	outcomes, err := step.Insist(ctx, f.Log, "settle jobs", func() ([]scripts.Outcome, error) {
		return f.Scripts.Folds.Settle(ctx, ends...)
	}, step.UnlessFull)
	ended := map[string][]string{} // by report
	var shared []engine.OnceEnd
	for i, w := range of {
		switch {
		case err != nil:
			w.result = resultOf(err)
		case outcomes[i] == scripts.Busy:
			w.result = step.Result{Kind: step.Elsewhere}
		case outcomes[i] == scripts.OK:
			ended[w.Report] = append(ended[w.Report], w.ID)
			shared = append(shared, engine.OnceEnd{Of: w.State, Status: report.Status(w.end.Status)})
			f.count(w)
		}
	}
	f.ReleaseJobSlots(ctx, ended)
	f.EndOnce(ctx, shared...)
}

// traced returns what the spans of a job need to know of it.
func traced(s *job.State) trace.Job {
	return trace.Job{ID: s.ID, Attempt: s.Attempt, Report: s.Report, Trace: s.Trace}
}

// endSpan ends a span, with the reason if its work failed.
func endSpan(span *trace.Span, err error) {
	reason := ""
	if span != nil && err != nil {
		reason = err.Error()
	}
	span.End(reason)
}

// count counts a job that has ended, and ends its trace.
func (f *finisher) count(w *work) {
	f.CountEnd(w.Report, w.end.Status)
	reason := ""
	if w.end.Status == string(report.Failed) {
		reason = w.end.Detail
	}
	f.Trace.End(traced(w.State), w.end.Status, reason)
}

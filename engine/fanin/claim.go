package fanin

import (
	"context"
	"errors"
	"strconv"

	"github.com/fanfold/fanfold/internal/processors"
	"github.com/fanfold/fanfold/internal/spooled"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// claims handles one entry at a time: it claims the job and takes it to its next stage or to its end.
type claims struct {
	*FanIn
	failed step.Result // of an earlier try without a claim
}

var _ step.Handler[*work] = claims{}

// Claim claims the job of an entry.
func (c claims) Claim(ctx context.Context, entry step.Entry) (*work, step.Result) {
	b, ok := entry.Content.(scripts.Small)
	if !ok {
		return nil, step.Result{Kind: step.Unusable,
			Err: errors.New("not a job: the fields id and attempt are required")}
	}
	claim := scripts.Claim{
		Message: b.Message, Stage: b.Stage, Worker: c.Consumer + "/" + strconv.FormatInt(c.claims.Add(1), 10),
		Known: c.known, Redelivered: entry.Deliveries > 1, Entry: entry.Entry,
	}
	var fold *scripts.Fold
	outcome, err := step.Insist(ctx, c.Log, "claim job", func() (outcome scripts.Outcome, err error) {
		outcome, fold, err = c.Scripts.Folds.Claim(ctx, claim)
		return outcome, err
	})
	switch {
	case errors.Is(err, scripts.ErrBroken):
		return nil, step.Result{Kind: step.Unusable, Err: err}
	case err != nil || outcome == scripts.Busy:
		return nil, step.Result{Kind: step.Elsewhere, Err: err} // its worker may die
	case outcome == scripts.Unknown:
		return nil, c.handBack(ctx, claim)
	case outcome == scripts.Large:
		return nil, step.Result{Kind: step.Moved}
	case outcome == scripts.OK || outcome == scripts.ToFail:
		return &work{Fold: fold, report: c.definitions[fold.Definition]}, step.Result{}
	case outcome == scripts.Gone && entry.Fields["report"] != "":
		c.files.SweepJob(ctx, entry.Fields["report"], b.ID, b.Attempt) // cancelled before it had a job
	}
	return nil, step.Result{Kind: step.Void}
}

// Work takes a claimed job to its next stage or to its end.
func (c claims) Work(ctx context.Context, w *work) step.Result {
	if w.Status == job.StatusFold {
		switch c.failed.Kind {
		case step.Retry, step.Outage, step.Permanent:
			return c.failed
		}
	}
	if w.Bytes > processors.Large || w.Spooled > 0 {
		defer processors.Raise()()
	}
	c.bring(ctx, []*work{w}, c.files.Create, func(int, *work) {}) // it is claimed
	lost, ok := errors.AsType[spooled.Lost](w.result.Err)
	switch {
	case ok && w.Status == job.StatusFold:
		m := scripts.Message{ID: w.ID, Attempt: w.Attempt}
		w.result = spooled.Reopen(ctx, c.Log, c.Scripts, m, w.report, "", lost)
	case ok: // it is published, so no listener runs any more
		w.result.Kind = step.Permanent
	}
	return w.result
}

// End requeues a claimed job or fails it.
func (c claims) End(ctx context.Context, w *work, v step.Verdict) step.Result {
	if v.Act == step.GiveUp {
		reason := v.Err.Error()
		if v.Blame == "" { // its workers died without a reason
			reason = "fan-in: " + reason
		}
		w.result = c.fail(ctx, w, reason, v.Blame, w.Status == job.StatusPublishing)
		if c.settle(ctx, []*work{w}); w.result.Kind == step.Done || w.result.Kind == step.Elsewhere {
			return w.result
		}
		tries, retry, _ := w.Tries()
		v = step.Decide(w.result, tries, retry) // the job is FAILING now, so it is requeued
	}
	reason := requeueReason(v.Again)
	if reason == requeuedOutage {
		v.Again.Delay = w.outagePause()
	}
	name := job.StepFanIn
	if v.Again.Blame == job.BlameRecords {
		name = job.StepRecord
	}
	c.Log.Warn("job will be retried", "job", w.ID, "attempt", w.Attempt, "step", name,
		"in", v.Again.Delay, "counts", v.Again.Counts, "err", v.Again.Error)
	c.requeued.WithLabelValues(name, reason).Inc()
	requeued := c.last(ctx, "requeue job", func() (scripts.Outcome, error) { return w.Requeue(ctx, name, v.Again) })
	if requeued.Kind != step.Done {
		return step.Result{Kind: step.Elsewhere, Err: requeued.Err}
	}
	return step.Result{}
}

// handBack leaves a job to a process that has its definition. A published job whose record is final
// needs no definition: it is ended here, because the process that made its file may have been the
// last with that version.
func (c claims) handBack(ctx context.Context, claim scripts.Claim) step.Result {
	state, err := c.Scripts.Jobs.Read(ctx, claim.ID)
	if err == nil && state.Attempt == claim.Attempt && state.Status == job.StatusPublishing {
		found, err := c.foreign(ctx, state)
		if err != nil {
			return step.Result{Kind: step.Elsewhere, Err: err}
		}
		if !found.running {
			return c.endForeign(ctx, claim, state.Definition)
		}
	}
	if state != nil {
		if _, logged := c.handed.LoadOrStore(state.Definition, true); !logged {
			c.Log.Info("handing back jobs: their definition is not in this configuration",
				"report", state.Report, "definition", state.Definition, "first", claim.ID)
		}
	}
	if err := step.Ensure(ctx, c.Log, "hand back", func() error {
		return c.Scripts.Folds.HandBack(ctx, claim.Message, claim.Entry)
	}); err != nil {
		return step.Result{Kind: step.Elsewhere, Err: err}
	}
	return step.Result{Kind: step.Moved}
}

// endForeign claims a published job whose record is final, and ends it without its definition.
func (c claims) endForeign(ctx context.Context, claim scripts.Claim, definition string) step.Result {
	claim.Worker, claim.Stage, claim.Known = c.Consumer, 0, []string{definition}
	_, fold, err := c.Scripts.Folds.Claim(ctx, claim)
	if err != nil || fold == nil {
		return step.Result{Kind: step.Elsewhere, Err: err}
	}
	w := &work{Fold: fold, report: c.definitions[fold.Definition]}
	w.result = c.finishForeign(ctx, w, true)
	c.settle(ctx, []*work{w})
	if result := step.Conclude(ctx, c, w, w.result); result.Kind != step.Done {
		return result
	}
	return step.Result{Kind: step.Moved}
}

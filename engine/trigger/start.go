package trigger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
	"github.com/fanfold/fanfold/trace"
)

// start makes the records PROCESSING and starts their jobs, in a Redis of the epoch that was read
// before (empty: it had none, and start waits for one). It returns how many jobs it started.
func (t *Trigger) start(ctx context.Context, pushes []*push, epoch string) (n int) {
	// By default, entries are delivered again.
	for _, p := range pushes {
		p.ends(step.Result{Kind: step.Elsewhere})
	}
	pushes = lanes{t}.admit(ctx, t.once.take(ctx, pushes))
	if pushes = t.slots.take(ctx, pushes); len(pushes) == 0 {
		return 0
	}
	started, err := t.startRecords(ctx, pushes)
	if err != nil {
		return 0
	}
	if epoch == "" {
		ctx, cancel := step.Lasting(ctx)
		defer cancel()
		var err error
		if epoch, err = t.lookup.waitForEpoch(ctx); err != nil {
			return 0
		}
	}
	var doubtful, jobs []*push
	for i, p := range pushes {
		if started[i] {
			p.run = engine.Run{ID: p.id, Attempt: p.next()}
			jobs = append(jobs, p)
		} else {
			doubtful = append(doubtful, p)
		}
	}
	n = t.startJobs(ctx, jobs, epoch)
	t.pollTwice(ctx, doubtful)
	return n
}

// startRecords makes the records PROCESSING, and tells which ones changed.
func (t *Trigger) startRecords(ctx context.Context, pushes []*push) ([]bool, error) {
	runs := make([]engine.Run, len(pushes))
	for i, p := range pushes {
		runs[i] = engine.Run{ID: p.id, Attempt: p.record.Attempt, Next: p.next()}
	}
	return step.Insist(ctx, t.Log, "start records",
		func() ([]bool, error) { return t.Records.Start(ctx, runs) })
}

// pollTwice decides about records whose next attempt did not start. If another process started it,
// or this one did and the answer was lost, the record is polled again after the grace time: in the
// second case nothing else starts the job. If another session has locked the record, it is polled
// again soon. The entries are not left pending, because that would count as a silent worker.
func (t *Trigger) pollTwice(ctx context.Context, pushes []*push) {
	if len(pushes) == 0 {
		return
	}
	if _, err := t.lookup.read(ctx, pushes); err != nil {
		return
	}
	for _, p := range pushes {
		d := decide(p, t.Limits.RecoverAfter, time.Now())
		if d.act == actStart {
			if len(p.items) == 0 {
				continue // the next pass of the rebuild starts it
			}
			d = p.pollSoon()
		}
		p.ends(t.carryOut(ctx, p, d))
	}
}

// startJobs starts the jobs of records that are now PROCESSING, and acknowledges their entries. A
// process that is stopping does so first: otherwise the jobs would wait for the grace time. It
// returns how many it started.
func (t *Trigger) startJobs(ctx context.Context, pushes []*push, epoch string) (n int) {
	ctx, cancel := step.Lasting(ctx)
	defer cancel()
	if findKept(ctx, t.Engine, pushes) != nil {
		return 0
	}
	for len(pushes) > 0 {
		starts := make([]scripts.Start, len(pushes))
		for i, p := range pushes {
			p.beginTrace(t.Trace)
			starts[i] = scripts.Start{
				ID: p.id, Attempt: p.run.Attempt, Parameters: p.parameters, Trace: p.traced, Plan: t.planOf(p),
				Reuse: p.reuse, Pushed: p.pushed(),
			}
			if p.acknowledgedByStart(t.Scripts.Keys.Jobs) {
				starts[i].Entry = p.items[0].ID
			}
		}
		outcomes, err := step.Insist(ctx, t.Log, "start jobs", func() ([]scripts.Outcome, error) {
			return t.Scripts.Jobs.Start(ctx, epoch, starts...)
		})
		if outcomes == nil {
			outcomes = make([]scripts.Outcome, len(pushes))
		}
		var again []*push
		for i, p := range pushes {
			notStarted := startError(outcomes[i], t.Scripts.Keys.Job(p.id))
			switch {
			case outcomes[i] == scripts.Busy:
				p.ends(step.Result{Kind: step.Elsewhere, Err: err})
			case notStarted == nil:
				if outcomes[i] == scripts.Reusing {
					for _, l := range p.reuse.Listeners {
						t.CountReused(p.record.Report, l)
					}
				}
				if n++; outcomes[i] != scripts.Already { // otherwise an earlier call began its trace
					t.Trace.Trigger(p.job(), p.began, "")
				}
				p.ends(step.Result{Kind: step.Void})
				if p.acknowledgedByStart(t.Scripts.Keys.Jobs) {
					p.items[0].ends(step.Done, nil)
				}
			case errors.Is(notStarted, scripts.ErrBroken):
				p.ends(t.carryOut(ctx, p, decision{act: actQuarantine, why: notStarted.Error()}))
			case errors.Is(notStarted, errAnother):
				// The id was used before, and its old job reached Redis after the states were read.
				next, err := t.supersede(ctx, p.run)
				if err == nil && next == 0 {
					p.ends(step.Result{Kind: step.Void})
				} else if err == nil {
					p.run.Attempt = next
					again = append(again, p)
				}
			}
		}
		pushes = again
	}
	return n
}

// acknowledgedByStart tells whether the script that starts the job acknowledges its first entry: one of the stream
// of pushed ids.
func (p *push) acknowledgedByStart(jobs string) bool {
	return len(p.items) > 0 && p.items[0].Stream == jobs
}

var (
	// errForgotten is why an attempt is not started: Redis has lost its data since the record got
	// that attempt.
	errForgotten = errors.New("Redis has lost its data")
	errAnother   = errors.New("another job with this id appeared in Redis meanwhile")
)

// startError returns why a job did not start; nil if it did.
func startError(outcome scripts.Outcome, key string) error {
	switch outcome {
	case scripts.OK, scripts.Reusing, scripts.Already:
		return nil
	case scripts.Gone:
		return errForgotten
	case scripts.Broken:
		return fmt.Errorf("%w: %s", scripts.ErrBroken, key)
	case scripts.Another:
		return errAnother
	}
	return fmt.Errorf("unexpected outcome: %s", outcome)
}

// planOf returns the plan with which a push starts. A preempted job keeps the deadline of its first
// start, but has a quarter of the timeout of its report at least.
func (t *Trigger) planOf(p *push) scripts.Plan {
	plan := t.plans[p.report]
	if p.preempted() {
		plan.Timeout = max(plan.Timeout-p.turn.Waited.Truncate(time.Millisecond), plan.Timeout/4)
	}
	return plan
}

// supersede gives a running record an attempt above the one that Redis has for its id, and returns
// it; 0 if the record has changed meanwhile.
func (t *Trigger) supersede(ctx context.Context, run engine.Run) (next int64, err error) {
	ok, err := step.Insist(ctx, t.Log, "supersede another job with this id", func() (bool, error) {
		attempts, _, err := t.Scripts.Jobs.Attempts(ctx, []string{run.ID})
		if err != nil {
			return false, err
		}
		next = max(run.Attempt, attempts[0]) + 1
		started, err := t.Records.Start(ctx, []engine.Run{{ID: run.ID, Attempt: run.Attempt, Next: next}})
		if err != nil || started[0] {
			return err == nil, err
		}
		records, err := t.Records.Read(ctx, []string{run.ID})
		if r := records[run.ID]; err == nil && r.Status == report.Processing && r.Attempt == run.Attempt {
			err = errors.New("another session has locked the record")
		}
		return false, err
	})
	if err != nil || !ok {
		return 0, err
	}
	t.Log.Warn("superseded another job with this id: its row was replaced or reset", "job", run.ID, "attempt", next)
	return next, nil
}

// beginTrace begins the trace of a job that is about to start.
func (p *push) beginTrace(tracer *trace.Tracer) {
	p.traced = job.Trace{}
	if tracer == nil {
		return
	}
	pushed := p.began
	if len(p.items) > 0 {
		pushed = p.pushed()
	}
	p.traced = tracer.Begin(p.trace, pushed)
}

// pushed returns when the first entry was appended, or since when its id waited for that; zero if there is none.
func (p *push) pushed() time.Time {
	if len(p.items) == 0 {
		return time.Time{}
	}
	return scripts.EntryTime(cmp.Or(p.items[0].Fields["since"], p.items[0].ID))
}

// job returns what the spans of a push need to know of its job.
func (p *push) job() trace.Job {
	return trace.Job{ID: p.id, Attempt: p.run.Attempt, Report: p.record.Report, Trace: p.traced}
}

// traceUnstarted sends the spans of a job that ended before it could start.
func (p *push) traceUnstarted(tracer *trace.Tracer, status report.Status, why string) {
	p.beginTrace(tracer)
	tracer.Trigger(p.job(), p.began, why)
	tracer.End(p.job(), string(status), why)
}

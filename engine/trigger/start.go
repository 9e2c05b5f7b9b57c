package trigger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// start makes the records PROCESSING and starts their jobs, in a Redis of the epoch that was read
// before (empty: it had none, and start waits for one). It returns how many jobs it started.
func (t *Trigger) start(ctx context.Context, pushes []*push, epoch string) (n int) {
	// By default, entries are delivered again.
	for _, p := range pushes {
		p.ends(step.Result{Kind: step.Elsewhere})
	}
	if pushes = t.takePlaces(ctx, pushes); len(pushes) == 0 {
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
		if epoch, err = t.epoch(ctx); err != nil {
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
	started := make([]bool, len(pushes))
	var runs []engine.Run
	var usual []int
	for i, p := range pushes {
		run := engine.Run{ID: p.id, Attempt: p.record.Attempt}
		if p.next() == run.Attempt+1 {
			runs, usual = append(runs, run), append(usual, i)
			continue
		}
		if err := step.Ensure(ctx, t.Log, "start record", func() (err error) {
			started[i], err = t.Records.StartAs(ctx, run, p.next())
			return err
		}); err != nil {
			return nil, err
		}
	}
	if len(runs) == 0 {
		return started, nil
	}
	err := step.Ensure(ctx, t.Log, "start records", func() error {
		done, err := t.Records.Start(ctx, runs)
		for j := range done {
			started[usual[j]] = done[j]
		}
		return err
	})
	return started, err
}

// pollTwice decides about records whose next attempt did not start. If another process started it,
// or this one did and the answer was lost, the record is polled again after the grace time: in the
// second case nothing else starts the job. If another session has locked the record, it is polled
// again soon. The entries are not left pending, because that would count as a silent worker.
func (t *Trigger) pollTwice(ctx context.Context, pushes []*push) {
	if len(pushes) == 0 {
		return
	}
	if _, err := t.readAll(ctx, pushes); err != nil {
		return
	}
	for _, p := range pushes {
		d := decide(*p, t.Limits.Grace)
		if d.act == actStart {
			if len(p.entries) == 0 {
				continue // the next pass of the rebuild starts it
			}
			d = p.lookSoon()
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
	for len(pushes) > 0 {
		starts := make([]scripts.Start, len(pushes))
		for i, p := range pushes {
			parameters, err := p.report.Canonical(p.record.Parameters)
			if err != nil {
				t.Log.Error("could not start the job", "job", p.id, "err", err) // unreachable: decide has bound them
				return n
			}
			p.traced = t.beginTrace(p)
			starts[i] = scripts.Start{ID: p.id, Attempt: p.run.Attempt, Parameters: parameters, Trace: p.traced, Plan: t.planOf(p)}
			if len(p.entries) > 0 {
				starts[i].Entry = p.entries[0]
			}
		}
		var outcomes []scripts.Outcome
		err := step.Ensure(ctx, t.Log, "start jobs", func() (err error) {
			outcomes, err = t.Scripts.Jobs.Start(ctx, epoch, starts...)
			return err
		})
		if outcomes == nil {
			outcomes = make([]scripts.Outcome, len(pushes))
		}
		var again []*push
		for i, p := range pushes {
			switch outcomes[i] {
			case scripts.Busy:
				p.ends(step.Result{Kind: step.Elsewhere, Err: err})
			case scripts.OK, scripts.Already:
				if n++; outcomes[i] == scripts.OK { // otherwise an earlier call began its trace
					t.Trace.Trigger(p.job(), p.began, "")
				}
				p.ends(step.Result{Kind: step.Void})
				if len(p.results) > 0 {
					*p.results[0] = step.Result{} // acknowledged by the script
				}
			case scripts.Broken:
				why := fmt.Errorf("%w: %s", scripts.ErrBroken, t.Scripts.Keys.Job(p.id))
				p.ends(t.carryOut(ctx, p, decision{act: actQuarantine, why: why.Error()}))
			case scripts.Another:
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

// planOf returns the plan with which a push starts. A preempted job keeps the deadline of its first
// start, but has a quarter of the timeout of its report at least.
func (t *Trigger) planOf(p *push) scripts.Plan {
	plan := t.plans[p.report]
	if p.preempted() {
		plan.Timeout = max(plan.Timeout-p.turn.Waited.Truncate(time.Millisecond), plan.Timeout/4)
	}
	return plan
}

// errForgotten is why an attempt is not started: Redis has lost its data since the record got that
// attempt.
var errForgotten = errors.New("engine: Redis has lost its data")

// supersede gives a running record an attempt above the one that Redis has for its id, and returns
// it; 0 if the record has changed meanwhile.
func (t *Trigger) supersede(ctx context.Context, run engine.Run) (next int64, err error) {
	ok := false
	err = step.Ensure(ctx, t.Log, "supersede another job with this id", func() error {
		attempts, _, err := t.Scripts.Jobs.Attempts(ctx, []string{run.ID})
		if err != nil {
			return err
		}
		next = max(run.Attempt, attempts[0]) + 1
		if ok, err = t.Records.StartAs(ctx, run, next); err != nil || ok {
			return err
		}
		records, err := t.Records.Read(ctx, []string{run.ID})
		if r := records[run.ID]; err == nil && r.Status == report.Processing && r.Attempt == run.Attempt {
			err = errors.New("another session has locked the record")
		}
		return err
	})
	if err != nil || !ok {
		return 0, err
	}
	t.Log.Warn("superseded another job with this id: its row was replaced or reset", "job", run.ID, "attempt", next)
	return next, nil
}

// epoch returns the epoch of Redis, and waits until it has one: a job that starts without an epoch
// could not tell later whether Redis has lost its data.
func (t *Trigger) epoch(ctx context.Context) (found string, err error) {
	for looks := 0; ; looks++ {
		err := step.Ensure(ctx, t.Log, "read epoch", func() (err error) {
			found, err = t.Scripts.Epoch.Read(ctx)
			return err
		})
		if err != nil || found != "" {
			return found, err
		}
		if looks == 100 {
			t.Log.Warn("waiting for an epoch in Redis before starting jobs", "key", t.Scripts.Keys.Epoch)
		}
		if step.Wait(ctx, epochPause) != nil {
			return "", ctx.Err()
		}
	}
}

// epochPause is the time between two polls of the epoch: a process usually sets it within a second.
const epochPause = 20 * time.Millisecond

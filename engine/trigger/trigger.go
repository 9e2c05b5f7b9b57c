package trigger

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
)

// batch is the maximum number of ids per read without lanes: one query and one update in MySQL, one round trip to
// Redis.
const batch = 100

// Trigger starts the jobs of pushed ids.
type Trigger struct {
	*engine.Engine
	files     *files.Files
	plans     map[*report.Report]scripts.Plan
	admission *admission
	slots     slots
	once      once
	lookup    lookup
}

// New returns a Trigger. It does no I/O.
func New(e *engine.Engine, f *files.Files) *Trigger {
	t := &Trigger{
		Engine: e, files: f, plans: map[*report.Report]scripts.Plan{},
		admission: &admission{Engine: e, made: time.Now()}, slots: slots{e},
		once: once{e, f}, lookup: lookup{e},
	}
	for _, r := range e.Reports {
		t.plans[r] = planOf(r, r.Hash())
	}
	return t
}

// Run starts jobs until ctx ends, and then returns nil. It waits for the end of an outage of Redis.
// It starts jobs only in a Redis that has an epoch: engine/recovery, which must run beside it, sets
// one.
func (t *Trigger) Run(ctx context.Context) error {
	pushes := step.New(step.Options{
		Redis: t.Redis, Stream: t.Scripts.Keys.Jobs, Scripts: t.Scripts, Consumer: t.Consumer,
		Slots: lanes{t}.slots(), Batch: true, MinIdle: t.Limits.Lease, Log: t.Log,
		Admit: t.admission.free, Handle: t.handle, KeepAlive: true,
		Patience: t.Limits.ShutdownTimeout,
	})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return pushes.Run(ctx) })
	group.Go(func() error { return lanes{t}.turns(ctx) })
	group.Go(func() error { return lanes{t}.sweep(ctx) })
	group.Go(func() error { return t.slots.release(ctx) })
	group.Go(func() error { return t.once.sweep(ctx) })
	group.Go(func() error { return findOrphans(ctx, t.Engine) })
	return group.Wait()
}

// item is an entry of a batch.
type item struct {
	step.Entry
	result step.Result
	done   bool // it has its result
}

// ends sets the result of an entry.
func (i *item) ends(kind step.Kind, err error) {
	i.result, i.done = step.Result{Kind: kind, Err: err}, true
}

// handle handles a batch of pushed ids: one query for their records, one statement that makes them
// PROCESSING, one round trip that starts them and acknowledges their entries. Every step is
// repeated until its server is back, so that an outage costs nothing.
func (t *Trigger) handle(ctx context.Context, entries []step.Entry) []step.Result {
	items, began := make([]*item, len(entries)), time.Now()
	for i, entry := range entries {
		items[i] = &item{Entry: entry}
	}
	in := intake{t.Engine}
	in.noteReplies(ctx, items)
	in.sendToOwn(ctx, items)
	t.handlePushes(ctx, in.pushes(items, began))
	results := make([]step.Result, len(items))
	for i, item := range items {
		results[i] = item.result
	}
	return results
}

func (t *Trigger) handlePushes(ctx context.Context, pushes []*push) {
	if len(pushes) == 0 {
		return
	}
	epoch, err := t.lookup.read(ctx, pushes)
	if err != nil {
		for _, p := range pushes {
			p.ends(step.Result{Kind: step.Elsewhere, Err: err})
		}
		return
	}
	var start []*push
	for _, p := range pushes {
		if d := decide(p, t.Limits.RecoverAfter, time.Now()); d.act == actStart {
			p.parameters = d.parameters
			start = append(start, p)
		} else {
			p.ends(t.carryOut(ctx, p, d))
		}
	}
	if len(start) > 0 {
		t.start(ctx, start, epoch)
	}
}

// carryOut carries out a decision that does not start the job.
func (t *Trigger) carryOut(ctx context.Context, p *push, d decision) (r step.Result) {
	defer func() { r = lanes{t}.notStarted(ctx, p, d, r) }()
	if d.act == actQuarantine || d.act == actIgnore && p.record.Status.Final() {
		if err := step.Ensure(ctx, t.Log, "refuse a push", func() error {
			return t.Scripts.Receipts.Refuse(ctx, p.id, d.why)
		}); err != nil {
			return step.Result{Kind: step.Elsewhere, Err: err}
		}
	}
	if d.act == actQuarantine || d.act == actFail || d.act == actIgnore && p.record.Status.Final() {
		defer t.once.leave(ctx, p)
	}
	switch {
	case d.act == actQuarantine && len(p.items) > 0:
		return step.Result{Kind: step.Unusable, Err: errors.New(d.why)}
	case d.act == actFail:
		return t.endUnstarted(ctx, p, report.Failed, d.why)
	}
	return ensured(step.Ensure(ctx, t.Log, "handle a pushed id", func() error {
		if d.act == actPollLater || d.act == actPark {
			if err := forgetKept(ctx, t.Engine, p); err != nil {
				return err
			}
		}
		switch d.act {
		case actPollLater:
			return t.Scripts.Clock.Delay(ctx, d.member.String(), d.pause)
		case actQuarantine:
			t.Log.Warn("quarantined a pushed id", "job", p.id, "why", d.why)
			return t.Scripts.Streams.Quarantine(ctx, t.Scripts.Keys.Jobs, "", map[string]string{"id": p.id}, d.why)
		case actPark:
			if err := t.Scripts.Gate.Park(ctx, p.record.Report, p.id); err != nil {
				return err
			}
			return t.Scripts.Jobs.Note(ctx, p.id, p.record.Attempt, "paused", "report", p.record.Report)
		default:
			if err := t.discard(ctx, p); err != nil {
				return err
			}
			return t.Scripts.Jobs.Note(ctx, p.id, p.record.Attempt, "ignored", "reason", d.why)
		}
	}))
}

// ensured is the result of an entry whose last effect has happened, or of which the process stops
// before that.
func ensured(err error) step.Result {
	if err != nil {
		return step.Result{Kind: step.Elsewhere, Err: err}
	}
	return step.Result{Kind: step.Void}
}

// discard removes what another program has put in the place of the state of a job whose record is
// final: it is now, or was before a worker died. A key of a record without attempts never was ours.
func (t *Trigger) discard(ctx context.Context, p *push) error {
	if !p.overwritten() || p.record.Attempt == 0 {
		return nil
	}
	outcome, err := t.Scripts.Jobs.Discard(ctx, p.id)
	if err == nil && outcome == scripts.OK {
		t.Log.Warn("removed what another program wrote in the place of a job's state",
			"job", p.id, "key", t.Scripts.Keys.Job(p.id))
	}
	return err
}

// endUnstarted makes a record without a job FAILED or CANCELLED. A failed job is listed, and the scheduler is
// told, before the record changes: after a crash in between nothing else would do so. Each step is repeated on
// its own, so that an outage of MySQL does not repeat the notification. The service is told what the record
// says once it is final.
func (t *Trigger) endUnstarted(ctx context.Context, p *push, status report.Status, why string) step.Result {
	s, attempt, changed := t.Scripts, p.record.Attempt, false
	end := t.Records.Fail
	if status == report.Cancelled {
		end = t.Records.Cancel
	}
	for _, effect := range []struct {
		what string
		do   func() error
	}{
		{"list a failed record", func() error {
			if status != report.Failed {
				return nil
			}
			return s.Jobs.ListDead(ctx, p.id)
		}},
		{"report the end of a record", func() error {
			return s.Receipts.Ended(ctx, p.id, attempt, t.Notifies(p.record.Report))
		}},
		{"end a record", func() (err error) {
			if changed, err = end(ctx, engine.Run{ID: p.id, Attempt: attempt, Pending: true}, why); changed {
				t.endedUnstarted(ctx, p, status, why)
			}
			return err
		}},
		{"remove a contender", func() error {
			if p.turn.Since.IsZero() {
				return nil
			}
			return s.Memory.RemoveContender(ctx, p.id)
		}},
		{"note that a record ended", func() error {
			if !changed {
				return nil
			}
			return s.Jobs.Note(ctx, p.id, attempt, "finished", "status", string(status), "reason", why)
		}},
		{"remove what is not a state", func() error { return t.discard(ctx, p) }},
	} {
		if err := step.Ensure(ctx, t.Log, effect.what, effect.do); err != nil {
			return step.Result{Kind: step.Elsewhere, Err: err}
		}
	}
	return step.Result{Kind: step.Void}
}

// endedUnstarted does what follows a record that has ended and no later delivery repeats.
func (t *Trigger) endedUnstarted(ctx context.Context, p *push, status report.Status, why string) {
	attempt := p.record.Attempt
	p.traceUnstarted(t.Trace, status, why)
	if attempt > 0 {
		t.files.SweepJob(ctx, p.record.Report, p.id, attempt) // the record was retried, or its job ran
	}
	if status == report.Failed {
		t.Log.Warn("job failed", "job", p.id, "attempt", attempt, "report", p.record.Report, "reason", why)
	} else {
		t.Log.Info("job cancelled", "job", p.id, "attempt", attempt, "report", p.record.Report, "reason", why)
	}
	t.CountEnd(p.record.Report, string(status))
}

package trigger

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
)

// lanes gives jobs of lanes and classes fair turns: see lanes.lua.
type lanes struct{ *Trigger }

// laneSlots is how many pushed ids are handled at once: more than without lanes, because what is unread has no lane
// yet. If ids were read only as fast as jobs start, none would be parked, and a burst would be one queue.
const laneSlots = 5 * batch

// slots is how many pushed ids are handled at once.
func (l lanes) slots() int {
	if l.Scripts.Lanes.On() {
		return laneSlots
	}
	return batch
}

// turns reads the ids that have had their turn. They have a stream of their own, so that they do not wait behind
// those that are pushed.
func (l lanes) turns(ctx context.Context) error {
	if !l.Scripts.Lanes.On() {
		return nil
	}
	return step.New(step.Options{
		Redis: l.Redis, Stream: l.Scripts.Keys.Next, Scripts: l.Scripts, Consumer: l.Consumer,
		Slots: batch, Batch: true, MinIdle: l.Limits.Lease, Log: l.Log,
		Admit: l.admission.free, Handle: l.handle, KeepAlive: true,
		Patience: l.Limits.ShutdownTimeout,
	}).Run(ctx)
}

// admit returns the pushes whose jobs may start. The others are parked until their lane has its turn.
func (l lanes) admit(ctx context.Context, pushes []*push) (free []*push) {
	if !l.Scripts.Lanes.On() || len(pushes) == 0 {
		return pushes
	}
	seekers := make([]scripts.Seeker, len(pushes))
	for i, p := range pushes {
		seekers[i] = scripts.Seeker{
			ID: p.id, Lane: l.Limits.Lanes.Value(p.parameters, p.record.Lane), Age: p.record.Age,
			Owner: p.record.Owner, Attempt: p.record.Attempt, Report: p.report,
		}
	}
	a, err := step.Insist(ctx, l.Log, "admit jobs", func() (scripts.Admission, error) {
		return l.Scripts.Lanes.Admit(ctx, seekers)
	})
	if err != nil {
		return nil
	}
	if l.replace(ctx, a.Replaced) != nil {
		return nil // the entries of the newer ones are delivered again
	}
	for i, p := range pushes {
		if a.Admitted[i] {
			free = append(free, p)
		} else {
			p.ends(ensured(step.Ensure(ctx, l.Log, "park an id", func() error { return forgetKept(ctx, l.Engine, p) })))
		}
	}
	return free
}

// parked returns those of the pushes that wait for their turn.
func (l lanes) parked(ctx context.Context, pushes []*push, into map[string]bool) error {
	ids := make([]string, len(pushes))
	for i, p := range pushes {
		ids[i] = p.id
	}
	found, err := l.Scripts.Lanes.Entries(ctx, ids...)
	for id, e := range found {
		into[id] = into[id] || e.Waits
	}
	return err
}

// notStarted gives the slot of an id back that does not start, unless the id comes again. It returns the result of
// its entry.
func (l lanes) notStarted(ctx context.Context, p *push, d decision, r step.Result) step.Result {
	if d.act == actPollLater || r.Kind == step.Elsewhere {
		return r
	}
	if err := step.Ensure(ctx, l.Log, "give a slot back", func() error {
		return l.Scripts.Lanes.Leave(ctx, p.id)
	}); err != nil {
		return step.Result{Kind: step.Elsewhere, Err: err}
	}
	return r
}

// whyReplaced is the reason of a record whose owner has made a newer request.
const whyReplaced = "a newer request of the same person replaced it"

// replace cancels records that wait although their owner has made a newer request for the same report.
func (l lanes) replace(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	records, err := step.Insist(ctx, l.Log, "read replaced records", func() (map[string]engine.Record, error) {
		return l.Records.Read(ctx, ids)
	})
	if err != nil {
		return err
	}
	// Read after the records: one that still waits has not started, and what runs, runs on.
	found, err := step.Insist(ctx, l.Log, "read replaced ids", func() (map[string]scripts.LaneEntry, error) {
		return l.Scripts.Lanes.Entries(ctx, ids...)
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		r, ok := records[id]
		if !found[id].Waits {
			continue
		}
		if ok && r.ID == id && !r.Status.Final() {
			p := &push{id: id, record: &r, began: time.Now()}
			if err := l.endUnstarted(ctx, p, report.Cancelled, whyReplaced).Err; err != nil {
				return err
			}
			l.once.leave(ctx, p)
		}
		if err := step.Ensure(ctx, l.Log, "remove a replaced id", func() error {
			return l.Scripts.Lanes.Remove(ctx, id)
		}); err != nil {
			return err
		}
	}
	return nil
}

// sweepEvery is the time between two sweeps, in one process.
const sweepEvery = 5 * time.Second

// sweep finds what crashes and changes of the configuration have left, until ctx ends. Nothing waits for it
// otherwise.
func (l lanes) sweep(ctx context.Context) error {
	if !l.Scripts.Lanes.On() {
		return nil
	}
	var at scripts.LaneSweep
	return step.Every(ctx, l.Log, sweepEvery, "sweep lanes", func(ctx context.Context) error {
		if ok, err := l.Scripts.TryLock(ctx, "lanes", sweepEvery*9/10); err != nil || !ok {
			return err
		}
		return l.Scripts.Lanes.Sweep(ctx, &at)
	})
}

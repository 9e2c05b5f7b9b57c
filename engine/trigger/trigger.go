package trigger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/internal/trace"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// batch is the maximum number of ids per read: one query and one update in MySQL, one round trip to
// Redis.
const batch = 100

// Trigger starts the jobs of pushed ids.
type Trigger struct {
	*engine.Engine
	files     *files.Files
	plans     map[*report.Report]scripts.Plan
	admission *admission
}

// New returns a Trigger. It does no I/O.
func New(e *engine.Engine, f *files.Files) *Trigger {
	t := &Trigger{Engine: e, files: f, plans: map[*report.Report]scripts.Plan{}, admission: &admission{Engine: e, made: time.Now()}}
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
		Slots: batch, Batch: true, MinIdle: t.Limits.Lease, Log: t.Log,
		Admit: t.admission.free, Handle: t.handle, KeepAlive: true,
		Patience: t.Limits.Stop,
	})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return pushes.Run(ctx) })
	group.Go(func() error { return t.release(ctx) })
	group.Go(func() error { return t.findOrphans(ctx) })
	return group.Wait()
}

// maxDeliveries is the maximum number of deliveries of a pushed id before it is quarantined as
// poison. The first three deliveries share a batch. In cmd/fanfold/chaos_test.go, where workers
// live for a second, 40 % of those with a single id die: 17 such deaths in a row happen once in six
// million.
const maxDeliveries = 20

// poison is why such an id is quarantined.
var poison = fmt.Sprintf("%d workers crashed or fell silent while they handled this id", maxDeliveries)

// handle handles a batch of pushed ids: one query for their records, one statement that makes them
// PROCESSING, one round trip that starts them and acknowledges their entries. Every step is
// repeated until its server is back, so that an outage costs nothing.
func (t *Trigger) handle(ctx context.Context, entries []step.Entry) []step.Result {
	results, began := make([]step.Result, len(entries)), time.Now()
	entries = t.noteReplies(ctx, entries, results)
	entries = t.sendHome(ctx, entries, results)
	pushes := readPushes(entries, results, t.Scripts.Keys.Jobs)
	if len(pushes) == 0 {
		return results
	}
	epoch, err := t.readAll(ctx, pushes)
	if err != nil {
		for _, p := range pushes {
			p.ends(step.Result{Kind: step.Elsewhere, Err: err})
		}
		return results
	}
	var start []*push
	for _, p := range pushes {
		p.began = began
		if d := decide(*p, t.Limits.Grace); d.act == actStart {
			start = append(start, p)
		} else {
			p.ends(t.carryOut(ctx, p, d))
		}
	}
	if len(start) > 0 {
		t.start(ctx, start, epoch)
	}
	return results
}

const (
	// homeTime bounds the pushes of a batch to other partitions.
	homeTime = time.Second
	// homeAgain is the delay before an id is sent again to a partition that did not answer.
	homeAgain = 5 * time.Second
)

// sendHome pushes ids of other partitions to those, and returns the entries of this one. It sets
// the results of the others. An id whose partition does not answer waits in this partition's
// delayed set, so that it blocks no other id.
func (t *Trigger) sendHome(ctx context.Context, entries []step.Entry, results []step.Result) []step.Entry {
	if len(t.Partitions) == 1 {
		return entries
	}
	limited, cancel := context.WithTimeout(ctx, homeTime)
	defer cancel()
	ours := slices.Clone(entries)
	for i, entry := range entries {
		id := entry.Fields["id"]
		home := t.Partitions.Of(id)
		if entry.Fields == nil || !report.ValidID(id) || home == t.Scripts || entry.Deliveries > maxDeliveries {
			continue
		}
		ours[i].Fields = nil
		results[i] = step.Result{Kind: step.Void}
		if t.sendReplies(limited, id, home) == nil && home.Streams.Push(limited, entry.Fields) == nil {
			continue
		}
		if err := step.Ensure(ctx, t.Log, "delay an id of another partition", func() error { return t.Scripts.Clock.Delay(ctx, id, homeAgain) }); err != nil {
			results[i] = step.Result{Kind: step.Elsewhere, Err: err}
		}
	}
	return ours
}

// readPushes parses the entries, every id once. Entries without fields already have their result;
// entries without an id get one.
func readPushes(entries []step.Entry, results []step.Result, jobs string) []*push {
	var pushes []*push
	byID := map[string]*push{}
	unusable := func(i int, why string) {
		results[i] = step.Result{Kind: step.Unusable, Err: errors.New(why)}
	}
	for i, entry := range entries {
		id, ok := entry.Fields["id"]
		switch p := byID[id]; {
		case entry.Fields == nil:
		case entry.Deliveries > maxDeliveries:
			unusable(i, poison)
		case !ok:
			unusable(i, "the field id is missing: XADD "+jobs+" '*' id 1111")
		case !report.ValidID(id):
			unusable(i, "the id does not match ^"+report.IDForm+"$")
		case p != nil:
			p.entries, p.results = append(p.entries, entry.ID), append(p.results, &results[i])
		default:
			polls, _ := strconv.ParseInt(entry.Fields["look"], 10, 64)
			p := &push{entries: []string{entry.ID}, results: []*step.Result{&results[i]}, id: id, look: max(polls, 0), trace: entry.Fields[trace.Field]}
			byID[id] = p
			pushes = append(pushes, p)
		}
	}
	return pushes
}

// readAll reads what MySQL and Redis know of the pushes. It returns the epoch of Redis; empty: it
// has none, or was not asked.
func (t *Trigger) readAll(ctx context.Context, pushes []*push) (epoch string, err error) {
	ids := make([]string, len(pushes))
	for i, p := range pushes {
		ids[i] = p.id
	}
	err = step.Ensure(ctx, t.Log, "read records", func() error {
		records, err := t.Records.Read(ctx, ids)
		for _, p := range pushes {
			p.record, p.report, p.turn = nil, nil, scripts.Turn{}
			p.found(0, "")
			if r, ok := records[p.id]; ok {
				p.record, p.report = &r, t.Reports[r.Report]
			}
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if err := step.Ensure(ctx, t.Log, "read pauses", func() error { return t.readPauses(ctx, pushes) }); err != nil {
		return "", err
	}
	var known []*push
	var knownIDs []string
	for _, p := range pushes {
		if p.record != nil {
			known, knownIDs = append(known, p), append(knownIDs, p.id)
		}
	}
	if len(known) == 0 {
		return "", nil
	}
	err = step.Ensure(ctx, t.Log, "read states", func() (err error) {
		var attempts []int64
		var statuses []string
		epoch, attempts, statuses, err = t.Scripts.Jobs.EpochAndAttempts(ctx, knownIDs)
		for i := range attempts {
			known[i].found(attempts[i], statuses[i])
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return epoch, step.Ensure(ctx, t.Log, "read turns", func() error { return t.readTurns(ctx, pushes) })
}

// readTurns notes when the jobs may start again that were preempted. One whose record has been final
// since has no turn any more.
func (t *Trigger) readTurns(ctx context.Context, pushes []*push) error {
	var ids []string
	for _, p := range pushes {
		if p.record != nil && p.record.Attempt > 0 {
			ids = append(ids, p.id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	turns, err := t.Scripts.Memory.Turns(ctx, ids)
	if err != nil {
		return err
	}
	for _, p := range pushes {
		turn, ok := turns[p.id]
		if p.turn = turn; !ok || p.record == nil || p.record.Status == report.Processing {
			continue
		}
		if err := t.Scripts.Memory.Leave(ctx, p.id); err != nil {
			return err
		}
	}
	return nil
}

// readPauses notes which pushes belong to a paused report.
func (t *Trigger) readPauses(ctx context.Context, pushes []*push) (err error) {
	for _, p := range pushes {
		if p.paused = false; p.record == nil || p.record.Status.Final() {
			continue
		}
		if p.paused, err = t.Scripts.Gate.IsPaused(ctx, scripts.PausedReport(p.record.Report)); err != nil {
			return err
		}
	}
	return nil
}

// carryOut carries out a decision that does not start the job.
func (t *Trigger) carryOut(ctx context.Context, p *push, d decision) step.Result {
	if d.act == actQuarantine || d.act == actIgnore && p.record.Status.Final() {
		if err := step.Ensure(ctx, t.Log, "refuse a push", func() error { return t.Scripts.Receipts.Refuse(ctx, p.id, d.why) }); err != nil {
			return step.Result{Kind: step.Elsewhere, Err: err}
		}
	}
	switch {
	case d.act == actQuarantine && len(p.entries) > 0:
		return step.Result{Kind: step.Unusable, Err: errors.New(d.why)}
	case d.act == actFail:
		return t.failUnstarted(ctx, p, d.why)
	}
	err := step.Ensure(ctx, t.Log, "handle a pushed id", func() error {
		switch d.act {
		case actLookLater:
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
	})
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
		t.Log.Warn("removed what another program wrote in the place of a job's state", "job", p.id, "key", t.Scripts.Keys.Job(p.id))
	}
	return err
}

// failUnstarted fails a record whose job cannot start, or whose state was overwritten. The job is listed and the scheduler is told
// before the record changes: after a crash in between nothing else would do so. Each step is
// repeated on its own, so that an outage of MySQL does not repeat the notification. The service is
// told what the record says once it is final.
func (t *Trigger) failUnstarted(ctx context.Context, p *push, why string) step.Result {
	s, attempt, changed := t.Scripts, p.record.Attempt, false
	err := step.Ensure(ctx, t.Log, "list a failed record", func() error { return s.Jobs.Bury(ctx, p.id) })
	if err == nil {
		err = step.Ensure(ctx, t.Log, "report a failed record", func() error {
			return s.Receipts.Ended(ctx, p.id, attempt, t.Notifies(p.record.Report))
		})
	}
	if err == nil {
		err = step.Ensure(ctx, t.Log, "fail a record", func() (err error) {
			changed, err = t.Records.Fail(ctx, engine.Run{ID: p.id, Attempt: attempt, Pending: true}, why)
			return err
		})
	}
	if err == nil && !p.turn.Since.IsZero() {
		err = step.Ensure(ctx, t.Log, "remove a contender", func() error { return s.Memory.Leave(ctx, p.id) })
	}
	if err == nil && changed {
		t.traceUnstarted(p, why)
		if attempt > 0 {
			t.files.SweepJob(ctx, p.record.Report, p.id, attempt) // the record was retried, or its job ran
		}
		t.Log.Warn("job failed", "job", p.id, "attempt", attempt, "report", p.record.Report, "reason", why)
		t.CountEnd(p.record.Report, string(report.Failed))
		err = step.Ensure(ctx, t.Log, "note that a record failed", func() error {
			return s.Jobs.Note(ctx, p.id, attempt, "finished", "status", string(report.Failed), "reason", why)
		})
	}
	if err == nil {
		err = step.Ensure(ctx, t.Log, "remove what is not a state", func() error { return t.discard(ctx, p) })
	}
	if err != nil {
		return step.Result{Kind: step.Elsewhere, Err: err}
	}
	return step.Result{Kind: step.Void}
}

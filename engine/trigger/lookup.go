package trigger

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
)

// lookup reads what MySQL and Redis know of pushes.
type lookup struct{ *engine.Engine }

// read fills the pushes in. It returns the epoch of Redis; empty: it has none, or was not asked.
func (l lookup) read(ctx context.Context, pushes []*push) (epoch string, err error) {
	ids := make([]string, len(pushes))
	for i, p := range pushes {
		ids[i] = p.id
	}
	records, err := step.Insist(ctx, l.Log, "read records", func() (map[string]engine.Record, error) {
		return l.Records.Read(ctx, ids)
	})
	if err != nil {
		return "", err
	}
	var known []*push
	var knownIDs []string
	for _, p := range pushes {
		p.record, p.report, p.turn = nil, nil, scripts.Turn{}
		p.found(0, "")
		if r, ok := records[p.id]; ok {
			p.record, p.report = &r, l.Reports[r.Report]
			known, knownIDs = append(known, p), append(knownIDs, p.id)
		}
	}
	if len(known) == 0 {
		return "", nil
	}
	if err := step.Ensure(ctx, l.Log, "read pauses", func() error { return l.readPauses(ctx, known) }); err != nil {
		return "", err
	}
	if err := step.Ensure(ctx, l.Log, "read states", func() error {
		found, attempts, statuses, err := l.Scripts.Jobs.EpochAndAttempts(ctx, knownIDs)
		for i := range attempts {
			known[i].found(attempts[i], statuses[i])
		}
		epoch = found
		return err
	}); err != nil {
		return "", err
	}
	return epoch, step.Ensure(ctx, l.Log, "read turns", func() error { return l.readTurns(ctx, known) })
}

// readTurns notes when the jobs may start again that were preempted. One whose record has been final
// since has no turn any more.
func (l lookup) readTurns(ctx context.Context, pushes []*push) error {
	var ids []string
	for _, p := range pushes {
		if p.record.Attempt > 0 {
			ids = append(ids, p.id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	turns, err := l.Scripts.Memory.Turns(ctx, ids)
	if err != nil {
		return err
	}
	for _, p := range pushes {
		turn, ok := turns[p.id]
		if p.turn = turn; !ok || p.record.Status == report.Processing {
			continue
		}
		if err := l.Scripts.Memory.RemoveContender(ctx, p.id); err != nil {
			return err
		}
	}
	return nil
}

// readPauses notes which pushes belong to a paused report.
func (l lookup) readPauses(ctx context.Context, pushes []*push) (err error) {
	for _, p := range pushes {
		if p.paused = false; p.record.Status.Final() {
			continue
		}
		if p.paused, err = l.Scripts.Gate.IsPaused(ctx, scripts.PausedReport(p.record.Report)); err != nil {
			return err
		}
	}
	return nil
}

// epochPause is the time between two polls of the epoch: a process usually sets it within a second.
const epochPause = 20 * time.Millisecond

// waitForEpoch returns the epoch of Redis, and waits until it has one: a job that starts without an
// epoch could not tell later whether Redis has lost its data.
func (l lookup) waitForEpoch(ctx context.Context) (string, error) {
	for polls := 0; ; polls++ {
		found, err := step.Insist(ctx, l.Log, "read epoch", func() (string, error) { return l.Scripts.Epoch.Read(ctx) })
		if err != nil || found != "" {
			return found, err
		}
		if polls == 100 {
			l.Log.Warn("waiting for an epoch in Redis before starting jobs", "key", l.Scripts.Keys.Epoch)
		}
		if step.Wait(ctx, epochPause) != nil {
			return "", ctx.Err()
		}
	}
}

package record

import (
	"context"
	"fmt"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/report"
)

// Start implements engine.Records. If runs contains a record twice, only the first can be true.
// After an error some of the records may have been started. It waits only briefly for a locked row,
// because all others of the statement wait with it, and leaves it out.
func (s starter) Start(ctx context.Context, runs []engine.Run) ([]bool, error) {
	l, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	results := make([]bool, len(runs))
	for attempt, batch := range l.batches(runs) {
		all := false
		if len(batch) > 1 {
			all, err = repeated(ctx, func() (bool, error) { return s.startAll(ctx, l, batch, attempt) }, errChanged,
				errDeadlock)
		}
		started := batch
		if !all && (err == nil || mysqldb.Answered(err, errLockTimeout)) {
			started, err = s.startEach(ctx, l, batch, attempt)
		}
		if err != nil {
			return nil, fmt.Errorf("start of %d records: %w", len(batch), err)
		}
		for _, n := range started {
			results[n.index] = true
		}
	}
	return results, nil
}

// startAll starts all of the batch or none.
func (s starter) startAll(ctx context.Context, l *layout, batch []named, attempt int64) (bool, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	n, err := s.update(ctx, tx, l, starting(batch, attempt, attempt+1))
	if err != nil || n != int64(len(batch)) {
		return false, err
	}
	return true, tx.Commit()
}

// maxLocked is how many locked rows are waited for, a second each, before the rest of the batch is
// skipped.
const maxLocked = 3

// startEach starts one run after the other, and leaves out those whose row is locked.
func (s starter) startEach(ctx context.Context, l *layout, batch []named, attempt int64) (started []named, err error) {
	locked := 0
	for i, one := range batch {
		done, waited, err := s.startOne(ctx, l, batch[i:i+1], attempt, attempt+1)
		if err != nil {
			return started, err
		}
		if done {
			started = append(started, one)
		}
		if waited {
			if locked++; locked == maxLocked {
				break
			}
		}
	}
	return started, nil
}

// startOne starts a record unless its row is locked.
func (s starter) startOne(ctx context.Context, l *layout, one []named,
	attempt, next int64) (done, locked bool, err error) {
	n, err := repeated(ctx, func() (int64, error) { return s.update(ctx, s.db, l, starting(one, attempt, next)) },
		errChanged, errDeadlock)
	if mysqldb.Answered(err, errLockTimeout) {
		return false, true, nil
	}
	return n > 0, false, err
}

// StartAs implements engine.Records. It waits for a lock as briefly as Start.
func (s starter) StartAs(ctx context.Context, run engine.Run, attempt int64) (bool, error) {
	l, err := s.known(ctx)
	if err != nil {
		return false, err
	}
	arg, ok := l.exact(run.ID)
	if !ok {
		return false, nil
	}
	done, _, err := s.startOne(ctx, l, []named{{arg: arg}}, run.Attempt, attempt)
	if err != nil {
		return false, fmt.Errorf("record %s: start: %w", run.ID, err)
	}
	return done, nil
}

// starting is the change that starts records.
func starting(batch []named, attempt, next int64) change {
	return change{ids: args(batch), attempt: attempt, from: running, to: report.Processing,
		set: map[string]any{"attempt": next, "error": nil}}
}

// running are the statuses of records that may be started, failed and cancelled.
var running = []report.Status{report.Pending, report.Processing}

package record

import (
	"context"
	"fmt"

	"github.com/fanfold/fanfold/engine"
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
	for of, batch := range l.batches(runs) {
		all, _, err := s.start(ctx, l, batch, of)
		locks := 0
		for i, one := range batch {
			done, locked := all, false
			if !all && len(batch) > 1 && locks < maxLocked && err == nil {
				done, locked, err = s.start(ctx, l, batch[i:i+1], of)
			}
			if locked {
				locks++
			}
			results[one.index] = done
		}
		if err != nil {
			return nil, fmt.Errorf("start of %d records: %w", len(batch), err)
		}
	}
	return results, nil
}

// maxLocked is how many locked rows are waited for, a second each, before the rest of the batch is
// skipped.
const maxLocked = 3

// start starts all records of a batch, or none, such as when one of the rows is locked.
func (s starter) start(ctx context.Context, l *layout, batch []named, of attempts) (all, locked bool, err error) {
	n, err := s.update(ctx, l, change{of: batch, attempt: of.now, from: running, to: report.Processing,
		set: map[string]any{"attempt": of.next, "error": nil}, whole: true, retried: Deadlocked})
	if s.kind.Is(err, Locked) {
		return false, true, nil
	}
	return err == nil && n == int64(len(batch)), false, err
}

// running are the statuses of records that may be started, failed and cancelled.
var running = []report.Status{report.Pending, report.Processing}

// Note implements engine.Records, in one statement for the records of an attempt. A record that is locked
// keeps its text.
func (s starter) Note(ctx context.Context, runs []engine.Run, text string) error {
	l, err := s.known(ctx)
	if err != nil {
		return err
	}
	for of, batch := range l.batches(runs) {
		_, err := s.update(ctx, l, change{of: batch, attempt: of.now, from: running[:1], to: report.Pending,
			set: map[string]any{"error": fit(text, l.reason)}, retried: Deadlocked})
		if err != nil && !s.kind.Is(err, Locked) {
			return fmt.Errorf("note on %d records: %w", len(batch), err)
		}
	}
	return nil
}

package record

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
)

// ErrRunning is returned by Retry for a record that is on its way.
var ErrRunning = errors.New("record: still running")

// Retry makes a record that is SUCCESS, PARTIAL, FAILED or CANCELLED PENDING again and
// returns it; attempt and file stay, the error is cleared. The caller then
// pushes its id. Errors: engine.ErrNoRecord, and ErrRunning where the record is
// PENDING or PROCESSING.
func (s *Store) Retry(ctx context.Context, id string) (engine.Record, error) {
	before, err := s.one(ctx, id)
	if err != nil {
		return before, err
	}
	if !before.Status.Final() {
		return before, fmt.Errorf("%w: record %s is %s", ErrRunning, id, before.Status)
	}
	if _, ok := s.statuses[before.Status]; !ok {
		return before, fmt.Errorf("record %s: status %q, which is not mapped", id, before.Status)
	}
	done, err := s.retry(ctx, []engine.Run{{ID: id, Attempt: before.Attempt}}, report.Success, report.Partial, report.Failed, report.Cancelled)
	if err != nil {
		return before, err
	}
	after, err := s.one(ctx, id)
	if err == nil && !done[0] {
		return after, fmt.Errorf("%w: record %s became %s", ErrRunning, id, after.Status)
	}
	return after, err
}

// RetryFailed makes FAILED records of these attempts PENDING again, as Retry
// does, in one statement for up to 1000 of an attempt. The result is true where
// the record is PENDING now with that attempt, whoever made it so; the caller
// pushes its id. Where runs names a record twice, only the first can be true. After an
// error some of the records may have been changed.
func (s *Store) RetryFailed(ctx context.Context, runs []engine.Run) ([]bool, error) {
	return s.retry(ctx, runs, report.Failed)
}

func (s *Store) retry(ctx context.Context, runs []engine.Run, from ...report.Status) ([]bool, error) {
	l, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	results := make([]bool, len(runs))
	for attempt, batch := range l.batches(runs) {
		c := change{ids: args(batch), attempt: attempt, from: from, to: report.Pending, set: map[string]any{"error": nil}}
		n, err := contended(ctx, func() (int64, error) { return s.update(ctx, s.db, l, c) })
		if err != nil {
			return nil, fmt.Errorf("record: retry of %d records: %w", len(batch), err)
		}
		all := n == int64(len(batch))
		var now map[string]engine.Record
		if !all {
			ids := make([]string, len(batch))
			for i, one := range batch {
				ids[i] = one.id
			}
			if now, err = s.Read(ctx, ids); err != nil {
				return nil, err
			}
		}
		for _, one := range batch {
			r := now[one.id]
			results[one.index] = all || r.ID == one.id && r.Status == report.Pending && r.Attempt == attempt
		}
	}
	return results, nil
}

// List returns at most limit records, the one that was changed last first; only
// those of a status, where one is given.
func (s *Store) List(ctx context.Context, status report.Status, limit int) ([]engine.Record, error) {
	l, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	where, args := "1 = 1", []any{}
	if status != "" {
		value, ok := l.statuses[status]
		if !ok {
			return nil, fmt.Errorf("record: no status %q", status)
		}
		where, args = s.columns["status"]+" = ?", append(args, value)
	}
	return s.records(ctx, s.selection()+" WHERE "+where+s.filter+" ORDER BY "+s.columns["updated"]+" DESC, "+s.columns["id"]+" DESC LIMIT "+strconv.Itoa(max(0, limit)), args...)
}

// CountStartable counts the records that a rebuild of an empty Redis would
// start: PENDING and PROCESSING ones that nobody changed for the grace time.
func (s *Store) CountStartable(ctx context.Context, grace time.Duration) (pending, processing int64, err error) {
	l, err := s.known(ctx)
	if err != nil {
		return 0, 0, err
	}
	condition, args := s.startable(l, report.Pending, grace)
	other, more := s.startable(l, report.Processing, grace)
	count := func(condition string) string { return "(SELECT COUNT(*) FROM " + s.table + " WHERE " + condition + ")" }
	err = s.db.QueryRowContext(ctx, "SELECT "+count(condition)+", "+count(other), append(args, more...)...).Scan(&pending, &processing)
	if err != nil {
		return 0, 0, fmt.Errorf("record: count: %w", err)
	}
	return pending, processing, nil
}

// Insert makes a PENDING record and returns its id; parameters is a JSON object or nil. The
// table's id must be one that the database counts, and its other columns must have defaults.
// Errors: ErrNotCounted, ErrFiltered.
func (s *Store) Insert(ctx context.Context, report string, parameters []byte) (id string, err error) {
	l, err := s.known(ctx)
	if err != nil {
		return "", err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return "", fmt.Errorf("record: insert: %w", err)
	}
	defer tx.Rollback()
	if id, err = s.insert(ctx, tx, l, report, parameters); err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return "", fmt.Errorf("record: insert: %w", err)
	}
	return id, nil
}

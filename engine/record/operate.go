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
	l, err := s.known(ctx)
	if err != nil {
		return before, err
	}
	// Only from the status that was read: its attempt is part of the condition.
	done, err := s.finish(ctx, l, engine.Run{ID: id, Attempt: before.Attempt}, report.Pending, s.noError(), nil, report.Success, report.Partial, report.Failed, report.Cancelled)
	if err != nil {
		return before, err
	}
	after, err := s.one(ctx, id)
	if err == nil && !done {
		return after, fmt.Errorf("%w: record %s became %s", ErrRunning, id, after.Status)
	}
	return after, err
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
	return s.query(ctx, where+s.filter+" ORDER BY "+s.columns["updated"]+" DESC, "+s.columns["id"]+" DESC LIMIT "+strconv.Itoa(max(0, limit)), args...)
}

// CountStartable counts the records that a rebuild of an empty Redis would
// start: PENDING and PROCESSING ones that nobody changed for the grace time.
func (s *Store) CountStartable(ctx context.Context, grace time.Duration) (pending, processing int64, err error) {
	l, err := s.known(ctx)
	if err != nil {
		return 0, 0, err
	}
	status, updated := s.columns["status"], s.columns["updated"]
	first, second := l.statuses[report.Pending], l.statuses[report.Processing]
	err = s.db.QueryRowContext(ctx, "SELECT COUNT(CASE WHEN "+status+" = ? THEN 1 END), COUNT(CASE WHEN "+status+" = ? THEN 1 END) FROM "+s.table+
		" WHERE "+status+" IN (?, ?) AND ("+updated+" IS NULL OR "+updated+" <= NOW(6) - INTERVAL ? MICROSECOND)"+s.filter,
		first, second, first, second, grace.Microseconds()).Scan(&pending, &processing)
	if err != nil {
		return 0, 0, fmt.Errorf("record: count: %w", err)
	}
	return pending, processing, nil
}

// Insert makes a PENDING record and returns its id; parameters is a JSON object
// or nil. It is for Fanfold's own table, whose id the database counts: demo and
// tests. Services insert their rows themselves.
func (s *Store) Insert(ctx context.Context, report string, parameters []byte) (id string, err error) {
	l, err := s.known(ctx)
	if err != nil {
		return "", err
	}
	if id, err = s.insert(ctx, s.db, l, report, parameters); err != nil {
		return "", fmt.Errorf("record: insert: %w", err)
	}
	return id, nil
}

package record

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
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

// Filter says which records List returns: those that fulfil all of it. The zero value is all.
type Filter struct {
	Status     report.Status
	Open       bool // only those whose status is not final
	Report     string
	Since      time.Duration     // they were changed at most so long ago, by the database's clock; 0: at any time
	Until      time.Duration     // at least so long ago
	Parameters map[string]string // name → text of the value: that of a text itself, and the JSON of anything else
}

// List returns at most limit records, the one that was changed last first. The server works on it no longer than
// ctx lasts: a connection that is closed would not end it there.
func (s *Store) List(ctx context.Context, of Filter, limit int) ([]engine.Record, error) {
	l, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	where, args := "1 = 1", []any{}
	and := func(condition string, values ...any) { where, args = where+" AND "+condition, append(args, values...) }
	if of.Status != "" {
		value, ok := l.statuses[of.Status]
		if !ok {
			return nil, fmt.Errorf("record: no status %q", of.Status)
		}
		and(s.columns["status"]+" = ?", value)
	}
	if of.Open {
		and(s.columns["status"]+" IN (?, ?)", l.statuses[report.Pending], l.statuses[report.Processing])
	}
	if of.Report != "" {
		and(s.columns["report"]+" = ?", of.Report)
	}
	if of.Since > 0 {
		and(s.columns["updated"]+" >= NOW(6) - INTERVAL ? MICROSECOND", min(of.Since, ancient).Microseconds())
	}
	if of.Until > 0 {
		and(s.columns["updated"]+" <= NOW(6) - INTERVAL ? MICROSECOND", min(of.Until, ancient).Microseconds())
	}
	for name, value := range of.Parameters {
		column, ok := s.columns["parameters"]
		if !ok {
			return nil, errors.New("record: the table has no column for parameters")
		}
		// CASE, since the order of AND is the server's, and a text can be no JSON.
		and("CASE WHEN JSON_VALID("+column+") THEN CAST(JSON_UNQUOTE(JSON_EXTRACT("+column+", ?)) AS BINARY) END = CAST(? AS BINARY)", "$."+strconv.Quote(name), value)
	}
	limited, selection := "", s.selection(l)
	if end, ok := ctx.Deadline(); ok {
		left := max(time.Until(end), time.Millisecond)
		// MariaDB reads the first one and takes the other for a comment; MySQL does it the other way round.
		limited = fmt.Sprintf("/*M! SET STATEMENT max_statement_time=%.3f FOR */ ", left.Seconds())
		selection = fmt.Sprintf("SELECT /*+ MAX_EXECUTION_TIME(%d) */ ", left.Milliseconds()) + strings.TrimPrefix(selection, "SELECT ")
	}
	return s.records(ctx, limited+selection+" WHERE "+where+s.filter+" ORDER BY "+s.columns["updated"]+" DESC, "+s.columns["id"]+" DESC LIMIT "+strconv.Itoa(max(0, limit)), args...)
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

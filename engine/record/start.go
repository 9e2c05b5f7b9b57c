package record

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
)

// Start implements engine.Records. Where runs names a record twice, only the
// first can be true. After an error some of the records may have been started.
func (s *Store) Start(ctx context.Context, runs []engine.Run) ([]bool, error) {
	l, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	groups := map[int64][]named{}
	seen := map[engine.Run]bool{} // those that may be started
	for i, run := range runs {
		arg, ok := l.exact(run.ID)
		if ok && !seen[run] {
			seen[run] = true
			groups[run.Attempt] = append(groups[run.Attempt], named{run.ID, arg, i})
		}
	}
	results := make([]bool, len(runs))
	for _, attempt := range slices.Sorted(maps.Keys(groups)) {
		group := groups[attempt]
		// One order for all writers: they queue up instead of blocking each other.
		slices.SortFunc(group, func(a, b named) int { return compareArguments(a.arg, b.arg) })
		for batch := range slices.Chunk(group, maxIDs) {
			started, err := s.startBatch(ctx, l, batch, attempt, len(seen) == 1)
			if err != nil {
				return nil, fmt.Errorf("record: start of %d records: %w", len(batch), err)
			}
			for _, n := range started {
				results[n.index] = true
			}
		}
	}
	return results, nil
}

// named is an id of a batch with what finds it and its place in the results.
type named struct {
	id    string
	arg   any
	index int
}

// startBatch returns those that it started. A locked row is waited for briefly, since
// all others wait with it, those of other batches too, and is not among them; one record
// alone waits as usual.
func (s *Store) startBatch(ctx context.Context, l *layout, batch []named, attempt int64, alone bool) ([]named, error) {
	if alone {
		n, err := contended(ctx, func() (int64, error) { return s.startRows(ctx, s.db, l, batch, attempt) })
		if err != nil || n != 1 {
			return nil, err
		}
		return batch, nil
	}
	on, err := s.brief(ctx)
	if err != nil {
		return nil, err
	}
	defer release(on)
	if len(batch) == 1 {
		return s.startEach(ctx, on, l, batch, attempt)
	}
	some, err := repeated(ctx, func() ([]named, error) {
		if all, err := s.startAll(ctx, on, l, batch, attempt); err != nil || all {
			return batch, err
		}
		return s.startSome(ctx, on, l, batch, attempt)
	}, errChanged, errDeadlock)
	if serverError(err, errLockTimeout) {
		return s.startEach(ctx, on, l, batch, attempt)
	}
	return some, err
}

// mostLocked is how many locked rows are waited for, a second each, until the rest of
// their batch is left alone.
const mostLocked = 3

// startEach starts one after the other, and leaves out those whose row is locked.
func (s *Store) startEach(ctx context.Context, on *sql.Conn, l *layout, batch []named, attempt int64) ([]named, error) {
	var some []named
	locked := 0
	for i := range batch {
		one := batch[i : i+1]
		n, err := repeated(ctx, func() (int64, error) { return s.startRows(ctx, on, l, one, attempt) }, errChanged, errDeadlock)
		if serverError(err, errLockTimeout) {
			if locked++; locked == mostLocked {
				break
			}
			continue
		}
		if err != nil {
			return some, err
		}
		if n == 1 {
			some = append(some, batch[i])
		}
	}
	return some, nil
}

// startAll starts either all of the batch or none.
func (s *Store) startAll(ctx context.Context, on *sql.Conn, l *layout, batch []named, attempt int64) (bool, error) {
	tx, err := on.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	n, err := s.startRows(ctx, tx, l, batch, attempt)
	if err != nil || n != int64(len(batch)) {
		return false, err
	}
	return true, tx.Commit()
}

// startSome starts those of the batch that can be started. They are locked
// before they are changed, so that it is known which ones these are.
func (s *Store) startSome(ctx context.Context, on *sql.Conn, l *layout, batch []named, attempt int64) ([]named, error) {
	tx, err := on.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	where, args := s.startable(l, batch, attempt)
	rows, err := tx.QueryContext(ctx, "SELECT "+s.columns["id"]+" FROM "+s.table+where+" FOR UPDATE", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	locked := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		locked[id] = true
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	some := slices.DeleteFunc(slices.Clone(batch), func(n named) bool { return !locked[n.id] })
	if len(some) == 0 {
		return nil, nil
	}
	n, err := s.startRows(ctx, tx, l, some, attempt)
	if err != nil {
		return nil, err
	}
	if n != int64(len(some)) {
		return nil, fmt.Errorf("%d rows changed of %d that were locked", n, len(some))
	}
	return some, tx.Commit()
}

// StartAs implements engine.Records. It waits for a lock as briefly as a batch does.
func (s *Store) StartAs(ctx context.Context, run engine.Run, attempt int64) (bool, error) {
	l, err := s.known(ctx)
	if err != nil {
		return false, err
	}
	arg, ok := l.exact(run.ID)
	if !ok {
		return false, nil
	}
	on, err := s.brief(ctx)
	if err != nil {
		return false, err
	}
	defer release(on)
	n, err := repeated(ctx, func() (int64, error) {
		return s.startRowsAs(ctx, on, l, []named{{id: run.ID, arg: arg}}, run.Attempt, attempt)
	}, errChanged, errDeadlock)
	if err != nil && !serverError(err, errLockTimeout) {
		return false, fmt.Errorf("record %s: start: %w", run.ID, err)
	}
	return err == nil && n > 0, nil
}

func (s *Store) startRows(ctx context.Context, on execer, l *layout, batch []named, attempt int64) (int64, error) {
	return s.startRowsAs(ctx, on, l, batch, attempt, attempt+1)
}

func (s *Store) startRowsAs(ctx context.Context, on execer, l *layout, batch []named, attempt, next int64) (int64, error) {
	set := "SET " + s.columns["status"] + " = ?, " + s.columns["attempt"] + " = ?, " + s.noError() + s.columns["updated"] + " = NOW(6)"
	where, args := s.startable(l, batch, attempt)
	return changed(on.ExecContext(ctx, "UPDATE "+s.table+" "+set+where, append([]any{l.statuses[report.Processing], next}, args...)...))
}

// startable is the condition under which a record may be started. With COALESCE no index
// on the status finds the rows: it would lock those of others.
func (s *Store) startable(l *layout, batch []named, attempt int64) (where string, args []any) {
	for _, n := range batch {
		args = append(args, n.arg)
	}
	return " WHERE " + s.columns["id"] + " IN (" + marks(len(batch)) + ") AND COALESCE(" + s.columns["attempt"] + ", 0) = ? AND " +
		"COALESCE(" + s.columns["status"] + ") IN (?, ?)" + s.filter, append(args, attempt, l.statuses[report.Pending], l.statuses[report.Processing])
}

// compareArguments orders ids as an index on their column would.
func compareArguments(a, b any) int {
	switch a := a.(type) {
	case int64:
		if b, ok := b.(int64); ok {
			return cmp.Compare(a, b)
		}
		return -1 // b is a uint64 beyond every int64
	case uint64:
		if b, ok := b.(uint64); ok {
			return cmp.Compare(a, b)
		}
		return 1
	default:
		return cmp.Compare(a.(string), b.(string))
	}
}

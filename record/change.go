package record

import (
	"cmp"
	"context"
	"database/sql"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
)

// change is one UPDATE: the condition for the records, and the columns to set.
type change struct {
	of      []named
	attempt int64           // attempt of the records
	from    []report.Status // allowed statuses of the records
	to      report.Status
	set     map[string]any // further columns by Fanfold's names; columns that the table lacks are left out
	whole   bool           // if not all of the records can be changed, none is
	// with runs in the same transaction, if all of the records were changed. If it fails, none is; nil: nothing.
	with    func(ctx context.Context, tx *sql.Tx) error
	retried Class // errors after which the UPDATE is repeated
}

// each has one value of a column for every record of a change.
type each []any

// update executes a change and returns how many rows meet its condition. COALESCE prevents the use of
// an index on the status, which would lock rows of others.
func (s *mapping) update(ctx context.Context, l *layout, c change) (int64, error) {
	if c.attempt > math.MaxInt64>>(64-l.attempt.Bits) {
		return 0, nil // no row can have it, and the next one would be an error
	}
	var set strings.Builder
	var args []any
	for _, name := range slices.Sorted(maps.Keys(c.set)) {
		if _, ok := s.columns[name]; !ok {
			continue
		}
		values, ok := c.set[name].(each)
		mark := "?"
		if name == "attempt" || name == "rows" {
			mark = "{int}"
		}
		if !ok {
			set.WriteString("{" + name + "} = " + mark + ", ")
			args = append(args, c.set[name])
			continue
		}
		set.WriteString("{" + name + "} = CASE {id}" + strings.Repeat(" WHEN ? THEN "+mark, len(values)) + " END, ")
		for i, value := range values {
			args = append(args, c.of[i].arg, value)
		}
	}
	args = append(args, l.statuses[c.to])
	for _, one := range c.of {
		args = append(args, one.arg)
	}
	args = append(args, c.attempt)
	for _, status := range c.from {
		args = append(args, l.statuses[status]) // NULL for a status that the table cannot store
	}
	statement := s.sql("UPDATE {table} SET " + set.String() + "{status} = ?, {updated} = {now} WHERE {id} IN (" +
		marks(len(c.of)) + ") AND COALESCE({attempt}, 0) = {int} AND COALESCE({status}) IN (" + marks(len(c.from)) + "){filter}")
	return repeated(ctx, s.kind, func() (int64, error) {
		if c.with == nil && (!c.whole || len(c.of) == 1) {
			return changed(s.db.ExecContext(ctx, statement, args...))
		}
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return 0, err
		}
		defer tx.Rollback()
		n, err := changed(tx.ExecContext(ctx, statement, args...))
		if err == nil && n == int64(len(c.of)) {
			if c.with != nil {
				err = c.with(ctx, tx)
			}
			if err == nil {
				err = tx.Commit()
			}
		}
		return n, err
	}, c.retried)
}

// changed returns the number of rows that a statement changed.
func changed(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// marks is a list of n placeholders.
func marks(n int) string { return strings.Repeat("?, ", n-1) + "?" }

// named is a run of a batch, with the argument that finds its record and its index in the results.
type named struct {
	id    string
	arg   any
	index int
}

// attempts are that of a run, and that of the job that Start starts.
type attempts struct{ now, next int64 }

func (a attempts) compare(b attempts) int {
	return cmp.Or(cmp.Compare(a.now, b.now), cmp.Compare(a.next, b.next))
}

// batches yields the runs that can have a record, every run once, by their attempts and in the same
// order for all writers, so that they queue up instead of deadlocking.
func (l *layout) batches(runs []engine.Run) iter.Seq2[attempts, []named] {
	groups := map[attempts][]named{}
	seen := map[engine.Run]bool{}
	for i, run := range runs {
		if arg, ok := l.exact(run.ID); ok && !seen[run] {
			seen[run] = true
			of := attempts{run.Attempt, cmp.Or(run.Next, run.Attempt+1)}
			groups[of] = append(groups[of], named{run.ID, arg, i})
		}
	}
	return func(yield func(attempts, []named) bool) {
		for _, of := range slices.SortedFunc(maps.Keys(groups), attempts.compare) {
			group := groups[of]
			slices.SortFunc(group, func(a, b named) int { return compareIDs(a.arg, b.arg) })
			for batch := range slices.Chunk(group, maxIDs) {
				if !yield(of, batch) {
					return
				}
			}
		}
	}
}

// compareIDs orders ids as an index on their column would.
func compareIDs(a, b any) int {
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

// repeated repeats a change a few times while it fails with one of these classes.
func repeated[T any](ctx context.Context, k *Kind, change func() (T, error), of Class) (T, error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval = 5 * time.Millisecond
	wait.MaxInterval = 500 * time.Millisecond
	return backoff.Retry(ctx, func() (T, error) {
		result, err := change()
		if err != nil && !k.Is(err, of) {
			err = backoff.Permanent(err)
		}
		return result, err
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(10))
}

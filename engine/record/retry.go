package record

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
)

// RetryFailed makes FAILED records of these attempts PENDING again, as Retry
// does, in one statement for up to 1000 of an attempt. The result is true where
// the record is PENDING now with that attempt, whoever made it so; the caller
// pushes its id. After an error some of the records may have been changed.
func (s *Store) RetryFailed(ctx context.Context, runs []engine.Run) ([]bool, error) {
	l, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	groups := map[int64][]named{}
	for i, run := range runs {
		if arg, ok := l.exact(run.ID); ok {
			groups[run.Attempt] = append(groups[run.Attempt], named{run.ID, arg, i})
		}
	}
	results := make([]bool, len(runs))
	for _, attempt := range slices.Sorted(maps.Keys(groups)) {
		group := groups[attempt]
		slices.SortFunc(group, func(a, b named) int { return compareArguments(a.arg, b.arg) })
		for batch := range slices.Chunk(group, maxIDs) {
			if err := s.retryBatch(ctx, l, batch, attempt, results); err != nil {
				return nil, fmt.Errorf("record: retry of %d records: %w", len(batch), err)
			}
		}
	}
	return results, nil
}

func (s *Store) retryBatch(ctx context.Context, l *layout, batch []named, attempt int64, results []bool) error {
	args, ids := []any{l.statuses[report.Pending]}, make([]string, 0, len(batch))
	for _, n := range batch {
		args, ids = append(args, n.arg), append(ids, n.id)
	}
	query := "UPDATE " + s.table + " SET " + s.noError() + s.columns["status"] + " = ?, " + s.columns["updated"] + " = NOW(6) WHERE " +
		s.columns["id"] + " IN (" + marks(len(batch)) + ") AND COALESCE(" + s.columns["attempt"] + ", 0) = ? AND " + s.columns["status"] + " = ?" + s.filter
	args = append(args, attempt, l.statuses[report.Failed])
	n, err := contended(ctx, func() (int64, error) { return changed(s.db.ExecContext(ctx, query, args...)) })
	if err != nil {
		return err
	}
	all := n == int64(len(batch))
	var now map[string]engine.Record
	if !all {
		if now, err = s.Read(ctx, ids); err != nil {
			return err
		}
	}
	for _, b := range batch {
		r := now[b.id]
		results[b.index] = all || r.ID == b.id && r.Status == report.Pending && r.Attempt == attempt
	}
	return nil
}

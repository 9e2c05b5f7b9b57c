package record

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/group"
	"github.com/fanfold/fanfold/report"
)

const (
	Ancient       = ancient
	Pruned        = pruned
	MaxSuccesses  = maxSuccesses
	PrunedHistory = prunedHistory
	PrunedActs    = prunedActs
)

// Repeated is repeated.
func Repeated(ctx context.Context, k *Kind, change func() (int, error), of Class) (int, error) {
	return repeated(ctx, k, change, of)
}

// One is one.
func (s *Store) One(ctx context.Context, id string) (engine.Record, error) { return s.one(ctx, id) }

// StartAll starts the records from 1 to n in one statement, whether or not it finds all of them.
func (s *Store) StartAll(ctx context.Context, n int64) (int64, error) {
	l, err := s.known(ctx)
	if err != nil {
		return 0, err
	}
	var batch []named
	for id := range n {
		batch = append(batch, named{id: fmt.Sprint(id + 1), arg: id + 1})
	}
	return s.update(ctx, l, change{of: batch, from: running, to: report.Processing,
		set: map[string]any{"attempt": 1, "error": nil}})
}

// StartableStatement returns the statement of a page of Startable.
func (s *Store) StartableStatement(ctx context.Context, after string, grace time.Duration, n int) (string, []any, error) {
	l, err := s.known(ctx)
	if err != nil {
		return "", nil, err
	}
	query, args := s.startableQuery(l, s.selection(l), after, grace, n)
	return s.sql(query), args, nil
}

// HoldSuccesses holds what Succeed shares until a channel is closed. It returns how many calls wait.
func (s *Store) HoldSuccesses(until <-chan struct{}) (waiting func() int) {
	s.successes = group.New(maxSuccesses, func(batches iter.Seq[[]*success]) {
		<-until
		s.succeedTogether(batches)
	})
	return s.successes.Waiting
}

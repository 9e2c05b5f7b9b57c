package record

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

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
	results := make([]bool, len(runs))
	for attempt, batch := range l.batches(runs) {
		started, err := s.startBatch(ctx, l, batch, attempt, len(runs) == 1)
		if err != nil {
			return nil, fmt.Errorf("record: start of %d records: %w", len(batch), err)
		}
		for _, n := range started {
			results[n.index] = true
		}
	}
	return results, nil
}

// startBatch returns those that it started. A locked row is waited for briefly, since
// all others wait with it, those of other batches too, and is not among them; one record
// alone waits as usual.
func (s *Store) startBatch(ctx context.Context, l *layout, batch []named, attempt int64, alone bool) ([]named, error) {
	if alone {
		n, err := contended(ctx, func() (int64, error) { return s.startRows(ctx, s.db, l, batch, attempt, attempt+1) })
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
	if len(batch) > 1 {
		all, err := repeated(ctx, func() (bool, error) { return s.startAll(ctx, on, l, batch, attempt) }, errChanged, errDeadlock)
		if all || err != nil && !serverError(err, errLockTimeout) {
			return batch, err
		}
	}
	return s.startEach(ctx, on, l, batch, attempt)
}

// startAll starts either all of the batch or none.
func (s *Store) startAll(ctx context.Context, on *sql.Conn, l *layout, batch []named, attempt int64) (bool, error) {
	tx, err := on.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	n, err := s.startRows(ctx, tx, l, batch, attempt, attempt+1)
	if err != nil || n != int64(len(batch)) {
		return false, err
	}
	return true, tx.Commit()
}

// maxLocked is how many locked rows are waited for, a second each, until the rest of
// their batch is left alone.
const maxLocked = 3

// startEach starts one after the other, and leaves out those whose row is locked.
func (s *Store) startEach(ctx context.Context, on *sql.Conn, l *layout, batch []named, attempt int64) (started []named, err error) {
	locked := 0
	for i, one := range batch {
		done, waited, err := s.startOne(ctx, on, l, batch[i:i+1], attempt, attempt+1)
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

// startOne starts a record on a connection from brief, unless its row is locked.
func (s *Store) startOne(ctx context.Context, on *sql.Conn, l *layout, one []named, attempt, next int64) (done, locked bool, err error) {
	n, err := repeated(ctx, func() (int64, error) { return s.startRows(ctx, on, l, one, attempt, next) }, errChanged, errDeadlock)
	if serverError(err, errLockTimeout) {
		return false, true, nil
	}
	return n > 0, false, err
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
	done, _, err := s.startOne(ctx, on, l, []named{{arg: arg}}, run.Attempt, attempt)
	if err != nil {
		return false, fmt.Errorf("record %s: start: %w", run.ID, err)
	}
	return done, nil
}

func (s *Store) startRows(ctx context.Context, on execer, l *layout, batch []named, attempt, next int64) (int64, error) {
	return s.update(ctx, on, l, change{ids: args(batch), attempt: attempt, from: running, to: report.Processing,
		set: map[string]any{"attempt": next, "error": nil}})
}

// running are the statuses of records that may be started, fail and be cancelled.
var running = []report.Status{report.Pending, report.Processing}

// brief returns a connection that waits for a locked row a second, and not long: all
// others in the statement would wait with it.
func (s *Store) brief(ctx context.Context) (*sql.Conn, error) {
	on, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := on.ExecContext(ctx, "SET SESSION innodb_lock_wait_timeout = 1"); err != nil {
		_ = on.Close()
		return nil, err
	}
	return on, nil
}

// release gives a connection from brief back to the pool, as it was before.
func release(on *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	if _, err := on.ExecContext(ctx, "SET SESSION innodb_lock_wait_timeout = DEFAULT"); err != nil {
		_ = on.Raw(func(any) error { return driver.ErrBadConn }) // the pool does not keep it
	}
	_ = on.Close()
}

package record

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
)

const (
	// statementsAtOnce is how many statements for successes are under way. While they
	// are, others gather for the next one: few under light load, many under heavy load,
	// without waiting for anything.
	statementsAtOnce = 2
	// successesAtOnce bounds how many of them share a statement.
	successesAtOnce = 100
	// statementTime bounds a shared statement: no caller's context does. It is less than
	// the patience of a caller, who then has time for a statement of its own.
	statementTime = 3 * time.Second
)

// A shared statement waits a second for a row that somebody has locked, and not
// long: all others would wait with it.
const (
	waitBriefly = "SET SESSION innodb_lock_wait_timeout = 1"
	waitAsUsual = "SET SESSION innodb_lock_wait_timeout = DEFAULT"
)

// success is a record that waits to become SUCCESS.
type success struct {
	layout *layout
	run    engine.Run
	id     any // finds the row
	file   string
	rows   int64
	done   chan struct{}
	ok     bool // it became so; otherwise nothing is known
}

// successes lets records that become SUCCESS at the same time share a statement, and
// so a commit.
type successes struct {
	mu      sync.Mutex
	waiting []*success
	running int
}

// together makes a record SUCCESS, perhaps with others, and tells whether it did.
// Where it did not, a statement of its own knows more.
func (s *Store) together(ctx context.Context, one *success) (bool, error) {
	q := &s.successes
	q.mu.Lock()
	q.waiting = append(q.waiting, one)
	if q.running < statementsAtOnce {
		q.running++
		go s.succeedWaiting()
	}
	q.mu.Unlock()
	select {
	case <-one.done:
		return one.ok, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// succeedWaiting takes on what waits until nothing does.
func (s *Store) succeedWaiting() {
	q := &s.successes
	var on *sql.Conn
	defer func() { release(on) }()
	for {
		q.mu.Lock()
		batch := takeBatch(&q.waiting)
		if len(batch) == 0 {
			q.running--
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), statementTime)
		var n int64
		var err error
		if on == nil && len(batch) > 1 { // one alone holds no others up
			on, err = s.brief(ctx)
		}
		switch {
		case err != nil:
		case on == nil:
			n, err = s.succeedAll(ctx, s.db, batch)
		default:
			n, err = s.succeedAll(ctx, on, batch)
		}
		cancel()
		for _, one := range batch {
			one.ok = err == nil && n == int64(len(batch))
			close(one.done)
		}
		if err != nil {
			release(on)
			on = nil
		}
	}
}

// brief returns a connection that waits briefly for locks; nil with an error.
func (s *Store) brief(ctx context.Context) (*sql.Conn, error) {
	on, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := on.ExecContext(ctx, waitBriefly); err != nil {
		_ = on.Close()
		return nil, err
	}
	return on, nil
}

// release gives a connection from brief back to the pool, as it was before.
func release(on *sql.Conn) {
	if on == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	if _, err := on.ExecContext(ctx, waitAsUsual); err != nil {
		_ = on.Raw(func(any) error { return driver.ErrBadConn }) // the pool does not keep it
	}
	_ = on.Close()
}

// takeBatch takes those of an attempt that can share a statement: the first one
// that waits, and others whose ids no collation takes for the same: with those the
// count would not be right, and nobody's success known.
func takeBatch(waiting *[]*success) (batch []*success) {
	ids := map[string]bool{}
	*waiting = slices.DeleteFunc(*waiting, func(one *success) bool {
		id := strings.ToLower(one.run.ID)
		alike := len(batch) == 0 || one.run.Attempt == batch[0].run.Attempt && one.layout == batch[0].layout
		if !alike || ids[id] || len(batch) == successesAtOnce {
			return false
		}
		ids[id] = true
		batch = append(batch, one)
		return true
	})
	// One order for all writers: they queue up instead of blocking each other.
	slices.SortFunc(batch, func(a, b *success) int { return compareArguments(a.id, b.id) })
	return batch
}

// succeedAll is one statement for a batch, and returns how many rows it changed.
func (s *Store) succeedAll(ctx context.Context, on execer, batch []*success) (int64, error) {
	var set strings.Builder
	var args []any
	each := func(column string, value func(*success) any) {
		set.WriteString(column + " = CASE " + s.columns["id"] + strings.Repeat(" WHEN ? THEN ?", len(batch)) + " END, ")
		for _, one := range batch {
			args = append(args, one.id, value(one))
		}
	}
	each(s.columns["file"], func(one *success) any { return one.file })
	if column, ok := s.columns["rows"]; ok {
		each(column, func(one *success) any { return one.rows })
	}
	args = append(args, batch[0].layout.statuses[report.Success])
	for _, one := range batch {
		args = append(args, one.id)
	}
	args = append(args, batch[0].run.Attempt, batch[0].layout.statuses[report.Processing])
	return changed(on.ExecContext(ctx, "UPDATE "+s.table+" SET "+set.String()+s.noError()+s.columns["status"]+" = ?, "+
		s.columns["updated"]+" = NOW(6) WHERE "+s.columns["id"]+" IN ("+marks(len(batch))+") AND COALESCE("+s.columns["attempt"]+
		", 0) = ? AND COALESCE("+s.columns["status"]+") = ?"+s.filter, args...))
}

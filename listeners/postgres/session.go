package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

const (
	cleanupTime = 5 * time.Second // for giving a connection back, and for cancelling its query
	patience    = 2 * time.Second // for a server that ends a query at its timeout itself
)

// session is a connection with a transaction, for one task.
type session struct {
	pool     *pool
	listener *report.Listener
	conn     *pgconn.PgConn
	catalog  *catalog
	began    time.Time // when the query did
	asked    bool      // the catalog, after the query was prepared
}

// settings make the values of a query the same for all servers and accounts. They end with the transaction, so that
// they also work behind a pooler that shares connections between transactions.
const settings = "; SET LOCAL timezone = 'UTC'; SET LOCAL datestyle = 'ISO'; SET LOCAL intervalstyle = 'postgres'; " +
	"SET LOCAL extra_float_digits = 1; SET LOCAL bytea_output = 'hex'; SET LOCAL standard_conforming_strings = on; " +
	// The values of an earlier stage are read while the transaction is idle. Other timeouts end the task.
	"SET LOCAL idle_in_transaction_session_timeout = 0"

// open takes a connection and begins the transaction.
func (s *Source) open(ctx context.Context, l *report.Listener) (*session, error) {
	begin := "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" + settings
	if l.Timeout > 0 {
		begin += "; SET LOCAL statement_timeout = " +
			strconv.FormatInt(min(max(1, l.Timeout.Milliseconds()), math.MaxInt32), 10)
	}
	for {
		conn, reused, err := s.queries.take(ctx)
		if err == nil {
			if err = conn.Exec(ctx, begin).Close(); err == nil {
				return &session{pool: s.queries, catalog: &s.catalog, listener: l, conn: conn}, nil
			}
			broken := conn.IsClosed()
			s.queries.drop(conn)
			if reused && broken && ctx.Err() == nil {
				continue // the server closed it in the meantime
			}
		}
		if ctx.Err() != nil {
			// The query has not begun: this is an outage.
			return nil, listeners.Outage(fmt.Errorf("database %s did not answer: %w", l.Source, context.Cause(ctx)))
		}
		return nil, explainLogin(ctx, l, err)
	}
}

// leavesTraces matches queries that leave something at the end of their transaction, which the next one would meet.
var leavesTraces = regexp.MustCompile(`(?i)advisory|dblink`)

// close gives the connection back, or closes it.
func (s *session) close() {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTime)
	defer cancel()
	if s.conn.IsClosed() || leavesTraces.MatchString(dialect.QueryOf(s.listener).Text) ||
		s.conn.Exec(ctx, "ROLLBACK").Close() != nil {
		s.pool.drop(s.conn)
		return
	}
	s.pool.give(s.conn)
}

// query returns a context for the query, or for its preparation. If it ends before its rows are read, by its parent,
// the timeout or cancel, the driver cancels the query on the server, and closes the connection without reading the
// remaining rows.
func (s *session) query(parent context.Context) (ctx context.Context, cancel func()) {
	s.began = time.Now()
	if s.listener.Timeout <= 0 {
		return context.WithCancel(parent)
	}
	return context.WithTimeoutCause(parent, s.listener.Timeout+patience, ErrTimeout)
}

// fail returns the error of a query.
func (s *session) fail(parent, ctx context.Context, err error) error {
	over := s.listener.Timeout > 0 && time.Since(s.began) >= s.listener.Timeout
	if parent.Err() == nil && (errors.Is(context.Cause(ctx), ErrTimeout) || over && codeOf(err) == canceled) {
		return fmt.Errorf("%w after %s: raise the timeout of the listener, or make its query faster",
			ErrTimeout, s.listener.Timeout)
	}
	return explain(parent, s.listener, err)
}

// prepare lets the server parse a text as the unnamed statement.
func (s *session) prepare(parent context.Context, text string) (*pgconn.StatementDescription, error) {
	ctx, cancel := s.query(parent)
	defer cancel()
	s.asked = false
	statement, err := s.conn.Prepare(ctx, "", text, nil)
	if err != nil {
		return nil, s.fail(parent, ctx, placed(err, s.listener, text))
	}
	return statement, nil
}

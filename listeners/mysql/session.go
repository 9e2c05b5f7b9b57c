package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

const (
	cleanupTime = 5 * time.Second // for resetting a connection, and for killing its query
	patience    = 2 * time.Second // for a server that ends a query at its timeout itself
)

// serverName is an SQL expression that identifies a server.
const serverName = "CONCAT_WS(':', @@hostname, @@port, @@server_id)"

// session is a connection with a transaction, for one task.
type session struct {
	source    *Source
	listener  *report.Listener
	conn      *sql.Conn
	id        int64     // of the connection, on the server
	server    string    // its name and port
	limit     string    // name of the variable that limits a query; empty: the server has none
	began     time.Time // when the query did
	changed   []string  // session variables to reset
	packet    int       // maximum bytes of a statement
	statement driver.Stmt
	spoilt    bool // must not be reused
}

func (s *Source) open(ctx context.Context, l *report.Listener) (*session, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil && ctx.Err() != nil {
		// The query has not begun: this is an outage.
		return nil, listeners.Outage(fmt.Errorf("database %s did not answer: %w", l.Source, context.Cause(ctx)))
	}
	if err != nil {
		return nil, explainLogin(ctx, l, err)
	}
	session := &session{source: s, listener: l, conn: conn}
	if err := session.begin(ctx); err != nil {
		session.spoilt = session.spoilt || ctx.Err() != nil
		session.close(ctx)
		if ctx.Err() != nil {
			return nil, listeners.Outage(fmt.Errorf("database %s did not answer: %w", l.Source, context.Cause(ctx)))
		}
		return nil, explain(ctx, l, err)
	}
	return session, nil
}

// begin limits the queries and starts the transaction.
func (s *session) begin(ctx context.Context) error {
	var version string
	if err := s.conn.QueryRowContext(ctx, "SELECT CONNECTION_ID(), VERSION(), @@max_allowed_packet, "+
		serverName).Scan(&s.id, &version, &s.packet, &s.server); err != nil {
		return err
	}
	timeout := s.listener.Timeout
	name, value := "max_execution_time", strconv.FormatInt(max(1, timeout.Milliseconds()), 10)
	if strings.Contains(version, "MariaDB") {
		name, value = mariaDBLimit, strconv.FormatFloat(max(0.001, timeout.Seconds()), 'f', 6, 64)
	}
	if timeout > 0 {
		known, err := s.set(ctx, name, value)
		if err != nil {
			return err
		}
		if known {
			s.limit = name
		}
	}
	if s.listener.From != nil {
		// With its default, MySQL 8 scans the table for a list of some 36,000 values.
		if _, err := s.set(ctx, "range_optimizer_max_mem_size", "0"); err != nil {
			return err
		}
	}
	return s.snapshot(ctx)
}

// snapshot starts the transaction.
func (s *session) snapshot(ctx context.Context) error {
	if err := s.exec(ctx, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"); err != nil {
		return err
	}
	return s.exec(ctx, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
}

// fail returns the error of a query.
func (s *session) fail(parent, ctx context.Context, err error) error {
	if parent.Err() == nil && errors.Is(context.Cause(ctx), ErrTimeout) {
		return timedOut(s.listener)
	}
	return explain(parent, s.listener, err)
}

// interrupted returns an error if the server may have interrupted a query that has ended without
// one. MySQL ends SLEEP, BENCHMARK and the like so, and their values and those of later subqueries
// are wrong; MariaDB was seen to do so once. MariaDB counts what it interrupts, so that a result
// which only arrives late is taken. The count is of the connection: after an earlier timeout on it, a
// late result counts as interrupted.
func (s *session) interrupted(ctx context.Context) error {
	if s.limit == "" || time.Since(s.began) < s.listener.Timeout {
		return nil
	}
	if s.limit == mariaDBLimit {
		var name, count string
		err := s.conn.QueryRowContext(ctx, "SHOW SESSION STATUS LIKE 'Max_statement_time_exceeded'").Scan(&name, &count)
		if err == nil && count == "0" {
			return nil
		}
	}
	return timedOut(s.listener)
}

// mariaDBLimit is MariaDB's variable that limits a query.
const mariaDBLimit = "max_statement_time"

// set changes a session variable. It returns false if the server does not have it.
func (s *session) set(ctx context.Context, name, value string) (bool, error) {
	switch err := s.exec(ctx, "SET SESSION "+name+" = "+value); {
	case err == nil:
		s.changed = append(s.changed, name)
		return true, nil
	case mysqldb.Answered(err, errNoVariable):
		return false, nil
	default:
		return false, err
	}
}

const errNoVariable = 1193

func (s *session) exec(ctx context.Context, statement string) error {
	_, err := s.conn.ExecContext(ctx, statement)
	return err
}

// leavesTraces matches queries that change the session for later queries.
var leavesTraces = regexp.MustCompile(`(?i)@|_lock\s*\(`)

// start runs the query on the driver's connection, without the conversions of database/sql.
func (s *session) start(ctx context.Context, conn any, text string, args []any) (driver.Rows, error) {
	statement, err := s.prepare(ctx, conn, text)
	if err != nil {
		return nil, err
	}
	query, ok := statement.(driver.StmtQueryContext)
	if !ok {
		return nil, fmt.Errorf("statements of Go type %T take no context", statement)
	}
	values := make([]driver.NamedValue, len(args))
	for i, v := range args {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return query.QueryContext(ctx, values)
}

// prepare returns the statement for a text, which close closes.
func (s *session) prepare(ctx context.Context, conn any, text string) (driver.Stmt, error) {
	preparer, ok := conn.(driver.ConnPrepareContext)
	if !ok {
		return nil, fmt.Errorf("connections of Go type %T take no context", conn)
	}
	if s.statement != nil { // of the part before
		if err := s.statement.Close(); err != nil {
			return nil, err
		}
		s.statement = nil
	}
	statement, err := preparer.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s.statement = statement
	s.spoilt = s.spoilt || leavesTraces.MatchString(dialect.QueryOf(s.listener).Text)
	return statement, nil
}

// query returns a context for one execution of the query. If it ends before done is called, by its
// parent, abort or the timeout, the query is also killed on the server. done waits for the kill, so
// that a late KILL cannot hit the next user of the connection.
func (s *session) query(parent context.Context) (ctx context.Context, abort, done func()) {
	switch timeout := s.listener.Timeout; {
	case timeout <= 0:
		ctx, abort = context.WithCancel(parent)
	case s.limit == "":
		ctx, abort = context.WithTimeoutCause(parent, timeout, ErrTimeout)
	default:
		ctx, abort = context.WithTimeoutCause(parent, timeout+patience, ErrTimeout)
	}
	s.began = time.Now()
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(killed)
		s.kill(context.WithoutCancel(parent))
	})
	return ctx, abort, func() {
		if !stop() {
			<-killed
			s.spoilt = true
		}
		abort()
	}
}

// kill ends the query on the server, best effort.
func (s *session) kill(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, cleanupTime)
	defer cancel()
	conn, err := s.source.kills.Conn(ctx)
	if err != nil {
		return
	}
	defer conn.Close()
	// Behind a proxy or load balancer this may be another server, where the number is another
	// connection's.
	var server string
	if err := conn.QueryRowContext(ctx, "SELECT "+serverName).Scan(&server); err == nil && server == s.server {
		_, _ = conn.ExecContext(ctx, "KILL QUERY "+strconv.FormatInt(s.id, 10))
	}
}

// close gives the connection back as it was, or closes it.
func (s *session) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	if s.spoilt || s.restore(ctx) != nil {
		_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = s.conn.Close()
}

func (s *session) restore(ctx context.Context) error {
	if s.statement != nil {
		if err := s.conn.Raw(func(any) error { return s.statement.Close() }); err != nil {
			return err
		}
	}
	if err := s.exec(ctx, "ROLLBACK"); err != nil {
		return err
	}
	for _, name := range s.changed {
		if err := s.exec(ctx, "SET SESSION "+name+" = DEFAULT"); err != nil {
			return err
		}
	}
	return nil
}

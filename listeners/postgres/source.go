package postgres

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// Source runs the queries of listeners on one database. It is safe for concurrent use. Tasks
// beyond the size of the pool wait: see listeners.Slots.
type Source struct {
	queries *pool
	calls   *pool // short statements that must not wait for queries
	health  *pool // how busy the server is
	catalog catalog
}

const shortTimeout = 30 * time.Second // of a short statement

// Open returns the source of a database. It does no I/O: the first query connects.
func Open(d report.Database) (*Source, error) {
	config, err := ConnectConfig(d)
	if err != nil {
		return nil, err
	}
	return &Source{
		queries: newPool(config, max(1, d.MaxConnections)), calls: newPool(config, 1), health: newPool(config, 1),
	}, nil
}

// Close closes all connections. The caller waits for the last Read before.
func (s *Source) Close() error {
	s.queries.close()
	s.calls.close()
	s.health.close()
	return nil
}

// Reach implements listeners.Connection.
func (s *Source) Reach(ctx context.Context) error {
	conn, err := s.calls.reach(ctx)
	if err == nil {
		s.calls.release(conn, nil)
	}
	return login(err)
}

// Server asks the server for its version, clock and time zone.
func (s *Source) Server(ctx context.Context) (version string, clock time.Time, zone string, err error) {
	found, err := s.calls.ask(ctx, "SELECT current_setting('server_version'), "+
		"(extract(epoch FROM clock_timestamp()) * 1000000)::bigint, current_setting('TimeZone')")
	if err != nil || len(found) == 0 {
		return "", time.Time{}, "", login(err)
	}
	if zone = found[0][2]; zone == "Etc/UTC" {
		zone = "UTC"
	}
	micros, err := strconv.ParseInt(found[0][1], 10, 64)
	return "PostgreSQL " + found[0][0], time.UnixMicro(micros), zone, err
}

// Read implements listeners.Source. Errors that every try would repeat are marked with
// listeners.Permanent. The error of a query that took too long is ErrTimeout.
func (s *Source) Read(ctx context.Context, task listeners.Task, out *listeners.Writer) error {
	if err := task.WaitForRate(ctx, listeners.PatienceFirst); err != nil {
		return err
	}
	session, err := s.open(ctx, task.Listener)
	if err != nil {
		return err
	}
	defer session.close()
	if task.Begin != nil {
		task.Begin()
	}
	return (&reader{task: task, out: out}).run(ctx, session)
}

// Prepare lets the server plan a listener's query and check its tables, columns and grants, without
// running it. The errors are those of Read.
func (s *Source) Prepare(ctx context.Context, l *report.Listener) error {
	text, args, err := nulls(l)
	if err != nil {
		return err
	}
	session, err := s.open(ctx, l)
	if err != nil {
		return err
	}
	defer session.close()
	// Preparing alone checks no grants.
	const before = "EXPLAIN "
	plan := session.conn.ExecParams(ctx, before+text, make([][]byte, args), nil, nil, nil).Read()
	if plan.Err != nil {
		if answer, ok := errors.AsType[*pgconn.PgError](plan.Err); ok {
			answer.Position -= int32(len(before))
		}
		return explain(ctx, l, placed(plan.Err, l, text))
	}
	return nil
}

// nulls returns the text of a listener's query, and the number of its arguments.
func nulls(l *report.Listener) (text string, args int, err error) {
	text, list, err := dialect.QueryOf(l).Bind(func(name string) (any, bool) {
		if l.From != nil && name == l.From.String() {
			return dialect.Array{Of: earlier{}}, true
		}
		return nil, true
	})
	if err != nil {
		return "", 0, listeners.Permanent(err)
	}
	return text, len(list), nil
}

// Columns returns the columns of the query of a report's listener, with the types that a job gets. The server derives
// them without running the query.
func (s *Source) Columns(ctx context.Context, r *report.Report, l *report.Listener) ([]dataset.Column, error) {
	text, _, err := nulls(l)
	if err != nil {
		return nil, err
	}
	session, err := s.open(ctx, l)
	if err != nil {
		return nil, err
	}
	defer session.close()
	statement, err := session.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	columns, _, err := session.columnsOf(ctx, statement.Fields)
	if err != nil {
		return nil, explain(ctx, l, err)
	}
	if err := listeners.DistinctNames(namesOf(columns)); err != nil {
		return nil, listeners.Permanent(err)
	}
	if err := session.collate(ctx, text, len(statement.ParamOIDs), columns); err != nil {
		return nil, explain(ctx, l, err)
	}
	return columns, nil
}

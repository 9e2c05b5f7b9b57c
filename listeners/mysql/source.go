package mysql

import (
	"context"
	"database/sql"

	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// Source runs the queries of listeners on one database. It is safe for concurrent use. Tasks
// beyond the size of the pool wait: see listeners.Slots.
type Source struct {
	db   *sql.DB
	side *sql.DB
}

var _ listeners.Source = (*Source)(nil)

// New returns the source of a database. Both pools are from internal/mysqldb, for the same server and
// account. Only KILL QUERY uses side, for which one or two connections are enough. The caller closes
// both pools after the last Read.
func New(db, side *sql.DB) *Source { return &Source{db: db, side: side} }

// Read implements listeners.Source. Errors that every try would repeat are marked with
// listeners.Permanent. The error of a query that took too long is ErrTimeout.
func (s *Source) Read(ctx context.Context, task listeners.Task, out *listeners.Writer) error {
	r := &reader{task: task, out: out}
	if err := task.WaitForRate(ctx, listeners.PatienceFirst); err != nil {
		return err
	}
	session, err := s.open(ctx, task.Listener)
	if err != nil {
		return err
	}
	defer session.close(ctx)
	if task.Begin != nil {
		task.Begin()
	}
	var list report.Literals
	if task.Listener.From != nil {
		if list, err = r.literals(ctx, session.packet); err != nil {
			return err
		}
	}
	return r.run(ctx, session, list)
}

// Prepare lets the server parse a listener's query and check its tables, columns and grants, without
// running it. The errors are those of Read.
func (s *Source) Prepare(ctx context.Context, l *report.Listener) error {
	text, _, err := l.Query.Bind(func(string) (any, bool) { return nil, true })
	if err != nil {
		return listeners.Permanent(err)
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return explainLogin(ctx, l, err)
	}
	defer conn.Close()
	statement, err := conn.PrepareContext(ctx, text)
	if err != nil {
		return explain(ctx, l, err)
	}
	if err := statement.Close(); err != nil {
		return explain(ctx, l, err)
	}
	return nil
}

package mysql

import (
	"context"
	"database/sql"

	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// Source runs the queries of listeners on one database. All methods are safe for
// concurrent use; as many tasks run at once as the pool has connections.
type Source struct {
	db   *sql.DB
	side *sql.DB
}

var _ listeners.Source = (*Source)(nil)

// New returns the source of a database. Both pools are of internal/mysqldb and
// of the same server and account; side is only for ending queries while all
// connections of db may be in use, and one or two connections are enough for it.
// The caller closes both when no Read is running any more.
func New(db, side *sql.DB) *Source { return &Source{db: db, side: side} }

// Read implements listeners.Source. Its errors that would come again are marked with listeners.Permanent. A query that took too
// long is ErrTimeout.
func (s *Source) Read(ctx context.Context, task listeners.Task, out *listeners.Writer) error {
	r := &reader{task: task, out: out}
	if err := task.Ask(ctx, listeners.AtFirst); err != nil {
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

// Prepare has the server parse a listener's query and look for its tables,
// columns and grants, without running it. The errors are those of Read.
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

package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

var _ listeners.Divider = (*Source)(nil)

// division has the sessions of a task that is read in parts.
type division struct {
	task     listeners.Task
	sessions []*session
	snapshot string
}

// Divide implements listeners.Divider. The sessions import the snapshot of the first one. Those that reach another
// server, where there is no such snapshot, are closed. If the server refuses more sessions, those that it has are
// enough.
func (s *Source) Divide(ctx context.Context, task listeners.Task, n int) (_ listeners.Division, err error) {
	d := &division{task: task}
	defer func() {
		if err != nil {
			d.Close()
		}
	}()
	if err := task.WaitForRate(ctx, listeners.PatienceFirst); err != nil {
		return nil, err
	}
	exported := ""
	for range n {
		session, err := s.open(ctx, task.Listener)
		if err != nil && len(d.sessions) > 0 && ctx.Err() == nil {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(d.sessions) == 0 {
			exported, d.snapshot, err = session.export(ctx)
		} else {
			err = session.conn.Exec(ctx, "SET TRANSACTION SNAPSHOT '"+exported+"'").Close()
		}
		if err == nil {
			d.sessions = append(d.sessions, session)
			continue
		}
		session.close()
		if answer, ok := errors.AsType[*pgconn.PgError](err); !ok || len(d.sessions) == 0 || in(answer.Code, away) {
			return nil, explain(ctx, task.Listener, err)
		}
		break
	}
	if task.Begin != nil {
		task.Begin()
	}
	return d, nil
}

// export exports the snapshot of a session. The name says which transactions it sees, on which server: it is equal for
// two snapshots only if they see the same ones. That of a standby does not list the transactions in progress, so no two
// names of it are equal.
func (s *session) export(ctx context.Context) (id, name string, err error) {
	found, err := texts(s.conn.ExecParams(ctx, "SELECT pg_export_snapshot(), concat_ws(' ', "+
		"current_setting('server_version'), inet_server_addr(), inet_server_port(), current_database(), "+
		"extract(epoch FROM pg_postmaster_start_time()), txid_current_snapshot(), "+
		"CASE WHEN pg_is_in_recovery() THEN extract(epoch FROM clock_timestamp()) END)", nil, nil, nil, nil).Read())
	if err != nil {
		return "", "", err
	}
	return found[0][0], found[0][1], nil
}

// Connections implements listeners.Division.
func (d *division) Connections() int { return len(d.sessions) }

// Snapshot implements listeners.Division.
func (d *division) Snapshot() string { return d.snapshot }

// Close implements listeners.Division.
func (d *division) Close() {
	for _, s := range d.sessions {
		s.close()
	}
	d.sessions = nil
}

// Ends implements listeners.Division.
func (d *division) Ends(ctx context.Context) (least, greatest int64, ok bool, err error) {
	r, s, by := &reader{task: d.task}, d.sessions[0], d.task.Listener.Divide.By
	text, args, err := r.bind()
	if err != nil {
		return 0, 0, false, err
	}
	if _, err := s.prepare(ctx, text); err != nil { // its errors have places in the query
		return 0, 0, false, err
	}
	text = dialect.Ends(dialect.Postgres, text, by)
	statement, err := s.prepare(ctx, text)
	if err != nil {
		return 0, 0, false, err
	}
	values, _, err := r.arguments(ctx, statement.ParamOIDs, args)
	if err != nil {
		return 0, 0, false, err
	}
	limited, cancel := s.query(ctx)
	defer cancel()
	ends := s.conn.ExecStatement(limited, statement, values, nil, nil).Read()
	if ends.Err != nil {
		return 0, 0, false, s.fail(ctx, limited, ends.Err)
	}
	if ends.Rows[0][0] == nil {
		return 0, 0, false, nil
	}
	least, err = listeners.Whole(by, string(ends.Rows[0][0]))
	if err == nil {
		greatest, err = listeners.Whole(by, string(ends.Rows[0][1]))
	}
	return least, greatest, err == nil, err
}

// Read implements listeners.Division.
func (d *division) Read(ctx context.Context, connection int, of report.Range, out *listeners.Writer) error {
	return (&reader{task: d.task, of: of, out: out}).run(ctx, d.sessions[connection])
}

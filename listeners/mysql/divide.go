package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

var _ listeners.Divider = (*Source)(nil)

// division has the sessions of a task that is read in parts.
type division struct {
	source   *Source
	task     listeners.Task
	sessions []*session
	snapshot string
	unproved string // why the server does not prove which rows the sessions see; empty: it does
}

// maxSnapshots is how often all sessions begin their transactions anew, to see the same rows. A server that is written
// to all the time changes between two of them.
const maxSnapshots = 20

// Divide implements listeners.Divider. Sessions that see other rows than most are closed. If the server refuses more
// sessions, those that it has are enough.
func (s *Source) Divide(ctx context.Context, task listeners.Task, n int) (listeners.Division, error) {
	d := &division{source: s, task: task}
	if err := task.WaitForRate(ctx, listeners.PatienceFirst); err != nil {
		return nil, err
	}
	for range n {
		session, err := s.open(ctx, task.Listener)
		if err != nil && len(d.sessions) > 0 && ctx.Err() == nil {
			break
		}
		if err != nil {
			d.Close()
			return nil, err
		}
		d.sessions = append(d.sessions, session)
	}
	if task.Begin != nil {
		task.Begin()
	}
	if err := d.agree(ctx); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// agree makes the sessions see the same rows.
func (d *division) agree(ctx context.Context) error {
	approximate := d.task.Listener.Divide.Snapshot == report.SnapshotApproximate
	var names []string
	for try := 0; ; try++ {
		var err error
		if names, err = d.names(ctx); err != nil {
			return explain(ctx, d.task.Listener, err)
		}
		if most, n := mostOf(names); approximate || names[0] == "" || n == len(names) || try == maxSnapshots {
			d.snapshot = most
			break
		}
		if err := d.again(ctx); err != nil {
			return explain(ctx, d.task.Listener, err)
		}
	}
	switch {
	case approximate:
		if _, n := mostOf(names); n < len(names) {
			d.snapshot = ""
		}
	case d.snapshot == "":
		return listeners.Permanent(fault.Unproved.Of(fmt.Errorf("database %s cannot prove that all parts are read as "+
			"of one moment, because %s, write divide.snapshot: approximate, or remove divide from listener %s",
			d.task.Listener.Source, d.unproved, d.task.Listener.Name)))
	default:
		kept := d.sessions[:0]
		for i, session := range d.sessions {
			if names[i] == d.snapshot {
				kept = append(kept, session)
			} else {
				session.close(ctx)
			}
		}
		d.sessions = kept
	}
	return nil
}

// mostOf returns the text that occurs most often, and how often.
func mostOf(texts []string) (most string, n int) {
	counts := map[string]int{}
	for _, text := range texts {
		if counts[text]++; counts[text] > n {
			most, n = text, counts[text]
		}
	}
	return most, n
}

// Why a server does not prove which rows a session sees.
const (
	noLog = "its binary log is off (log_bin), or it is MySQL, which has no Binlog_snapshot_position: turn on the log of " +
		"MariaDB or Percona Server"
	noAll = "it is a replica or a node of a Galera cluster, and its binary log lacks what it applies: " +
		"turn on log_slave_updates"
)

// names returns what the server calls the snapshot of each session: its position in the binary log, which is equal for
// two snapshots only if they see the same transactions (MariaDB, "Enhancements for START TRANSACTION WITH CONSISTENT
// SNAPSHOT"; Percona Server has it, too). It is empty if the server does not say, or if it applies transactions of
// other servers that do not come into its log.
func (d *division) names(ctx context.Context) ([]string, error) {
	names := make([]string, len(d.sessions))
	for i, s := range d.sessions {
		status, err := s.show(ctx, "STATUS", "Binlog_snapshot_file", "Binlog_snapshot_position", "Slaves_running")
		if err != nil {
			return nil, err
		}
		set, err := s.show(ctx, "GLOBAL VARIABLES", "log_slave_updates", "log_replica_updates", "wsrep_on")
		if err != nil {
			return nil, err
		}
		all := set["log_slave_updates"] == "ON" || set["log_replica_updates"] == "ON"
		alone := status["Slaves_running"] == "0" && set["wsrep_on"] != "ON"
		switch file := status["Binlog_snapshot_file"]; {
		case file == "":
			d.unproved = noLog
		case !all && !alone:
			d.unproved = noAll
		default:
			names[i] = s.server + " " + file + ":" + status["Binlog_snapshot_position"]
		}
	}
	return names, nil
}

// show returns the values of those variables that the server has.
func (s *session) show(ctx context.Context, what string, names ...string) (map[string]string, error) {
	rows, err := s.conn.QueryContext(ctx, "SHOW "+what+" WHERE Variable_name IN ('"+strings.Join(names, "', '")+"')")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	values := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		values[name] = value
	}
	return values, rows.Err()
}

// again begins the transactions of all sessions anew, at the same time.
func (d *division) again(ctx context.Context) error {
	var all sync.WaitGroup
	failed := make([]error, len(d.sessions))
	for i, s := range d.sessions {
		all.Go(func() {
			if failed[i] = s.exec(ctx, "ROLLBACK"); failed[i] == nil {
				failed[i] = s.snapshot(ctx)
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// Connections implements listeners.Division.
func (d *division) Connections() int { return len(d.sessions) }

// Snapshot implements listeners.Division.
func (d *division) Snapshot() string { return d.snapshot }

// Close implements listeners.Division.
func (d *division) Close() {
	for _, s := range d.sessions {
		s.close(context.Background())
	}
	d.sessions = nil
}

// Ends implements listeners.Division.
func (d *division) Ends(ctx context.Context) (least, greatest int64, ok bool, err error) {
	r := &reader{source: d.source, task: d.task}
	text, args, err := r.bind("")
	if err != nil {
		return 0, 0, false, err
	}
	s, by := d.sessions[0], d.task.Listener.Divide.By
	limited, _, done := s.query(ctx)
	defer done()
	if err := s.conn.Raw(func(conn any) error { // its errors speak of the query as it is written
		_, err := s.prepare(limited, conn, text)
		return err
	}); err != nil {
		return 0, 0, false, s.fail(ctx, limited, err)
	}
	var ends [2]sql.NullString
	row := s.conn.QueryRowContext(limited, dialect.Ends(dialect.MySQL, text, by), args...)
	if err := row.Scan(&ends[0], &ends[1]); err != nil {
		return 0, 0, false, s.fail(ctx, limited, err)
	}
	if !ends[0].Valid {
		return 0, 0, false, nil
	}
	least, err = listeners.Whole(by, ends[0].String)
	if err == nil {
		greatest, err = listeners.Whole(by, ends[1].String)
	}
	return least, greatest, err == nil, err
}

// Read implements listeners.Division.
func (d *division) Read(ctx context.Context, connection int, of report.Range, out *listeners.Writer) error {
	r := &reader{source: d.source, task: d.task, out: out, of: of}
	return r.run(ctx, d.sessions[connection], "")
}

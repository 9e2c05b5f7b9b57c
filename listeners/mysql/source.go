package mysql

import (
	"context"
	"database/sql"
	"time"

	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/internal/aged"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// Source runs the queries of listeners on one database. It is safe for concurrent use. Tasks
// beyond the size of the pool wait: see listeners.Slots.
type Source struct {
	db     *sql.DB // queries
	kills  *sql.DB // KILL QUERY only, because a query may use every connection of db
	calls  *sql.DB // short statements that must not wait for queries
	health *sql.DB // how busy the server is

	collations aged.Cache[string, []string]
}

var _ listeners.Connection = (*Source)(nil)

const (
	killConnections = 2
	shortTimeout    = 30 * time.Second // of a short statement
)

// Open returns the source of a database. It does no I/O: the first statement of a pool connects.
func Open(d report.Database) (*Source, error) {
	s := over(nil, nil, nil)
	for _, pool := range []struct {
		db       **sql.DB
		size     int
		patience time.Duration
	}{
		{&s.db, d.MaxConnections, 0},
		{&s.kills, killConnections, shortTimeout},
		{&s.calls, 1, shortTimeout},
		{&s.health, 1, shortTimeout},
	} {
		db, err := mysqldb.Connect(d, pool.size, pool.patience)
		if err != nil {
			_ = s.Close()
			return nil, err
		}
		*pool.db = db
	}
	return s, nil
}

// over returns the source of these pools.
func over(db, kills, calls *sql.DB) *Source {
	s := &Source{db: db, kills: kills, calls: calls}
	s.collations = aged.Cache[string, []string]{
		MaxAge: collationsAge, Max: maxCollations, Timeout: shortTimeout, Ask: s.askCollations,
	}
	return s
}

// Close closes all connections. The caller waits for the last Read before.
func (s *Source) Close() error {
	for _, db := range []*sql.DB{s.db, s.kills, s.calls, s.health} {
		if db != nil {
			_ = db.Close()
		}
	}
	return nil
}

// Reach implements listeners.Connection.
func (s *Source) Reach(ctx context.Context) error { return login(s.calls.PingContext(ctx)) }

// Server asks the server for its version, clock and time zone.
func (s *Source) Server(ctx context.Context) (version string, clock time.Time, zone string, err error) {
	var micros int64
	var system string
	err = s.calls.QueryRowContext(ctx,
		"SELECT VERSION(), CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED), @@global.time_zone, @@system_time_zone").
		Scan(&version, &micros, &zone, &system)
	if zone == "SYSTEM" {
		zone = system
	}
	return version, time.UnixMicro(micros), zone, login(err)
}

// login marks the error of a server that refuses the account.
func login(err error) error {
	if mysqldb.Refused(err) {
		return listeners.Login(err)
	}
	return err
}

// Read implements listeners.Source. Errors that every try would repeat are marked with
// listeners.Permanent. The error of a query that took too long is ErrTimeout.
func (s *Source) Read(ctx context.Context, task listeners.Task, out *listeners.Writer) error {
	r := &reader{source: s, task: task, out: out}
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
	var list dialect.Literals
	if task.Listener.From != nil {
		if list, err = r.literals(ctx, session.packet); err != nil {
			return err
		}
	}
	return r.run(ctx, session, list)
}

// Prepare lets the server parse a listener's query and check its tables, columns and grants, without
// running it, and checks whether it can be read in parts. The errors are those of Read.
func (s *Source) Prepare(ctx context.Context, l *report.Listener) error {
	text, _, err := dialect.QueryOf(l).Bind(func(string) (any, bool) { return nil, true })
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
	if l.Divide == nil {
		return nil
	}
	_ = conn.Close() // Divide needs one
	division, err := s.Divide(ctx, listeners.Task{Listener: l}, 1)
	if err == nil {
		division.Close()
	}
	return err
}

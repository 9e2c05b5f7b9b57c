package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fanfold/fanfold/listeners/postgres"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

const (
	idleTime = 5 * time.Minute
	lockTime = time.Second     // for a locked row
	spare    = 5 * time.Second // after patience, for a server that ends a statement itself
)

func connect(d report.Database, o record.Options) (*sql.DB, error) {
	of, err := postgres.ConnectConfig(d)
	if err != nil {
		return nil, err
	}
	// The driver refuses a configuration that it has not made.
	c, err := pgx.ParseConfig("host=fanfold user=fanfold sslmode=disable")
	if err != nil {
		return nil, fmt.Errorf("postgres: the environment variables of PostgreSQL (PG…) are not valid: unset them")
	}
	c.Config = *of
	// Cached statements would fail after a change of a table, and lists of ids make many different ones.
	c.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec
	c.StatementCacheCapacity, c.DescriptionCacheCapacity = 0, 0
	open := c.OnPgError
	c.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		// After a failover, the name of the host leads to another server than this connection.
		return err.Code != readOnly && open(conn, err)
	}
	if o.Patience > 0 {
		dial := c.DialFunc
		c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &patient{Conn: conn, patience: o.Patience}, nil
		}
	}
	settings := settings(o, of.RuntimeParams)
	db := sql.OpenDB(explained{stdlib.GetConnector(*c, stdlib.OptionAfterConnect(
		func(ctx context.Context, conn *pgx.Conn) error {
			return conn.PgConn().Exec(ctx, settings).Close()
		}))})
	db.SetMaxOpenConns(o.MaxConnections)
	db.SetMaxIdleConns(o.MaxConnections)
	db.SetConnMaxIdleTime(idleTime)
	return db, nil
}

// settings returns statements for a new session. Those that the DSN may override are not among its options.
func settings(o record.Options, given map[string]string) string {
	all := []string{"default_transaction_isolation = 'read committed'", "standard_conforming_strings = on"}
	if o.Migrates {
		all = append(all, "statement_timeout = 0")
	} else if o.Patience > 0 {
		// If the process is gone, nobody else ends its statement.
		all = append(all, "statement_timeout = "+strconv.FormatInt((o.Patience+spare).Milliseconds(), 10))
	}
	if _, set := given["lock_timeout"]; !o.Migrates && !set {
		all = append(all, "lock_timeout = "+strconv.FormatInt(lockTime.Milliseconds(), 10))
	}
	if o.Zone != nil {
		all = append(all, "timezone = '"+strings.ReplaceAll(o.Zone.String(), "'", "''")+"'")
	}
	return "SET " + strings.Join(all, "; SET ")
}

// explained is a connector whose errors have one line.
type explained struct{ driver.Connector }

// Connect implements driver.Connector.
func (e explained) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := e.Connector.Connect(ctx)
	if err != nil {
		return nil, postgres.Told(err)
	}
	return conn, nil
}

// patient is a connection whose reads and writes end after a time, unless the driver has set a deadline, such as at
// the end of a context. Without it, a network that drops packets blocks a statement for a quarter of an hour.
type patient struct {
	net.Conn
	patience time.Duration

	mu    sync.Mutex
	ruled bool // the driver has set a deadline
}

// Read implements net.Conn.
func (p *patient) Read(b []byte) (int, error) {
	if err := p.begin(p.Conn.SetReadDeadline); err != nil {
		return 0, err
	}
	return p.Conn.Read(b)
}

// Write implements net.Conn.
func (p *patient) Write(b []byte) (int, error) {
	if err := p.begin(p.Conn.SetWriteDeadline); err != nil {
		return 0, err
	}
	return p.Conn.Write(b)
}

func (p *patient) begin(set func(time.Time) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ruled {
		return nil
	}
	return set(time.Now().Add(p.patience))
}

// SetDeadline implements net.Conn.
func (p *patient) SetDeadline(t time.Time) error { return p.rule(p.Conn.SetDeadline, t) }

// SetReadDeadline implements net.Conn.
func (p *patient) SetReadDeadline(t time.Time) error { return p.rule(p.Conn.SetReadDeadline, t) }

// SetWriteDeadline implements net.Conn.
func (p *patient) SetWriteDeadline(t time.Time) error { return p.rule(p.Conn.SetWriteDeadline, t) }

func (p *patient) rule(set func(time.Time) error, t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ruled = !t.IsZero()
	return set(t)
}

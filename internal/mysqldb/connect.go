package mysqldb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/fanfold/fanfold/report"
)

const (
	dialTimeout = 5 * time.Second // if the DSN gives none
	idleTime    = 5 * time.Minute
	// recordsTime is the maximum age of a connection to the records: its UTC offset changes with daylight saving, and
	// after a failover its server can be a replica, while the host's name leads to the new primary.
	recordsTime = 5 * time.Minute
)

// Connect returns a pool of at most maxConnections connections. It does no I/O: the first query
// connects. The caller closes the pool.
//
// The DSN sets address, account, schema, TLS, timeouts and session variables. The default dial
// timeout is 5 s; reads and writes end with the caller's context. Connections close after 5 idle
// minutes. Some settings are fixed: the session's time zone is UTC, text is utf8mb4, statements are
// single and prepared, dates and times are the server's text, and no file of the client is sent.
//
// Errors never contain a part of the DSN.
//
// Patience above 0 is the default of readTimeout and writeTimeout. Use it for short statements:
// without it a network that drops packets blocks a statement for a quarter of an hour.
func Connect(d report.Database, maxConnections int, patience time.Duration) (*sql.DB, error) {
	return connect(d, maxConnections, patience, time.UTC, map[string]string{})
}

// ConnectRecords is Connect for the table of records, which other services write, too. A DATETIME
// column says nothing about its time zone. If the column updated has that type, Fanfold must write
// and compare it in the zone of those services: in UTC, ages would be wrong by hours. If zone is
// nil, the session keeps the server's zone, which DEFAULT CURRENT_TIMESTAMP and the services' NOW()
// use. A TIMESTAMP is right in every zone.
//
// A statement waits one second for a locked row instead of the server's 50, because the other rows
// of the statement wait with it, and one second for a locked table instead of the server's days.
// innodb_lock_wait_timeout and lock_wait_timeout in the DSN take precedence.
func ConnectRecords(d report.Database, maxConnections int, patience time.Duration,
	zone *time.Location) (*sql.DB, error) {
	db, err := connect(d, maxConnections, patience, zone, map[string]string{
		"innodb_lock_wait_timeout": "1", "lock_wait_timeout": "1"})
	if err == nil {
		db.SetConnMaxLifetime(recordsTime)
	}
	return db, err
}

// connect is ConnectRecords with session variables that the DSN may override.
func connect(d report.Database, maxConnections int, patience time.Duration, zone *time.Location,
	variables map[string]string) (*sql.DB, error) {
	config, err := parse(d.DSN)
	if err != nil {
		return nil, err
	}
	if !d.TLS.None() {
		if config.TLS, err = d.TLS.Config(""); err != nil { // the driver fills in the host
			return nil, fmt.Errorf("mysqldb: %w", err)
		}
	}
	config.ReadTimeout = cmp.Or(config.ReadTimeout, patience)
	config.WriteTimeout = cmp.Or(config.WriteTimeout, patience)
	maps.Copy(variables, config.Params)
	config.Params = variables
	if zone != nil {
		if err := config.Apply(mysql.BeforeConnect(inZone(zone))); err != nil {
			return nil, errDSN
		}
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, errDSN
	}
	db := sql.OpenDB(explained{connector})
	db.SetMaxOpenConns(maxConnections)
	db.SetMaxIdleConns(maxConnections)
	db.SetConnMaxIdleTime(idleTime)
	return db, nil
}

// explained is a connector whose errors name what helps.
type explained struct{ driver.Connector }

// Connect implements driver.Connector. The driver has no error of its own for a server of MySQL
// without a key for passwords: only the text tells it from a broken connection.
func (e explained) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := e.Connector.Connect(ctx)
	if err != nil && strings.Contains(err.Error(), "caching_sha2_password") {
		err = fmt.Errorf("%w: %w", errNoKey, err)
	}
	return conn, err
}

// inZone sets the time zone of every new connection.
func inZone(zone *time.Location) func(context.Context, *mysql.Config) error {
	return func(_ context.Context, config *mysql.Config) error {
		// The driver shares an empty map between connections that are opened concurrently.
		config.Params = maps.Clone(config.Params)
		// Set the offset, not the name: many servers have no table of zone names.
		config.Params["time_zone"] = time.Now().In(zone).Format("'-07:00'")
		return nil
	}
}

var errDSN = errors.New("mysqldb: not a valid data source name: write user:password@tcp(host:port)/schema?options")

// parse reads a DSN and overrides the settings that callers rely on.
func parse(dsn report.Secret) (*mysql.Config, error) {
	config, err := mysql.ParseDSN(dsn.Reveal())
	if err != nil {
		// If the password contains @ or /, the driver's message can quote a part of it. Messages
		// with this prefix are fixed texts.
		if message := err.Error(); strings.HasPrefix(message, "invalid DSN: ") {
			return nil, fmt.Errorf("%w: %s", errDSN, strings.TrimPrefix(message, "invalid DSN: "))
		}
		return nil, errDSN
	}
	config.Timeout = cmp.Or(config.Timeout, dialTimeout)
	config.ConnectionAttributes = cmp.Or(config.ConnectionAttributes, "program_name:fanfold")
	collation := config.Collation
	if !strings.HasPrefix(collation, "utf8mb4") {
		collation = ""
	}
	if err := config.Apply(mysql.Charset("utf8mb4", collation)); err != nil {
		return nil, errDSN
	}
	maps.DeleteFunc(config.Params, func(name, _ string) bool {
		name = strings.ToLower(name)
		return name == "time_zone" || strings.HasPrefix(name, "character_set_") || strings.HasPrefix(name, "collation")
	})
	config.AllowAllFiles = false
	config.MaxAllowedPacket = 1 << 30 // the server's limit decides
	config.ClientFoundRows = false
	config.ColumnsWithAlias = false
	config.InterpolateParams = false
	config.MultiStatements = false
	config.ParseTime = false
	config.Logger = &mysql.NopLogger{} // everything it would log is returned as an error, too
	return config, nil
}

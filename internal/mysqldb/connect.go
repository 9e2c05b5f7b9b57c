package mysqldb

import (
	"cmp"
	"context"
	"database/sql"
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
	zoneTime    = 5 * time.Minute // of a connection whose offset daylight saving changes
)

// Connect returns a pool of at most maxConnections connections. It
// does no I/O: the first query connects. The caller closes the pool.
//
// The DSN decides about address, account, schema, TLS, timeouts and session
// variables. A dial takes at most 5 s where it does not say otherwise; reads and
// writes end with the caller's context. A connection that was idle for 5 minutes is
// closed. Whatever the DSN says: the session's time zone is UTC, text is utf8mb4, a
// statement is one statement whose arguments travel apart from it, dates and times come
// as the server's text, and no file of the client is sent.
//
// An error never holds a part of the DSN.
//
// With a patience above 0 no answer is waited for longer than that; the DSN's own
// readTimeout and writeTimeout go before. It is for short statements: without it
// a network that swallows packets holds a statement for a quarter of an hour.
func Connect(d report.Database, maxConnections int, patience time.Duration) (*sql.DB, error) {
	return connect(d, maxConnections, patience, time.UTC, map[string]string{})
}

// ConnectRecords is Connect for the table of the records, which other services write,
// too. If its column updated is a DATETIME, it says nothing about its time zone, and
// Fanfold has to write it and compare it with NOW() in the zone of those services: in
// UTC ages would be wrong by hours on a server with another zone. Without a zone
// (nil) the session keeps the server's, in which DEFAULT CURRENT_TIMESTAMP and the
// NOW() of a service are. A TIMESTAMP is right in every zone.
//
// A statement waits for a locked row for a second, and not for the server's 50: the other
// rows that it changes wait with it. The DSN's own innodb_lock_wait_timeout goes before.
func ConnectRecords(d report.Database, maxConnections int, patience time.Duration, zone *time.Location) (*sql.DB, error) {
	return connect(d, maxConnections, patience, zone, map[string]string{"innodb_lock_wait_timeout": "1"})
}

// connect is ConnectRecords with values for variables of the session that the DSN does not set.
func connect(d report.Database, maxConnections int, patience time.Duration, zone *time.Location, variables map[string]string) (*sql.DB, error) {
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
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(maxConnections)
	db.SetMaxIdleConns(maxConnections)
	db.SetConnMaxIdleTime(idleTime)
	if zone != nil && zone != time.UTC {
		db.SetConnMaxLifetime(zoneTime)
	}
	return db, nil
}

// inZone has each connection begin in a time zone.
func inZone(zone *time.Location) func(context.Context, *mysql.Config) error {
	return func(_ context.Context, config *mysql.Config) error {
		// The driver shares a map that is empty between connections that are made at once.
		config.Params = maps.Clone(config.Params)
		// The offset and not the name: many servers have no table of names.
		config.Params["time_zone"] = time.Now().In(zone).Format("'-07:00'")
		return nil
	}
}

var errDSN = errors.New("mysqldb: not a data source name: write user:password@tcp(host:port)/schema?options")

// parse reads a DSN and puts the settings over it that callers rely on.
func parse(dsn report.Secret) (*mysql.Config, error) {
	config, err := mysql.ParseDSN(dsn.Reveal())
	if err != nil {
		// Where the password has an @ or a / in it, the driver's message can quote
		// a part of it. The messages with this prefix are fixed texts.
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
	config.Logger = &mysql.NopLogger{} // what it would print is returned as an error too
	return config, nil
}

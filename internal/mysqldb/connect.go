package mysqldb

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/fanfold/fanfold/report"
)

// The settings of a pool where nothing else is said.
const (
	DefaultMaxConnections = 10
	dialTimeout           = 5 * time.Second
	idleTime              = 5 * time.Minute
)

// Connect returns a pool of at most maxConnections connections (default 10). It
// does no I/O: the first query connects. The caller closes the pool.
//
// The DSN decides about address, account, schema, TLS, timeouts and session
// variables (time_zone, for example). A dial takes at most 5 s where it does not
// say otherwise; reads and writes end with the caller's context. A connection
// that was idle for 5 minutes is closed. Whatever the DSN says: text is
// utf8mb4, a statement is one statement whose values travel apart from it, dates
// and times come as the server's text, and no file of the client is sent.
//
// An error never holds a part of the DSN.
//
// With a patience above 0 no answer is waited for longer than that; the DSN's own
// readTimeout and writeTimeout go before. It is for short statements: without it
// a network that swallows packets holds a statement for a quarter of an hour.
func Connect(dsn report.Secret, maxConnections int, patience time.Duration) (*sql.DB, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	if config.ReadTimeout == 0 {
		config.ReadTimeout = patience
	}
	if config.WriteTimeout == 0 {
		config.WriteTimeout = patience
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, errDSN
	}
	if maxConnections <= 0 {
		maxConnections = DefaultMaxConnections
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(maxConnections)
	db.SetMaxIdleConns(maxConnections)
	db.SetConnMaxIdleTime(idleTime)
	return db, nil
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
	if config.Timeout == 0 {
		config.Timeout = dialTimeout
	}
	if config.ConnectionAttributes == "" {
		config.ConnectionAttributes = "program_name:fanfold"
	}
	collation := config.Collation
	if !strings.HasPrefix(collation, "utf8mb4") {
		collation = ""
	}
	if err := config.Apply(mysql.Charset("utf8mb4", collation)); err != nil {
		return nil, errDSN
	}
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

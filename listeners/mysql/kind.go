package mysql

import (
	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// Kind is the source MySQL and MariaDB.
var Kind = listeners.Kind{
	Source: kind.Source{
		Name: "mysql", Field: "database",
		Words: report.Words{
			Noun: "database", Section: "databases", Work: "its query has been running for",
			Remedy:   "check that the server runs and that the address in the DSN is correct",
			Datetime: "DATETIME", Instant: "TIMESTAMP",
		},
		DSN: &kind.DSN{
			Form: "user@tcp(host:port)/schema", Full: "user:password@tcp(host:port)/schema",
			Check: badDSN, Warn: warnDSN, Account: account, AddPassword: addPassword, SetsTLS: setsTLS,
			Measured: true,
		},
		Fields: func() any { return new(dialect.Fields) },
		Read:   dialect.MySQL.Read,
		Init:   &kind.Init{Address: "mysql://user@host:3306/schema", DSN: initAddress, Quote: quote},
	},
	OpenDatabase: func(d report.Database) (listeners.Connection, error) {
		s, err := Open(d)
		if err != nil {
			return nil, err
		}
		return s, nil
	},
}

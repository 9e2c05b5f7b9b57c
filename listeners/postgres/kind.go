package postgres

import (
	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// Kind is the source PostgreSQL.
var Kind = listeners.Kind{
	Source: kind.Source{
		Name: "postgres", Field: "database",
		Words: report.Words{
			Noun: "database", Section: "databases", Work: "its query has been running for",
			Remedy:   "check that the server runs and that the address in the DSN is correct",
			Datetime: "timestamp", Instant: "timestamptz",
		},
		DSN: &kind.DSN{
			Schemes: schemes, Form: "postgres://user@host:port/database",
			Full: "postgres://user:password@host:port/database", Check: badDSN, Account: account,
			AddPassword: addPassword, SetsTLS: setsTLS, Measured: true,
		},
		Fields: func() any { return new(dialect.Fields) },
		Read:   dialect.Postgres.Read,
		Init:   &kind.Init{Address: "postgres://user@host:5432/database", DSN: initAddress, Quote: quoted},
	},
	OpenDatabase: func(d report.Database) (listeners.Connection, error) {
		s, err := Open(d)
		if err != nil {
			return nil, err
		}
		return s, nil
	},
}

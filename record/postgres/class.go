package postgres

import (
	"errors"
	"io"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fanfold/fanfold/record"
)

// readOnly is the code of a replica's error, and of a session's that may only read.
const readOnly = "25006"

// classes are what the codes of a server's errors mean. A key of two characters is that of a whole class of codes.
var classes = map[string]record.Class{
	"08":     record.Away, // the connection
	readOnly: record.Away, // the server is a replica, until it is promoted
	"53":     record.Away, // too many connections, no disk space, no memory
	"57P01":  record.Away, // the server is shutting down, or an operator has ended the connection
	"57P02":  record.Away, // the server has crashed
	"57P03":  record.Away, // the server is starting, or recovers
	"57P05":  record.Away, // the connection was idle for too long

	"28":    record.Refused,               // the account does not exist, or may not connect from this host
	"28P01": record.Refused | record.Away, // a wrong password: one that is being rotated is right again soon
	"3D000": record.Refused,               // the database does not exist

	"22021": record.Unstorable, // not a character of the encoding, such as NUL
	"22P05": record.Unstorable | record.Unreadable,
	"22":    record.Unreadable,
	"54001": record.Unreadable, // too many levels
	"23505": record.Duplicate,
	"3F000": record.NoTable, // the schema does not exist
	"40001": record.Deadlocked,
	"40P01": record.Deadlocked,
	"42501": record.Denied,
	"42P01": record.NoTable,
	"42P07": record.Exists,
	"55P03": record.Locked,
}

func class(err error) (c record.Class, answered bool) {
	answer, answered := errors.AsType[*pgconn.PgError](err)
	if !answered {
		_, connecting := errors.AsType[*pgconn.ConnectError](err)
		if connecting || pgconn.Timeout(err) || errors.Is(err, io.ErrUnexpectedEOF) {
			c = record.Away
		}
		return c, false
	}
	c, known := classes[answer.Code]
	if !known && len(answer.Code) > 2 {
		c = classes[answer.Code[:2]]
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	switch {
	case connecting && c&record.Denied != 0:
		c |= record.Refused // the account may not connect to the database
	case connecting && answer.Code == "55000":
		c = record.Away // an operator has the database accept no connections
	}
	return c, true
}

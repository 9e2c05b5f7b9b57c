package mysql

import (
	"errors"

	"github.com/go-sql-driver/mysql"

	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/record"
)

// classes are the errors of a server, except those of mysqldb.Away and mysqldb.Refused.
var classes = map[uint16]record.Class{
	1020: record.Deadlocked, // the record has changed since the snapshot (MariaDB with innodb_snapshot_isolation)
	1044: record.Denied,     // no grant for the schema
	1060: record.Exists,     // the column exists
	1061: record.Exists,     // the index exists
	1062: record.Duplicate,
	1142: record.Denied,
	1146: record.NoTable,
	1205: record.Locked,
	1213: record.Deadlocked,
	// The column's character set cannot encode the text: what MariaDB and MySQL answer.
	1366: record.Unstorable,
	3988: record.Unstorable,
	// JSON to MySQL. MariaDB returns NULL.
	3140: record.Unreadable, // not valid, or a number that is too large
	3141: record.Unreadable, // the same in an argument of a function
	3157: record.Unreadable, // too many levels
}

func class(err error) (c record.Class, answered bool) {
	answer, answered := errors.AsType[*mysql.MySQLError](err)
	if answered {
		c = classes[answer.Number]
		if mysqldb.Away(err) {
			c |= record.Away
		}
	}
	if mysqldb.Refused(err) {
		c |= record.Refused
	}
	if errors.Is(err, mysql.ErrInvalidConn) {
		c |= record.Away
	}
	return c, answered
}

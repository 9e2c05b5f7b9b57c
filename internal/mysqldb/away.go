package mysqldb

import (
	"errors"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// away are the errors of a server that temporarily refuses connections or writes.
var away = []uint16{
	1040, // too many connections
	1045, // a wrong password: one that is being rotated is right again soon
	1053, // the server is shutting down
	1203, // too many connections of this account
	1226, // the account exceeds one of its limits
	ReadOnly,
	1836, // read-only mode
	3032, // offline mode
}

// refused are the errors of a server that denies an account access, to itself or to a schema.
var refused = []uint16{
	1044, // no grant for the schema
	1045, // a wrong account or password
	1049, // no such schema
	1130, // not from this host
	1251, // the client does not support the account's authentication protocol
	1524, // the account authenticates with a plugin that the server does not have
	1698, // the account cannot log in with a password
	1820, // the password must be changed first
	1862, // the password has expired
	3118, // the account is locked
	3159, // the server requires TLS
	4151, // the account is locked (MariaDB)
}

// errNoKey means that a server of MySQL cannot receive a password without TLS.
var errNoKey = errors.New("the server has no RSA key for a password without TLS: use TLS, with tls=true in the DSN or ca_file")

// Refused tells whether a server answered that this account has no access. Only a change of the DSN
// or of the account helps, such as the end of a password rotation.
func Refused(err error) bool {
	return errors.Is(err, errNoKey) || Answered(err, refused...)
}

// Answered tells whether the server answered with one of these errors.
func Answered(err error, numbers ...uint16) bool {
	answer, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && slices.Contains(numbers, answer.Number)
}

// ReadOnly is the error number of a server with a read-only option. For writers it is a replica
// until it is promoted; for a query it can mean an option that forbids the query for good.
const ReadOnly = 1290

// Away tells whether an error only means that the server is unavailable: it did not answer, or it
// temporarily refuses connections or writes. The same call can succeed later. Away is also true for
// the end of a context.
func Away(err error) bool {
	if _, answered := errors.AsType[*mysql.MySQLError](err); !answered {
		return err != nil
	}
	return Answered(err, away...)
}

package mysqldb

import (
	"errors"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// What a server says that takes nobody, or no changes, at present.
var away = []uint16{
	1040, // too many connections
	1045, // a wrong password: one that is being rotated is right again soon
	1053, // it shuts down
	1203, // too many connections of this account
	1226, // the account is over one of its limits
	ReadOnly,
	1836, // it is in read-only mode
	3032, // it is in offline mode
}

// What a server says that refuses an account, or a schema to it.
var refused = []uint16{
	1044, // no grant for the schema
	1045, // a wrong account or password
	1049, // no such schema
	1130, // not from this host
	1251, // it cannot speak the account's protocol
	1698, // the account has no password to log in with
	1820, // the password must be changed first
	1862, // the password has expired
	3118, // the account is locked
	3159, // it wants TLS
	4151, // the account is locked (MariaDB)
}

// Refused tells whether a server is there and does not let this account in. Only a
// change of the DSN or of the account helps, such as the end of a rotation of passwords.
func Refused(err error) bool {
	var answer *mysql.MySQLError
	return errors.As(err, &answer) && slices.Contains(refused, answer.Number)
}

// ReadOnly is the number of the error of a server that is the replica of another
// one, until it takes over, for those who write; for a query it can mean an option
// of the server that forbids this query for good.
const ReadOnly = 1290

// Away tells whether an error says nothing but that a server is away: what no
// server has answered, and what one answers that takes nobody at present. The
// same can succeed later as it is. It is true of the end of a context, too.
func Away(err error) bool {
	var answer *mysql.MySQLError
	if !errors.As(err, &answer) {
		return err != nil
	}
	return slices.Contains(away, answer.Number)
}

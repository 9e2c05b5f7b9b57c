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

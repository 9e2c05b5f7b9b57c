package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-sql-driver/mysql"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// ErrTimeout is the error of a query that exceeded the timeout of its listener. It is not permanent:
// the server may be faster next time.
var ErrTimeout = errors.New("query timed out")

func timedOut(l *report.Listener) error {
	return fmt.Errorf("%w after %s: raise the timeout of the listener, or make its query faster", ErrTimeout, l.Timeout)
}

// remedies has the permanent errors of a server: the query, the schema or the grants must change. A
// refused login is not permanent, because the password may be in rotation.
var remedies = map[uint16]string{
	1044: "grant the account SELECT on this database",
	1049: "correct the database in the query or in the DSN",
	1052: "write the table's name or alias before the column",
	1054: "correct the column in the query",
	1055: "add the column to GROUP BY, or aggregate it",
	1056: "correct GROUP BY",
	1060: "give one of the columns an alias with AS",
	1064: "correct the SQL, or put backticks around a name that is a reserved word of this server",
	1066: "give one of the tables an alias",
	1109: "correct the table in the query",
	1111: "use HAVING instead of WHERE for aggregates",
	1140: "add GROUP BY, or aggregate all columns",
	1142: "grant the account SELECT on this table",
	1143: "grant the account SELECT on this column",
	1146: "correct the table in the query",
	1222: "give both sides of the UNION the same columns",
	1227: "use a query that needs no such privilege",
	1241: "correct the number of columns in the subquery or IN list",
	1248: "give the derived table an alias",
	1267: "compare with COLLATE, or convert one side",
	1270: "compare with COLLATE, or convert the column: its character set lacks a character of a value",
	1271: "compare with COLLATE, or convert the column: its character set lacks a character of a value",
	1295: "use a query that can be prepared",
	1305: "correct the function in the query",
	1356: "repair the view, or the grants of its definer",
	1370: "grant the account EXECUTE on this function",
	1582: "correct the arguments of the function",
	1630: "correct the function in the query",
	1792: "use a query that does not write: listeners read in a read-only transaction",
	3854: "compare with COLLATE, or convert the column: its character set lacks a character of a value",
}

// explainLogin is explain for a failed connection. A refused login is not an outage: it uses tries.
func explainLogin(ctx context.Context, l *report.Listener, err error) error {
	if ctx.Err() == nil && mysqldb.Refused(err) {
		return fmt.Errorf("database %s refuses the login: %w: correct the DSN of database %s", l.Source, err, l.Source)
	}
	return explain(ctx, l, err)
}

// explain converts an error of the driver to an error of a listener.
func explain(ctx context.Context, l *report.Listener, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var server *mysql.MySQLError
	if !errors.As(err, &server) {
		return listeners.Outage(fmt.Errorf("the connection to database %s failed: %w", l.Source, err))
	}
	// A query only reads, so a read-only server is not away.
	if server.Number != mysqldb.ReadOnly && mysqldb.Away(err) {
		return listeners.Outage(err)
	}
	switch server.Number {
	case 1969, 3024:
		return timedOut(l)
	case 1317:
		return fmt.Errorf("query killed on the server: %w", err)
	}
	if remedy, ok := remedies[server.Number]; ok {
		err = fmt.Errorf("%w: %s", err, remedy)
		if slices.Contains([]uint16{1044, 1142, 1143}, server.Number) {
			err = fault.Denied.Of(err)
		}
		return listeners.Permanent(err)
	}
	return err
}

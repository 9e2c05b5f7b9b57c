package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// ErrTimeout is the error of a query that exceeded the timeout of its listener. It is not permanent:
// the server may be faster next time.
var ErrTimeout = errors.New("query timed out")

// canceled is the code of a query that was cancelled, also at statement_timeout.
const canceled = "57014"

// remedies has permanent errors of a server: the query, the schema, its values or the grants must change.
var remedies = map[string]string{
	"42501": "grant the account SELECT on it, and USAGE on its schema",
	"42601": "correct the SQL, or put double quotes around a name that is a reserved word",
	"42703": "correct the column in the query. A name in double quotes keeps its capitals",
	"42702": "write the table's name or alias before the column",
	"42P01": "correct the table in the query, or write its schema before it",
	"42883": "correct the function, or convert one side, such as :name::bigint or id::text",
	"42725": "convert the parameter, such as :name::bigint",
	"42804": "convert one side, such as :name::bigint",
	"42P08": "convert the parameter, such as :name::bigint",
	"42P18": "convert the parameter, such as :name::text",
	"42P22": "compare with COLLATE",
	"42803": "add the column to GROUP BY, or aggregate it",
	"42701": "give one of the columns an alias with AS",
	"3F000": "correct the schema in the query",
	"25006": "use a query that does not write: listeners read in a read-only transaction",
	"22P02": "correct the value, or convert the column, such as id::text",
	"22003": "correct the value, or convert the column, such as id::bigint",
	"22007": "correct the value, or convert the column, such as day::text",
	"22008": "correct the value, or convert the column, such as day::text",
	"22012": "divide by NULLIF(…, 0)",
}

// permanent are the classes of errors that every try would repeat.
var permanent = []string{"42", "22", "21", "0A", "54", "3F", "25006"}

// away are the errors of a server that temporarily refuses connections or ends them, and their classes. 40001 is a
// conflict with what a replica has to replay: a transaction that only reads has no other.
var away = []string{"08", "53300", "57P01", "57P02", "57P03", "57P05", "40001"}

// denied are the errors of a server that denies an account access, to itself or to a database.
var denied = []string{"28", "3D000", "42501"}

// codeOf returns the code of a server's error; empty: it is none.
func codeOf(err error) string {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return answer.Code
	}
	return ""
}

// in reports whether a code is one of these, or of one of their classes.
func in(code string, all []string) bool {
	for _, one := range all {
		if code != "" && strings.HasPrefix(code, one) {
			return true
		}
	}
	return false
}

// told is an error of the driver with a text of one line.
type told struct {
	text string
	err  error
}

func (t told) Error() string { return t.text }
func (t told) Unwrap() error { return t.err }

// placed adds to an error of the server where in the query its mistake is. text is what the server got.
func placed(err error, l *report.Listener, text string) error {
	answer, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || answer.Position <= 0 {
		return err
	}
	runes := []rune(text)
	query := dialect.QueryOf(l)
	at := query.Place(text, len(string(runes[:min(int(answer.Position)-1, len(runes))])))
	before := query.Text[:at]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	answer.Message += fmt.Sprintf(" (line %d, column %d of the query)", strings.Count(before, "\n")+1,
		utf8.RuneCountInString(line)+1)
	return err
}

// tell returns an error in the words of the server.
func tell(err error) error {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		text := answer.Severity + ": " + answer.Message
		if answer.Detail != "" {
			text += " (" + answer.Detail + ")"
		}
		if answer.Hint != "" {
			text += " (hint of the server: " + answer.Hint + ")"
		}
		return told{text + " (SQLSTATE " + answer.Code + ")", err}
	}
	return Told(err)
}

// Told returns an error of the driver with a text of one line. If it has tried an address several times, with and
// without TLS, and all failed alike, the text says so once.
func Told(err error) error {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.Join(strings.Fields(line), " "); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return told{strings.Join(lines, " "), err}
}

// explainLogin is explain for a failed connection. A refused login is not an outage: it uses tries.
func explainLogin(ctx context.Context, l *report.Listener, err error) error {
	if ctx.Err() == nil && isDenied(err) {
		return fmt.Errorf("database %s refuses the login: %w: correct the DSN of database %s", l.Source, tell(err),
			l.Source)
	}
	return explain(ctx, l, err)
}

// isDenied reports whether a server answered that the account has no access.
func isDenied(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	return connecting && in(codeOf(err), denied)
}

// login marks the error of a server that refuses the account.
func login(err error) error {
	switch {
	case err == nil:
		return nil
	case isDenied(err):
		return listeners.Login(tell(err))
	}
	return tell(err)
}

// explain converts an error of the driver to an error of a listener.
func explain(ctx context.Context, l *report.Listener, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	code := codeOf(err)
	err = tell(err)
	switch {
	case code == "":
		return listeners.Outage(fmt.Errorf("the connection to database %s failed: %w", l.Source, err))
	case in(code, away):
		return listeners.Outage(fmt.Errorf("database %s: %w", l.Source, err))
	case code == canceled:
		return fmt.Errorf("query cancelled on the server: %w", err)
	case !in(code, permanent):
		return err
	case code == "42501":
		return listeners.Permanent(fault.Denied.New("%w: %s", err, remedies[code]))
	case remedies[code] != "":
		return listeners.Permanent(fmt.Errorf("%w: %s", err, remedies[code]))
	}
	return listeners.Permanent(err)
}

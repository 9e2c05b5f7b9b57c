package record

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
)

// Kind is a kind of database that can have the table of records: its package, and one line in
// cmd/fanfold/kinds. It contains all in which these databases differ.
type Kind struct {
	Name string // that of the kind of source that reads the DSNs
	// CheckCondition checks SQL that is added to the WHERE of statements; nil: it is valid.
	CheckCondition func(text string) *report.Mistake
	// Connect returns a pool. It does no I/O.
	Connect func(d report.Database, o Options) (*sql.DB, error)
	// Class returns what the server's answer in an error means; 0, false: the error has no answer.
	Class func(err error) (c Class, answered bool)
	SQL
	// Columns returns the columns of a table or view. Those about which the database says nothing are left out.
	Columns func(ctx context.Context, db *sql.DB, t Table) ([]Column, error)
	// IsTable reports whether every row that was not deleted can be read: it is false for a view.
	IsTable func(ctx context.Context, db *sql.DB, t Table) (bool, error)
	// HasIndex reports whether an index begins with a column.
	HasIndex func(ctx context.Context, db *sql.DB, t Table, column string) (bool, error)
	Layout
}

// Kinds are the kinds that a program has.
type Kinds []*Kind

// Open returns a pool, which must be of one of the kinds. See Kind.Open.
func (ks Kinds) Open(d report.Database, o Options) (*DB, error) {
	for _, k := range ks {
		if k.Name == d.Kind {
			return k.Open(d, o)
		}
	}
	return nil, fmt.Errorf("records cannot be in a database of kind %s", d.Kind)
}

// Options are those of the connections to the records.
type Options struct {
	MaxConnections int
	// Patience bounds the wait for an answer of the server; 0: nothing does.
	Patience time.Duration
	// Zone is the time zone of the sessions; nil: the server's, which DEFAULT CURRENT_TIMESTAMP and the NOW() of
	// services use.
	Zone *time.Location
	// Migrates: statements wait for locks as long as the server lets them. Others wait a second for a locked
	// row, unless the DSN says otherwise, because the other rows of the statement wait with it.
	Migrates bool
}

// SQL is the SQL of a kind of database. Its texts are templates: see mapping.sql.
type SQL struct {
	Quote    func(name string) string // a valid name
	Numbered bool                     // placeholders are $1, $2, …; otherwise ?
	Exact    bool                     // texts are equal only if their bytes are
	// Words are what a template writes in braces:
	//
	//	now        the time when the statement began
	//	ago        that time minus a number of microseconds, the argument
	//	int        an argument that is an integer
	//	integer    the type of 64-bit integers in a CAST
	//	same       a comparison of {person} and the argument by their bytes
	//	bytes      a text, the argument, as one of Parameter is compared
	//	generated  what a column is whose values the database generates, for people
	//	form       how the server writes JSON, the argument
	Words map[string]string
	// Parameter returns the text of a member of {parameters}, which have a type, or NULL. The argument is from
	// Member.
	Parameter func(ctx context.Context, db *sql.DB, of Type) (string, error)
	// Member returns the argument of Parameter for a name.
	Member func(name string) string
	// Text returns the text of a column.
	Text func(column string) string
	// Age returns the microseconds since a column's time.
	Age func(column string) string
	// Instant returns a text for the time of a column that does not depend on the session's time zone.
	Instant func(column string, of Type) string
	// Within returns a SELECT that the server ends after a time; nil: the driver ends it with the context.
	Within func(query string, left time.Duration) string
	// Prune returns a statement that deletes the oldest rows of a table, at most n, that were made before {ago}.
	// Also is a further condition, which ends with AND; empty: none.
	Prune func(table, also string, n int) string
	// Replace returns what an INSERT ends with that replaces these columns of a row whose key exists.
	Replace func(key, columns []string) string
	// Insert executes an INSERT and returns the value of the column id; 0: the database did not generate it.
	Insert func(ctx context.Context, tx *sql.Tx, statement, id string, args []any) (string, error)
	// Type returns what the driver's name of a column's type means.
	Type func(name string) Type
}

// Layout is what Migrate makes.
type Layout struct {
	MaxName int // maximum bytes of a name of a table
	// Versions creates a table of completed steps, if it does not exist: version_id and needs are numbers.
	Versions func(table string) string
	// Records are the steps to the current table of records.
	Records func(t Table) []Migration
	// Beside are the steps to the current tables beside it.
	Beside func(of Beside) []Migration
	// Lock waits for a lock of a name until ctx ends. Unlock releases it; it also ends with the connection.
	Lock   func(ctx context.Context, conn *sql.Conn, name string) error
	Unlock func(ctx context.Context, conn *sql.Conn, name string) error
}

// Beside are the quoted names of the tables beside the table of records.
type Beside struct{ Meta, Snapshot, Firing, Request, Shared, History, Audit string }

// Migration is a step. Releases that do not know it can use the tables nevertheless, such as after a
// new table, unless it breaks them: those refuse to start. A step may find its work done.
type Migration struct {
	Description, Statement string
	Breaks                 bool // releases that do not know the step cannot use the tables
}

// Class is what errors of a database mean. An error can mean several things.
type Class uint16

const (
	Away       Class = 1 << iota // it temporarily refuses connections or writes
	Refused                      // the account has no access to the server or the schema
	Deadlocked                   // the transaction was rolled back, and can succeed now
	Locked                       // a row was locked for too long
	Duplicate                    // a row with this key exists
	NoTable                      // the table does not exist
	Denied                       // the account has no right to use the table
	Exists                       // what a step makes exists
	Unstorable                   // the column cannot store a character
	Unreadable                   // a value does not have the form of its type, such as JSON
)

// Contended is a change that lost against another writer. The server or the caller has rolled it back.
const Contended = Deadlocked | Locked

// Type is the type of a column.
type Type struct {
	Of       Values
	Bits     int  // of an integer with a sign: 16, 32 or 64
	Unsigned bool // an integer can have 64 bits without a sign
	Zoned    bool // a time is an instant, in whatever time zone a session sees it
	Folded   bool // a text has an order of its own, which SQL.Text loses, and needs no conversion
}

// Values are those that a type has.
type Values uint8

const (
	Other   Values = iota // cannot be used
	Integer               // whole numbers
	Text
	Time // date and time
	UUID
	JSON
)

// Column is what a database says about a column.
type Column struct {
	Name              string
	Type              string // for people
	Of                Type   // zero: that of a result
	Nullable          bool
	Readable          bool     // this account may read it
	Generated         bool     // a new row gets a value that no other has
	Moves             bool     // an UPDATE of other columns changes it
	Characters, Bytes int      // of a text; 0: no limit, or unknown
	Values            []string // of an enum; nil: any
}

// DB is a pool of connections to a database of a kind.
type DB struct {
	*sql.DB
	Kind *Kind
}

// Open returns a pool. It does no I/O: the first statement connects. The caller closes it.
func (k *Kind) Open(d report.Database, o Options) (*DB, error) {
	pool, err := k.Connect(d, o)
	if err != nil {
		return nil, err
	}
	return &DB{pool, k}, nil
}

// Names returns what no two kinds share, for people.
func (k *Kind) Names() []string { return []string{"records in " + k.Name} }

// Is tells whether an error means one of the classes.
func (k *Kind) Is(err error, c Class) bool {
	found, _ := k.Class(err)
	return found&c != 0
}

// Away tells whether an error only means that the database is unavailable: it did not answer, or it
// temporarily refuses connections or writes. The same call can succeed later. Away is also true for
// the end of a context, and for every other error without an answer of the database.
func (k *Kind) Away(err error) bool {
	found, answered := k.Class(err)
	return err != nil && (!answered || found&Away != 0)
}

// Table is a table, with its schema unless it is the connection's.
type Table struct{ Schema, Name string }

func parseTable(name string) (Table, error) {
	schema, table, two := strings.Cut(name, ".")
	if !two {
		schema, table = "", name
	}
	if !identifier.MatchString(table) || two && !identifier.MatchString(schema) {
		return Table{}, fmt.Errorf("table name %q: write table or schema.table, of letters, digits, _ and $", name)
	}
	return Table{schema, table}, nil
}

// String returns the name without quotes.
func (t Table) String() string {
	if t.Schema == "" {
		return t.Name
	}
	return t.Schema + "." + t.Name
}

// Table returns the quoted name of a table.
func (s *SQL) Table(t Table) string {
	if t.Schema == "" {
		return s.Quote(t.Name)
	}
	return s.Quote(t.Schema) + "." + s.Quote(t.Name)
}

var identifier = regexp.MustCompile("^" + report.Identifier + "$")

// template returns a statement with the words of the kind and its placeholders for ?.
func (s *SQL) template(text string) string {
	if strings.Contains(text, "{") {
		var words []string
		for word, is := range s.Words {
			words = append(words, "{"+word+"}", is)
		}
		text = strings.NewReplacer(words...).Replace(text)
	}
	if !s.Numbered {
		return text
	}
	var b strings.Builder
	for i, part := range strings.Split(text, "?") {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}

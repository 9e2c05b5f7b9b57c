package kind

// Init is how fanfold init reads the databases of a kind.
type Init struct {
	Address string // form of an address on the command line, such as mysql://user@host:3306/schema
	// DSN returns the data source name of an address, which has ${NAME} in place of a password; false: the address is
	// of another kind. An address can also be a data source name.
	DSN func(address string) (dsn string, ok bool, err error)
	// Quote returns a name as a query has it.
	Quote func(name string) string
}

// Table is a table or a view of a database, for a first report.
type Table struct {
	Name    string
	Text    string // as a query names it
	Columns []Column
}

// Column is a column of a Table.
type Column struct {
	Name    string
	Role    Role
	Indexed bool // it is the first column of an index
	Unique  bool // a unique index has only this column
}

// Role is what a column can be in a first report.
type Role int

// The roles. The zero Role is a value to show.
const (
	Shown   Role = iota
	Integer      // to show, or to join by
	Text         // a short text: to show, or to join by
	Day          // a date or datetime: to show, or to select by
	Long         // long or binary: not to show
)

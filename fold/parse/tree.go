package parse

import "slices"

// Position is a place in the text.
type Position struct {
	Line, Column int // from 1; Column counts characters
}

// Pos returns the place.
func (p Position) Pos() Position { return p }

// Query is one SELECT, or several that UNION combines.
type Query struct {
	Position
	Selects []Select
	All     []bool // by UNION: whether it is UNION ALL. One less than Selects
	OrderBy []Order
	Limit   *Limit // nil: none
}

// Select is one SELECT of a query.
type Select struct {
	Position
	Distinct bool
	Items    []Item
	From     Table
	Joins    []Join
	Where    Expr // nil: none
	GroupBy  []Expr
	Having   Expr   // nil: none
	Sub      *Query // a query in parentheses: then all other fields are empty. Nil: none
}

// Item is a column of the result.
type Item struct {
	Position
	Star  bool   // * or Table.*
	Table string // of Table.*
	X     Expr
	Name  string // its alias, the name of its column, or the text of the expression
}

// Table is a listener or a query in FROM.
type Table struct {
	Position
	Name  string // of the listener; empty for a query
	Alias string // what the query calls it: its alias, or its name
	Sub   *Query
}

// JoinKind says which rows a join has.
type JoinKind string

// The kinds of joins.
const (
	Inner JoinKind = "INNER"
	Left  JoinKind = "LEFT"
	Right JoinKind = "RIGHT"
	Full  JoinKind = "FULL"
)

// Join is a table that is joined with all before it, ON a condition or USING columns that both have.
type Join struct {
	Position
	Kind  JoinKind
	Table Table
	On    Expr
	Using []Column
}

// Order is an expression of ORDER BY.
type Order struct {
	X    Expr
	Desc bool
}

// Limit is the part of the rows that a query returns.
type Limit struct {
	Count, Offset int64
}

// Expr is a node of an expression.
type Expr interface{ Pos() Position }

// LiteralKind is the type of a literal.
type LiteralKind int

// The kinds of literals, with the Text of each.
const (
	Null      LiteralKind = iota
	True                  // the integer 1
	False                 // the integer 0
	Integer               // digits
	Decimal               // digits with a point
	Float                 // digits with an exponent
	String                // the text
	Hex                   // the bytes of x'4142'
	Date                  // of DATE '2024-02-29'
	Time                  // of TIME '10:00:00'
	Datetime              // of TIMESTAMP '2024-02-29 10:00:00'
	HexNumber             // the bytes of 0x4142, which are a number where one is needed
)

// Literal is a constant.
type Literal struct {
	Position
	Kind LiteralKind
	Text string
}

// Parameter is :name, a parameter of the report.
type Parameter struct {
	Position
	Name string
}

// Column is a column, with the name of its table if the text has it.
type Column struct {
	Position
	Table, Name string
}

// Unary is - or NOT before an expression.
type Unary struct {
	Position
	Op string
	X  Expr
}

// Binary is an operator between two expressions: OR, XOR, AND, =, <=>, <>, <, <=, >, >=, +, -, *, /, DIV or %.
type Binary struct {
	Position
	Op   string
	L, R Expr
}

// Is is X IS [NOT] NULL, TRUE, FALSE or UNKNOWN, which is NULL.
type Is struct {
	Position
	X    Expr
	Not  bool
	What LiteralKind
}

// Like is X [NOT] LIKE Pattern.
type Like struct {
	Position
	X, Pattern Expr
	Escape     Expr // nil: a backslash
	Not        bool
}

// Regexp is X [NOT] REGEXP Pattern.
type Regexp struct {
	Position
	X, Pattern Expr
	Not        bool
}

// In is X [NOT] IN (List).
type In struct {
	Position
	X    Expr
	List []Expr
	Not  bool
}

// Between is X [NOT] BETWEEN Low AND High.
type Between struct {
	Position
	X, Low, High Expr
	Not          bool
}

// Case is CASE [Operand] WHEN … END.
type Case struct {
	Position
	Operand Expr // nil: the conditions are true or false by themselves
	Whens   []When
	Else    Expr // nil: NULL
}

// When is a branch of a Case.
type When struct{ If, Then Expr }

// Call is a function or an aggregate.
type Call struct {
	Position
	Name      string // in upper case
	Args      []Expr
	Distinct  bool
	Star      bool    // COUNT(*)
	OrderBy   []Order // of GROUP_CONCAT
	Separator *string // of GROUP_CONCAT; nil: a comma
	Unit      string  // of the INTERVAL that is the second argument, and of EXTRACT; in upper case
}

// Cast is CAST(X AS Type).
type Cast struct {
	Position
	X    Expr
	Type CastType
}

// CastType is the type of a Cast: CHAR, BINARY, SIGNED, UNSIGNED, DECIMAL, DOUBLE, DATE, DATETIME or TIME.
type CastType struct {
	Name          string
	Length, Scale int // -1: not given
}

// Collate is X COLLATE Name.
type Collate struct {
	Position
	X    Expr
	Name string // in lower case
}

// Parts returns where a node has its expressions, in the order of the text.
func Parts(e Expr) []*Expr {
	var all []*Expr
	switch e := e.(type) {
	case *Unary:
		all = []*Expr{&e.X}
	case *Binary:
		all = []*Expr{&e.L, &e.R}
	case *Is:
		all = []*Expr{&e.X}
	case *Like:
		all = []*Expr{&e.X, &e.Pattern, &e.Escape}
	case *Regexp:
		all = []*Expr{&e.X, &e.Pattern}
	case *In:
		all = []*Expr{&e.X}
		for i := range e.List {
			all = append(all, &e.List[i])
		}
	case *Between:
		all = []*Expr{&e.X, &e.Low, &e.High}
	case *Case:
		all = []*Expr{&e.Operand}
		for i := range e.Whens {
			all = append(all, &e.Whens[i].If, &e.Whens[i].Then)
		}
		all = append(all, &e.Else)
	case *Call:
		for i := range e.Args {
			all = append(all, &e.Args[i])
		}
		for i := range e.OrderBy {
			all = append(all, &e.OrderBy[i].X)
		}
	case *Cast:
		all = []*Expr{&e.X}
	case *Collate:
		all = []*Expr{&e.X}
	}
	return slices.DeleteFunc(all, func(x *Expr) bool { return *x == nil })
}

// Children returns the expressions in a node, in the order of the text.
func Children(e Expr) []Expr {
	var all []Expr
	for _, x := range Parts(e) {
		all = append(all, *x)
	}
	return all
}

// Columns calls f with every column in an expression.
func Columns(e Expr, f func(c *Column)) {
	if c, ok := e.(*Column); ok {
		f(c)
	}
	for _, x := range Parts(e) {
		Columns(*x, f)
	}
}

package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
	"github.com/fanfold/fanfold/report"
)

// Column is a column of the rows.
type Column struct {
	Table, Name string
	Type        value.Type
	Digits      int  // maximum of a decimal that is one of a source; 0: it is computed, or not known
	Hidden      bool // only its full name finds it, because USING has another one of its name
	// Any: it stands for all columns of a table that is not known because of another mistake.
	Any bool
}

// Scope is what an expression can use.
type Scope struct {
	Columns    []Column
	Parameters Parameters // nil: there are none
	// Computed are expressions whose values the rows have, by parse.Canonical: the number of the column.
	Computed map[string]int
	// Grouped: a column that is not Computed has no single value in a row.
	Grouped bool

	mistakes *parse.Errors // so far; nil: the first one ends the compilation
}

// Parameters returns a parameter of the report; false: there is none.
type Parameters func(name string) (p Parameter, ok bool)

// Parameter is the value of a parameter of the report, or those of a list.
type Parameter struct {
	Values []value.Value
	Types  []value.Type // of every value
	List   bool
}

// Expr is an expression that is ready to be computed. It is used by one goroutine at a time.
type Expr struct {
	Type value.Type
	eval func(row [][]byte) (value.Value, error)

	columns  []int  // of the row: its cell is the first of theirs that is not NULL, unchanged; nil: it is computed
	own      [1]int // memory of columns
	constant bool
	at       parse.Position
}

// Eval returns the value in a row, which is valid as long as the cells of the row.
func (e *Expr) Eval(row [][]byte) (value.Value, error) {
	v, err := e.eval(row)
	if err != nil {
		err = parse.FailedAt(e.at, err)
	}
	return e.shown(v), err
}

// shown gives a text its collation, and rounds a decimal to the scale of its type. As in MariaDB, arithmetic uses the
// digits that a division has besides; comparisons, groups and results do not.
func (e *Expr) shown(v value.Value) value.Value {
	v.Collation = e.Type.Collation
	if v.Kind == value.Decimal && e.Type.Kind == value.Decimal && e.Type.Scale >= 0 && v.Dec.Scale > e.Type.Scale {
		v.Dec = v.Dec.Round(e.Type.Scale)
	}
	return v
}

// Column returns the number of the column whose cell the expression is, unchanged.
func (e *Expr) Column() (int, bool) {
	if len(e.columns) != 1 {
		return 0, false
	}
	return e.columns[0], true
}

// Columns returns the numbers of columns: the cell of the expression is the first of theirs that is not NULL,
// unchanged. Nil: it is computed.
func (e *Expr) Columns() []int { return e.columns }

// refuse ends the compilation with a mistake; Compile recovers.
func refuse(at parse.Position, message, remedy string) { parse.Refuse(at, message, remedy) }

// Compile prepares an expression. The error is parse.Errors with all mistakes in it.
func Compile(e parse.Expr, s *Scope) (compiled *Expr, err error) {
	return wholly(s, func(s *Scope) *Expr { return s.compile(e) })
}

// wholly compiles something. After a mistake it goes on with NULL in its place, which fits everywhere, to find all.
func wholly[T any](s *Scope, compile func(s *Scope) T) (compiled T, err error) {
	if compiled, err = caught(s, compile); err == nil {
		return compiled, nil
	}
	every := *s
	every.mistakes = &parse.Errors{}
	_, err = caught(&every, compile)
	keep(&every, err)
	return compiled, *every.mistakes
}

func caught[T any](s *Scope, compile func(s *Scope) T) (compiled T, err error) {
	defer parse.Catch(&err)
	return compile(s), nil
}

// keep keeps mistakes.
func keep(s *Scope, err error) {
	if wrong, ok := err.(parse.Errors); ok {
		*s.mistakes = append(*s.mistakes, wrong...)
	}
}

// constant returns an expression with one value.
func constant(v value.Value, t value.Type) *Expr {
	return &Expr{Type: t, constant: true, eval: func([][]byte) (value.Value, error) { return v, nil }}
}

// constantOf returns the value of an expression that is the same in every row; false: it is not constant.
func constantOf(e *Expr) (value.Value, bool) {
	if !e.constant {
		return value.Value{}, false
	}
	v, err := e.eval(nil)
	return v, err == nil
}

// cell returns the expression of a column of the rows.
func (s *Scope) cell(i int) *Expr {
	t := s.Columns[i].Type
	e := &Expr{Type: t, own: [1]int{i}, eval: func(row [][]byte) (value.Value, error) {
		return value.Decode(row[i], t)
	}}
	e.columns = e.own[:]
	return e
}

// compile compiles an expression, and says where it stands.
func (s *Scope) compile(e parse.Expr) *Expr {
	var compiled *Expr
	if s.mistakes == nil {
		compiled = s.compileAny(e)
	} else if part, err := caught(s, func(s *Scope) *Expr { return s.compileAny(e) }); err == nil {
		compiled = part
	} else {
		keep(s, err)
		compiled = constant(value.Value{}, value.Type{Kind: value.Null})
	}
	compiled.at = e.Pos()
	return compiled
}

func (s *Scope) compileAny(e parse.Expr) *Expr {
	if len(s.Computed) > 0 {
		if i, ok := s.Computed[parse.Canonical(e)]; ok {
			return s.cell(i)
		}
	}
	switch e := e.(type) {
	case *parse.Literal:
		return literal(e)
	case *parse.Parameter:
		values, list := s.parameter(e)
		if list {
			refuse(e.Position, fmt.Sprintf(":%s is a list, but only one value can stand here", e.Name),
				"Write IN (:"+e.Name+")")
		}
		return values[0]
	case *parse.Column:
		return s.columnOf(e)
	case *parse.Unary:
		x := s.compile(e.X)
		if e.Op == "NOT" {
			return not(x)
		}
		return negate(x)
	case *parse.Binary:
		l, r := s.compile(e.L), s.compile(e.R)
		switch e.Op {
		case "OR", "AND", "XOR":
			return logic(e.Op, l, r)
		case "=", "<=>", "<>", "<", "<=", ">", ">=":
			return comparison(e.Op, l, r)
		}
		return arithmetic(e.Op, l, r)
	case *parse.Is:
		return is(s.compile(e.X), e.What, e.Not)
	case *parse.Like:
		return like(s.compile(e.X), s.compile(e.Pattern), s.escapeOf(e), e.Not)
	case *parse.Regexp:
		return matches(s.compile(e.X), s.compile(e.Pattern), e.Not)
	case *parse.In:
		return in(s.compile(e.X), s.listOf(e.List), e.Not)
	case *parse.Between:
		return between(s.compile(e.X), s.compile(e.Low), s.compile(e.High), e.Not)
	case *parse.Case:
		return s.compileCase(e)
	case *parse.Cast:
		return cast(e.Position, s.compile(e.X), e.Type)
	case *parse.Collate:
		return collate(e, s.compile(e.X))
	case *parse.Call:
		return s.call(e)
	}
	refuse(e.Pos(), fmt.Sprintf("an expression of type %T", e), "Remove it")
	return nil
}

func (s *Scope) compileAll(all []parse.Expr) []*Expr {
	compiled := make([]*Expr, len(all))
	for i, e := range all {
		compiled[i] = s.compile(e)
	}
	return compiled
}

// parameter returns the values of a parameter.
func (s *Scope) parameter(e *parse.Parameter) (all []*Expr, list bool) {
	if s.Parameters != nil {
		p, ok := s.Parameters(e.Name)
		for i, v := range p.Values {
			all = append(all, constant(v, p.Types[i]))
		}
		if ok {
			return all, p.List
		}
	}
	refuse(e.Position, "the report has no parameter "+e.Name, "Declare it in parameters")
	return nil, false
}

// listOf compiles the values of IN; a parameter that is a list is all of its values, and an empty one is NULL.
func (s *Scope) listOf(items []parse.Expr) []*Expr {
	var all []*Expr
	for _, item := range items {
		p, ok := item.(*parse.Parameter)
		if !ok {
			all = append(all, s.compile(item))
			continue
		}
		values, _ := s.parameter(p)
		all = append(all, values...)
	}
	if len(all) == 0 {
		all = append(all, constant(value.Value{}, value.Type{Kind: value.Null}))
	}
	return all
}

// columnOf returns the expression of a column.
func (s *Scope) columnOf(c *parse.Column) *Expr {
	i := s.find(c)
	if s.Grouped {
		refuse(c.Position, fmt.Sprintf("%s has no single value in a group", c.Name),
			fmt.Sprintf("Add it to GROUP BY, or write MIN(%s) or MAX(%s)", c.Name, c.Name))
	}
	return s.cell(i)
}

// Find returns the number of a column. The error is parse.Errors.
func (s *Scope) Find(c *parse.Column) (i int, err error) {
	defer parse.Catch(&err)
	return s.find(c), nil
}

func (s *Scope) find(c *parse.Column) int {
	is := isCalled
	if c.Table != "" && slices.ContainsFunc(s.Columns, func(other Column) bool { return other.Table == c.Table }) {
		is = func(table, name string) bool { return table == name } // it wins over the last part of another name
	}
	found := -1
	for i := range s.Columns {
		other := &s.Columns[i]
		if other.Name == "" || !strings.EqualFold(other.Name, c.Name) || c.Table == "" && other.Hidden ||
			c.Table != "" && !is(other.Table, c.Table) {
			continue // one without a name is computed
		}
		if found >= 0 {
			refuse(c.Position, fmt.Sprintf("several tables have the column %s", c.Name),
				fmt.Sprintf("Write %s.%s or %s.%s", s.Columns[found].Table, c.Name, other.Table, c.Name))
		}
		found = i
	}
	if found < 0 {
		s.refuseUnknown(c)
	}
	return found
}

// refuseUnknown says which part of a name nothing has.
func (s *Scope) refuseUnknown(c *parse.Column) {
	var names, tables []string
	for _, other := range s.Columns {
		if other.Any && (c.Table == "" || isCalled(other.Table, c.Table)) {
			panic(parse.Errors{}) // the table is the mistake
		}
		if other.Name != "" {
			tables = append(tables, other.Table)
			if c.Table == "" || isCalled(other.Table, c.Table) {
				names = append(names, other.Name)
			}
		}
	}
	if c.Table != "" && !slices.ContainsFunc(tables, func(t string) bool { return isCalled(t, c.Table) }) {
		refuse(c.Position, "the query has no table "+c.Table,
			report.DidYouMean(c.Table, slices.Compact(slices.Clone(tables))))
	}
	slices.Sort(names)
	refuse(c.Position, "no table has a column "+c.Name, report.DidYouMean(c.Name, slices.Compact(names)))
}

// isCalled tells whether a query can call a table by a name: its alias, or the last part of it.
func isCalled(table, name string) bool {
	return table == name || strings.HasSuffix(table, "."+name)
}

// literal returns the value of a constant.
func literal(e *parse.Literal) *Expr {
	text := []byte(e.Text)
	switch e.Kind {
	case parse.Null:
		return constant(value.Value{}, value.Type{Kind: value.Null})
	case parse.True, parse.False:
		return constant(value.OfBool(e.Kind == parse.True), value.Type{Kind: value.Integer})
	case parse.Integer:
		if v, err := value.Decode(text, value.Type{Kind: value.Integer}); err == nil {
			return constant(v, value.Type{Kind: value.Integer, Unsigned: v.Unsigned})
		}
		return decimalLiteral(e)
	case parse.Decimal:
		return decimalLiteral(e)
	case parse.Float:
		v, err := value.Decode(text, value.Type{Kind: value.Double, Scale: value.Floating})
		if err != nil {
			refuse(e.Position, "the number is out of range", "Use a smaller exponent")
		}
		return constant(v, value.Type{Kind: value.Double, Scale: value.Floating})
	case parse.Hex:
		return constant(value.Value{Kind: value.Binary, Bytes: text}, value.Type{Kind: value.Binary})
	case parse.HexNumber:
		return constant(value.Value{Kind: value.Binary, Unsigned: true, Bytes: text},
			value.Type{Kind: value.Binary, Unsigned: true})
	case parse.Date, parse.Time, parse.Datetime:
		kind := map[parse.LiteralKind]value.Kind{parse.Date: value.Date, parse.Time: value.Time,
			parse.Datetime: value.Datetime}[e.Kind]
		v, ok := value.ParseTemporal(text, kind)
		if !ok {
			refuse(e.Position, fmt.Sprintf("not a valid %s: %q", kind, report.Shorten(e.Text)),
				"Write DATE '2024-02-29', TIME '10:00:00' or TIMESTAMP '2024-02-29 10:00:00'")
		}
		return constant(v, value.Type{Kind: kind, Scale: fractionOf(e.Text)})
	}
	return constant(value.OfText(text), value.Type{Kind: value.Text})
}

// fractionOf returns the number of digits after the point.
func fractionOf(text string) int {
	if at := strings.LastIndexByte(text, '.'); at >= 0 {
		return min(len(text)-at-1, 6)
	}
	return 0
}

func decimalLiteral(e *parse.Literal) *Expr {
	d, ok := value.ParseDec([]byte(e.Text))
	if !ok || d.Digits() > 65 {
		refuse(e.Position, "the number has more than 65 digits", "Write it with an exponent, as a double")
	}
	return constant(value.OfDec(d), value.Type{Kind: value.Decimal, Scale: d.Scale})
}

// apply returns an expression that computes its value from those of others.
func apply(t value.Type, args []*Expr, f func(args []value.Value) (value.Value, error)) *Expr {
	return applied(t, args, false, f)
}

func applied(t value.Type, args []*Expr, strict bool, f func(args []value.Value) (value.Value, error)) *Expr {
	values := make([]value.Value, len(args))
	all := true
	for _, a := range args {
		all = all && a.constant
	}
	e := &Expr{Type: t, constant: all}
	e.eval = func(row [][]byte) (value.Value, error) {
		for i, a := range args {
			v, err := a.eval(row)
			if err != nil || strict && v.IsNull() {
				return value.Value{}, err
			}
			values[i] = v
		}
		v, err := f(values)
		if err != nil {
			err = parse.FailedAt(e.at, err)
		}
		return v, err
	}
	if !all || len(args) == 0 {
		return e
	}
	if v, err := e.eval(nil); err == nil { // a constant is computed once
		return constant(v, t)
	}
	return e
}

// strict is apply with NULL if an argument is NULL. Those after it are not computed.
func strict(t value.Type, args []*Expr, f func(args []value.Value) (value.Value, error)) *Expr {
	return applied(t, args, true, f)
}

// textOf returns the text of a value of an expression.
func textOf(v value.Value, e *Expr) []byte {
	if v.Kind.IsText() {
		return v.Bytes
	}
	return v.AppendText(nil, e.Type)
}

// Converted returns a column of the rows as a value of another type, which Unify returned for it.
func (s *Scope) Converted(column int, t value.Type) *Expr {
	from := zoned(s.cell(column), &Expr{Type: t})[0]
	if from.Type == t {
		return from
	}
	return &Expr{Type: t, eval: func(row [][]byte) (value.Value, error) {
		v, err := from.eval(row)
		return Convert(v, from.Type, t), err
	}}
}

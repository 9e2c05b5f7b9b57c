package expr

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
)

// Aggregate is an aggregate function over the rows of a group.
type Aggregate struct {
	Type value.Type
	// New returns the states of no groups. They share its arguments, so that one goroutine uses all of them.
	New func() States
}

// States are an aggregate of the rows of some groups. They are used by one goroutine at a time.
//
// A state is what they know of a group: some bytes, all zero before the first row. What does not fit is held beside it.
type States interface {
	// Bytes returns the size of a state.
	Bytes() int
	// Add adds a row to a state. The row is valid until it returns. It returns the bytes, about, that it has begun to
	// hold beside the state.
	Add(state []byte, row [][]byte) (held int, err error)
	// Value returns the result. Several goroutines can call it for different states, once for each.
	Value(state []byte) (value.Value, error)
}

// aggregates are all aggregates, with the number of their arguments.
var aggregates = map[string]func(s *Scope, c *parse.Call, args []*Expr) *Aggregate{
	"COUNT": countOf, "SUM": sumOf, "AVG": averageOf, "GROUP_CONCAT": groupConcat,
	"MIN": func(_ *Scope, _ *parse.Call, args []*Expr) *Aggregate { return extremeOf(args[0], -1) },
	"MAX": func(_ *Scope, _ *parse.Call, args []*Expr) *Aggregate { return extremeOf(args[0], 1) },
}

func aggregateNames() []string {
	return []string{"AVG", "COUNT", "GROUP_CONCAT", "MAX", "MIN", "SUM"}
}

// IsAggregate tells whether a function is one over many rows.
func IsAggregate(c *parse.Call) bool { return slices.Contains(aggregateNames(), c.Name) }

// CompileAggregate prepares an aggregate. The error is parse.Errors.
func CompileAggregate(c *parse.Call, s *Scope) (a *Aggregate, err error) {
	return wholly(s, func(s *Scope) *Aggregate { return aggregate(s, c) })
}

func aggregate(s *Scope, c *parse.Call) *Aggregate {
	args := s.compileAll(c.Args)
	switch {
	case c.Star && c.Name != "COUNT":
		refuse(c.Position, c.Name+"(*)", "Write "+c.Name+"(column)")
	case len(args) == 0 && !c.Star:
		refuse(c.Position, c.Name+" without arguments", "Write "+c.Name+"(column)")
	case len(args) > 1 && c.Name != "GROUP_CONCAT" && (c.Name != "COUNT" || !c.Distinct):
		refuse(c.Position, fmt.Sprintf("%s with %d arguments", c.Name, len(args)), "It takes one")
	case (c.OrderBy != nil || c.Separator != nil) && c.Name != "GROUP_CONCAT":
		refuse(c.Position, c.Name+" has no order and no separator", "Remove it")
	}
	a := aggregates[c.Name](s, c, args)
	if c.Distinct && c.Name != "GROUP_CONCAT" {
		a = distinct(a, args)
	}
	return a
}

// distinct gives an aggregate every combination of values once.
func distinct(a *Aggregate, args []*Expr) *Aggregate {
	return &Aggregate{a.Type, func() States { return &Distinct{States: a.New(), args: args} }}
}

// countOf counts rows, or those in which no argument is NULL.
func countOf(_ *Scope, _ *parse.Call, args []*Expr) *Aggregate {
	return &Aggregate{integer, func() States { return counts{args} }}
}

// sumOf adds decimals exactly, or doubles in the order of the rows.
func sumOf(_ *Scope, _ *parse.Call, args []*Expr) *Aggregate {
	return summing(args[0], sumType(args[0].Type), func(sum value.Value, _ int64) (value.Value, error) {
		return sum, nil
	})
}

// sumType is the type of a sum.
func sumType(t value.Type) value.Type {
	switch numberKind(t) {
	case value.Integer:
		return value.Type{Kind: value.Decimal}
	case value.Decimal:
		return value.Type{Kind: value.Decimal, Scale: scaleOf(t)}
	}
	if t.Kind == value.Double {
		return value.Type{Kind: value.Double, Scale: t.Scale}
	}
	return double
}

func averageOf(_ *Scope, c *parse.Call, args []*Expr) *Aggregate {
	t := sumType(args[0].Type)
	if t.Scale != value.Floating {
		t.Scale += divisionDigits
		if t.Kind == value.Decimal {
			t.Scale = min(t.Scale, maxScale)
		}
	}
	return summing(args[0], t, func(sum value.Value, n int64) (value.Value, error) {
		if sum.Kind == value.Double {
			return value.OfFloat(sum.Float / float64(n)), nil
		}
		v, err := decs("/", sum.Dec, value.DecOf(n), t.Scale)
		return v, parse.FailedAt(c.Position, err)
	})
}

// summing returns the aggregate of a sum. result makes its value of the sum of some values, and their number.
func summing(
	x *Expr, t value.Type, result func(sum value.Value, n int64) (value.Value, error),
) *Aggregate {
	if t.Kind == value.Double {
		return &Aggregate{t, func() States { return floatSums{x, result} }}
	}
	return &Aggregate{t, func() States { return &sums{x: x, result: result} }}
}

// extremeOf is MIN or MAX.
func extremeOf(x *Expr, want int) *Aggregate {
	collationOf(x)
	return &Aggregate{x.Type, func() States { return &extremes{x: x, want: want} }}
}

// maxConcat is the maximum size of a GROUP_CONCAT, as group_concat_max_len of MariaDB. A larger one is an error: a
// fold never cuts a text.
const maxConcat = 1 << 20

// groupConcat joins the texts of the rows of a group.
func groupConcat(s *Scope, c *parse.Call, args []*Expr) *Aggregate {
	separator := ","
	if c.Separator != nil {
		separator = *c.Separator
	}
	var orders []*Expr
	var desc []bool
	for _, o := range c.OrderBy {
		orders, desc = append(orders, s.concatOrder(o.X, args)), append(desc, o.Desc)
	}
	if c.Distinct && orders == nil { // as MariaDB, which finds them with a tree
		orders, desc = args, make([]bool, len(args))
	}
	t := typeOfText(args...)
	return &Aggregate{t, func() States {
		return &concats{at: c.Position, t: t, args: args, orders: orders, desc: desc, separator: separator,
			distinct: c.Distinct}
	}}
}

// concatOrder compiles a part of the order of a GROUP_CONCAT. A number is that of an argument.
func (s *Scope) concatOrder(x parse.Expr, args []*Expr) *Expr {
	l, ok := x.(*parse.Literal)
	if !ok || l.Kind != parse.Integer {
		return s.compile(x)
	}
	n, err := strconv.Atoi(l.Text)
	if err != nil || n < 1 || n > len(args) {
		refuse(l.Position, "GROUP_CONCAT has no argument "+l.Text,
			fmt.Sprintf("Write a number from 1 to %d, or a column", len(args)))
	}
	return args[n-1]
}

// AppendOrder appends a key by which values are sorted.
func AppendOrder(dst []byte, v value.Value, desc bool) []byte {
	start := len(dst)
	if dst = v.AppendKey(dst); desc {
		value.Invert(dst[start:])
	}
	return dst
}

// Aggregates returns the aggregates in an expression, by parse.Canonical.
func Aggregates(e parse.Expr, into map[string]*parse.Call) {
	if c, ok := e.(*parse.Call); ok && IsAggregate(c) {
		into[parse.Canonical(c)] = c
		return
	}
	for _, x := range parse.Children(e) {
		Aggregates(x, into)
	}
}

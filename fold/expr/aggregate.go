package expr

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
)

// Aggregate is an aggregate function over the rows of a group.
type Aggregate struct {
	Type value.Type
	// New returns the state of a group without rows.
	New func() State
}

// State is an aggregate of the rows of a group so far.
type State interface {
	// Add adds a row, which is valid until it returns.
	Add(row [][]byte) error
	// Value returns the result.
	Value() (value.Value, error)
	// Size returns the bytes that the state holds, about.
	Size() int
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
	return &Aggregate{a.Type, func() State {
		return &Distinct{State: a.New(), args: args, seen: map[string]struct{}{}}
	}}
}

// Distinct is a State that takes every combination of values once.
type Distinct struct {
	State
	args []*Expr
	seen map[string]struct{}
	key  []byte
	size int
}

// Add implements State.
func (d *Distinct) Add(row [][]byte) error {
	return d.AddKnown(row, func(value []byte) error {
		d.seen[string(value)] = struct{}{}
		d.size += len(value) + 32
		return d.State.Add(row)
	})
}

// AddKnown adds a row. Values that it has not seen are passed to other instead.
func (d *Distinct) AddKnown(row [][]byte, other func(value []byte) error) error {
	d.key = d.key[:0]
	for _, e := range d.args {
		v, err := e.Eval(row)
		if err != nil || v.IsNull() {
			return err
		}
		d.key = v.AppendKey(d.key)
	}
	if _, seen := d.seen[string(d.key)]; seen {
		return nil
	}
	return other(d.key)
}

// Size implements State.
func (d *Distinct) Size() int { return d.size + d.State.Size() }

// countOf counts rows, or those in which no argument is NULL.
func countOf(_ *Scope, _ *parse.Call, args []*Expr) *Aggregate {
	return &Aggregate{integer, func() State { return &countState{args: args} }}
}

type countState struct {
	args []*Expr
	n    int64
}

func (c *countState) Add(row [][]byte) error {
	for _, e := range c.args {
		if v, err := e.Eval(row); err != nil || v.IsNull() {
			return err
		}
	}
	c.n++
	return nil
}

func (c *countState) Value() (value.Value, error) { return value.OfInt(c.n), nil }
func (c *countState) Size() int                   { return 32 }

// sumOf adds decimals exactly, or doubles in the order of the rows.
func sumOf(_ *Scope, _ *parse.Call, args []*Expr) *Aggregate {
	return summing(args[0], sumType(args[0].Type), func(s *sumState) (value.Value, error) { return s.sum, nil })
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
	return summing(args[0], t, func(s *sumState) (value.Value, error) {
		switch {
		case s.n == 0:
			return value.Value{}, nil
		case s.sum.Kind == value.Double:
			return value.OfFloat(s.sum.Float / float64(s.n)), nil
		}
		v, err := decs("/", s.sum.Dec, value.DecOf(s.n), t.Scale)
		return v, parse.FailedAt(c.Position, err)
	})
}

func summing(x *Expr, t value.Type, result func(s *sumState) (value.Value, error)) *Aggregate {
	return &Aggregate{t, func() State { return &sumState{x: x, double: t.Kind == value.Double, result: result} }}
}

type sumState struct {
	x      *Expr
	double bool
	n      int64
	sum    value.Value // NULL before the first value
	result func(s *sumState) (value.Value, error)
}

func (s *sumState) Add(row [][]byte) error {
	v, err := s.x.eval(row)
	if err != nil || v.IsNull() {
		return err
	}
	s.n++
	switch {
	case s.double:
		s.sum = value.OfFloat(s.sum.Float + v.ToFloat())
	case s.sum.IsNull():
		s.sum = value.OfDec(v.ToDec())
	default:
		s.sum.Dec = s.sum.Dec.Add(v.ToDec())
	}
	return nil
}

func (s *sumState) Value() (value.Value, error) { return s.result(s) }
func (s *sumState) Size() int                   { return 160 }

// extremeOf is MIN or MAX.
func extremeOf(x *Expr, want int) *Aggregate {
	collationOf(x)
	return &Aggregate{x.Type, func() State { return &extremeState{x: x, want: want} }}
}

type extremeState struct {
	x    *Expr
	want int
	best value.Value
}

func (e *extremeState) Add(row [][]byte) error {
	v, err := e.x.Eval(row)
	if err != nil || v.IsNull() {
		return err
	}
	if e.best.IsNull() || value.Compare(v, e.best) == e.want {
		e.best = v
		e.best.Bytes = bytes.Clone(v.Bytes)
	}
	return nil
}

func (e *extremeState) Value() (value.Value, error) { return e.best, nil }
func (e *extremeState) Size() int                   { return 160 + len(e.best.Bytes) }

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
	return &Aggregate{t, func() State {
		return &concatState{at: c.Position, t: t, args: args, orders: orders, desc: desc, separator: separator,
			distinct: c.Distinct, seen: map[string]struct{}{}}
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

type concatState struct {
	at           parse.Position
	t            value.Type
	args, orders []*Expr
	desc         []bool
	separator    string
	distinct     bool
	seen         map[string]struct{}
	parts        []concatPart
	length       int // of the text
	held         int // bytes
}

type concatPart struct{ key, text []byte }

func (c *concatState) Add(row [][]byte) error {
	var p concatPart
	var key []byte
	for _, e := range c.args {
		v, err := e.Eval(row)
		if err != nil || v.IsNull() {
			return err
		}
		p.text = append(p.text, textOf(v, e)...)
		if c.distinct {
			key = v.AppendKey(key)
		}
	}
	if c.distinct {
		if _, seen := c.seen[string(key)]; seen {
			return nil
		}
		c.seen[string(key)] = struct{}{}
	}
	for i, e := range c.orders {
		v, err := e.Eval(row)
		if err != nil {
			return err
		}
		p.key = AppendOrder(p.key, v, c.desc[i])
	}
	if len(c.parts) > 0 {
		c.length += len(c.separator)
	}
	c.held += len(p.text) + len(p.key) + 2*len(key) + 128
	if c.length += len(p.text); c.length > maxConcat {
		return parse.FailedAt(c.at, fmt.Errorf(
			"a GROUP_CONCAT is larger than %d bytes: concatenate less, or group by more columns", maxConcat))
	}
	c.parts = append(c.parts, p)
	return nil
}

func (c *concatState) Value() (value.Value, error) {
	if len(c.parts) == 0 {
		return value.Value{}, nil
	}
	slices.SortStableFunc(c.parts, func(a, b concatPart) int { return bytes.Compare(a.key, b.key) })
	texts := make([][]byte, len(c.parts))
	for i, p := range c.parts {
		texts[i] = p.text
	}
	return value.Value{Kind: c.t.Kind, Bytes: bytes.Join(texts, []byte(c.separator))}, nil
}

func (c *concatState) Size() int { return 128 + c.held + c.length }

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

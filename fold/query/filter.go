package query

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold/fold/expr"
	"github.com/fanfold/fanfold/fold/parse"
)

// Filter is a condition that no row fulfils if a listener has no rows.
type Filter struct {
	parse.Position        // of Column
	Column         string // NULL then; as the condition writes it, with its table if USING has it
	Zero           bool   // Column is a COUNT, or the column of one, and is 0 then, not NULL
	Joins          bool   // it is in an INNER JOIN
}

// FilterOf returns the first condition of a query that no row fulfils if a listener has no rows, so that its columns
// are NULL, and COUNT of them is 0. columns are those of all listeners. Names must be valid. What can be true with
// NULL, such as IS NULL and COALESCE, is no such condition, and neither is one of which this is not certain.
func FilterOf(q *parse.Query, listener string, columns map[string][]string) (f Filter, ok bool) {
	a := &absence{listener: listener, columns: columns}
	a.query(q)
	return a.found, a.found.Line > 0
}

// absence looks for what is NULL without a listener.
type absence struct {
	listener string
	columns  map[string][]string // by listener
	found    Filter
}

// state is what is known of a column without a listener.
type state int

const (
	open state = iota // any value
	null
	zero // or NULL, after an outer join
)

// output is a column of a query.
type output struct {
	name string
	is   state
}

// query returns the columns of a query. What is known of those of a UNION is known in all its SELECTs.
func (a *absence) query(q *parse.Query) (columns []output) {
	for i := range q.Selects {
		s, next := &q.Selects[i], []output(nil)
		if s.Sub != nil {
			next = a.query(s.Sub)
		} else {
			next = a.selection(s)
		}
		if i == 0 {
			columns = next
		}
		for k := range columns {
			if k >= len(next) || next[k].is != columns[k].is {
				columns[k].is = open
			}
		}
	}
	return columns
}

// selection returns the columns of a SELECT.
func (a *absence) selection(s *parse.Select) (columns []output) {
	steps := maxSteps
	n := &nulls{groupBy: s.GroupBy, steps: &steps}
	n.add(a, s.From, isOuter(s, -1))
	for i, j := range s.Joins {
		left := len(n.states)
		n.add(a, j.Table, isOuter(s, i))
		on := n.on(j, left)
		f, never := n.filter(on)
		switch {
		case never && j.Kind == parse.Inner:
			f.Joins = true
			a.keep(f)
		case never && j.Kind == parse.Left:
			n.setNull(left, len(n.states))
		case never && j.Kind == parse.Right:
			n.setNull(0, left)
		}
	}
	if f, never := n.filter(s.Where); never {
		a.keep(f)
	}
	for _, item := range s.Items {
		if item.Star {
			columns = append(columns, n.star(item.Table)...)
		} else {
			columns = append(columns, output{item.Name, n.state(item.X)})
		}
	}
	n.items = s.Items
	if f, never := n.filter(s.Having); never {
		a.keep(f)
	}
	return columns
}

// keep keeps the first condition.
func (a *absence) keep(f Filter) {
	if a.found.Line == 0 {
		a.found = f
	}
}

// nulls are the columns of the tables of a SELECT, and what is known of them.
type nulls struct {
	scope   expr.Scope
	states  []state      // by column of scope
	using   []string     // the names of the columns of USING
	items   []parse.Item // whose aliases a condition can use; nil: none
	groupBy []parse.Expr
	steps   *int // left to find which branches a row can take
}

// add adds the columns of a table. Those of one that is outer are NULL if it has no rows.
func (n *nulls) add(a *absence, t parse.Table, outer bool) {
	var columns []output
	if t.Sub != nil {
		columns = a.query(t.Sub)
	} else {
		for _, name := range a.columns[t.Name] {
			columns = append(columns, output{name: name})
		}
	}
	from := len(n.states)
	for _, c := range columns {
		n.scope.Columns = append(n.scope.Columns, expr.Column{Table: t.Alias, Name: c.name})
		n.states = append(n.states, c.is)
	}
	if outer && vanishes(t, a.listener) {
		n.setNull(from, len(n.states))
	}
}

// setNull makes a range of columns NULL.
func (n *nulls) setNull(from, to int) {
	for i := from; i < to; i++ {
		n.states[i] = null
	}
}

// on returns the condition of a join whose table has the columns from one on, and hides one of two that USING joins.
func (n *nulls) on(j parse.Join, from int) parse.Expr {
	on := j.On
	for _, c := range j.Using {
		left := expr.Scope{Columns: n.scope.Columns[:from]}
		right := expr.Scope{Columns: n.scope.Columns[from:]}
		l, errLeft := left.Find(&c)
		r, errRight := right.Find(&c)
		if errLeft != nil || errRight != nil {
			continue
		}
		n.using = append(n.using, c.Name)
		equal := &parse.Binary{Position: c.Position, Op: "=",
			L: &parse.Column{Position: c.Position, Table: left.Columns[l].Table, Name: c.Name},
			R: &parse.Column{Position: c.Position, Table: j.Table.Alias, Name: c.Name}}
		if on == nil {
			on = equal
		} else {
			on = &parse.Binary{Position: c.Position, Op: "AND", L: on, R: equal}
		}
		if j.Kind == parse.Right {
			left.Columns[l].Hidden = true
		} else {
			right.Columns[r].Hidden = true
		}
	}
	return on
}

// star returns the columns of *, or of table.*, as naming.expandItems orders them.
func (n *nulls) star(table string) (columns []output) {
	for _, ofUsing := range []bool{true, false} {
		for i, c := range n.scope.Columns {
			used := slices.ContainsFunc(n.using, func(name string) bool { return strings.EqualFold(name, c.Name) })
			is := used == ofUsing && !c.Hidden
			if table != "" {
				is = !ofUsing && (c.Table == table || strings.HasSuffix(c.Table, "."+table))
			}
			if is {
				columns = append(columns, output{c.Name, n.states[i]})
			}
		}
	}
	return columns
}

// filter returns the first conjunct that is never true because of a column that is NULL or 0.
func (n *nulls) filter(condition parse.Expr) (f Filter, ok bool) {
	for _, c := range conjuncts(condition) {
		if n.never(c, true) {
			if f, ok = n.cause(c); ok {
				return f, true
			}
		}
	}
	return f, false
}

// cause returns the first column in a condition that is NULL, or the first COUNT that is 0.
func (n *nulls) cause(e parse.Expr) (f Filter, ok bool) {
	is := n.state(e)
	if _, isColumn := e.(*parse.Column); isColumn && is != open || is == zero {
		return Filter{Position: e.Pos(), Column: parse.Short(e), Zero: is == zero}, true
	}
	for _, x := range parse.Children(e) {
		if f, ok = n.cause(x); ok {
			break
		}
	}
	return f, ok
}

// column returns what is known of a column. One of GROUP BY wins over an alias.
func (n *nulls) column(c *parse.Column) state {
	at, err := n.scope.Find(c)
	isGrouped := func(e parse.Expr) bool {
		g, ok := e.(*parse.Column)
		if !ok || err != nil {
			return false
		}
		other, wrong := n.scope.Find(g)
		return wrong == nil && other == at
	}
	is := func(item parse.Item) bool { return strings.EqualFold(item.Name, c.Name) }
	i := slices.IndexFunc(n.items, is)
	switch {
	case c.Table == "" && i >= 0 && !slices.ContainsFunc(n.groupBy, isGrouped):
		return n.withoutAliases().state(n.items[i].X)
	case err != nil:
		return open
	}
	return n.states[at]
}

// withoutAliases is for what cannot use them: the items, and the arguments of aggregates.
func (n *nulls) withoutAliases() *nulls {
	without := *n
	without.items = nil
	return &without
}

// state returns what is known of an expression.
func (n *nulls) state(e parse.Expr) state {
	c, isColumn := e.(*parse.Column)
	switch {
	case isColumn:
		return n.column(c)
	case n.isNull(e):
		return null
	case n.isCountOfNull(e):
		return zero
	}
	return open
}

// isCountOfNull tells whether an expression is a COUNT that counts no row, because an argument is NULL.
func (n *nulls) isCountOfNull(e parse.Expr) bool {
	c, ok := e.(*parse.Call)
	return ok && c.Name == "COUNT" && slices.ContainsFunc(c.Args, n.withoutAliases().isNull)
}

// isNull tells whether an expression is certainly NULL.
func (n *nulls) isNull(e parse.Expr) bool {
	switch e := e.(type) {
	case *parse.Literal:
		return e.Kind == parse.Null
	case *parse.Column:
		return n.column(e) == null
	case *parse.Binary:
		switch e.Op {
		case "AND", "OR":
			return n.isNull(e.L) && n.isNull(e.R)
		case "<=>":
			return false
		}
		return n.isNull(e.L) || n.isNull(e.R)
	case *parse.Unary, *parse.Like, *parse.Regexp, *parse.Cast, *parse.Collate:
		return slices.ContainsFunc(parse.Children(e), n.isNull)
	case *parse.In:
		return n.isNull(anyOf(e))
	case *parse.Between:
		return n.isNull(bothOf(e))
	case *parse.Call, *parse.Case:
		if results, ok := (branches{n}).results(e); ok {
			return len(results) == 0
		} else if c, isCall := e.(*parse.Call); isCall {
			return n.call(c)
		}
	}
	return false
}

// call tells whether the result of a function is certainly NULL.
func (n *nulls) call(c *parse.Call) bool {
	if expr.IsAggregate(c) {
		n = n.withoutAliases()
	}
	switch c.Name {
	case "COUNT", "ISNULL", "CONCAT_WS":
		return false
	case "NULLIF":
		return len(c.Args) > 0 && n.isNull(c.Args[0]) // or else it is refused elsewhere
	}
	return slices.ContainsFunc(c.Args, n.isNull)
}

// never tells whether a condition is certainly never true, or with want false never false.
func (n *nulls) never(e parse.Expr, want bool) bool {
	if n.isNull(e) {
		return true
	}
	if all := (branches{n}).constants(e); all != nil {
		return !slices.ContainsFunc(all, func(c parse.Expr) bool { return canBe(c, want) })
	}
	if results, ok := (branches{n}).results(e); ok {
		return !slices.ContainsFunc(results, func(x parse.Expr) bool { return !n.never(x, want) })
	}
	switch e := e.(type) {
	case *parse.Unary:
		return e.Op == "NOT" && n.never(e.X, !want)
	case *parse.Is:
		if n.isNull(e.X) {
			return (e.What == parse.Null) != e.Not != want
		} // or else it is certain only that X is not what it would have to be
		return e.What != parse.Null && e.Not != want && n.never(e.X, e.What == parse.True)
	case *parse.In:
		return n.never(anyOf(e), want != e.Not)
	case *parse.Between:
		both := bothOf(e)
		if !(branches{n}).areAlike(parse.Children(e)) {
			l, r := n.isNull(both.L), n.isNull(both.R)
			return l && r || want != e.Not && (l || r)
		}
		return n.never(both, want != e.Not)
	case *parse.Binary:
		switch {
		case e.Op != "AND" && e.Op != "OR":
			return false
		case (e.Op == "AND") == want: // one side is enough
			return n.never(e.L, want) || n.never(e.R, want)
		}
		return n.never(e.L, want) && n.never(e.R, want)
	}
	return false
}

// anyOf returns the comparisons of X IN (List), with OR between them.
func anyOf(in *parse.In) (all parse.Expr) {
	for _, x := range in.List {
		equal := &parse.Binary{Position: in.Position, Op: "=", L: in.X, R: x}
		if all == nil {
			all = equal
		} else {
			all = &parse.Binary{Position: in.Position, Op: "OR", L: all, R: equal}
		}
	}
	return all
}

// bothOf returns the comparisons of X BETWEEN Low AND High.
func bothOf(b *parse.Between) *parse.Binary {
	return &parse.Binary{Position: b.Position, Op: "AND",
		L: &parse.Binary{Position: b.Position, Op: ">=", L: b.X, R: b.Low},
		R: &parse.Binary{Position: b.Position, Op: "<=", L: b.X, R: b.High}}
}

// constant returns an expression without columns that an expression is equal to, unless it is NULL; nil: none. Its
// texts have a collation.
func (n *nulls) constant(e parse.Expr, collation string) parse.Expr {
	if n.state(e) == zero {
		return &parse.Literal{Position: e.Pos(), Kind: parse.Integer, Text: "0"}
	}
	switch e := e.(type) {
	case *parse.Literal:
		if e.Kind == parse.String {
			return &parse.Collate{Position: e.Position, X: e, Name: collation}
		}
		return e
	case *parse.Like:
		x, pattern := n.constant(e.X, collation), n.constant(e.Pattern, collation)
		if x != nil && pattern != nil && e.Escape == nil {
			return &parse.Like{Position: e.Position, X: x, Pattern: pattern, Not: e.Not}
		}
	case *parse.Unary:
		if x := n.constant(e.X, collation); x != nil {
			return &parse.Unary{Position: e.Position, Op: e.Op, X: x}
		}
	case *parse.Binary:
		if e.Op == "AND" || e.Op == "OR" || e.Op == "<=>" { // their result can be another one with NULL
			return nil
		}
		if l, r := n.constant(e.L, collation), n.constant(e.R, collation); l != nil && r != nil {
			return &parse.Binary{Position: e.Position, Op: e.Op, L: l, R: r}
		}
	}
	return nil
}

// canBe tells whether a constant is true, or with want false whether it is false. It does not rule out one that fails.
func canBe(constant parse.Expr, want bool) bool {
	x, err := expr.Compile(constant, &expr.Scope{})
	if err != nil {
		return true
	}
	v, err := x.Eval(nil)
	truth, known := v.Truth()
	return err != nil || known && truth == want
}

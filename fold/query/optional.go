package query

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold/fold/expr"
	"github.com/fanfold/fanfold/fold/parse"
)

// Required returns where a query reads listeners whose rows decide which rows it has: those that are not the right
// side of a LEFT JOIN, the left side of a RIGHT JOIN that comes first, or a side of a FULL JOIN. A query on such a side
// is as its listener if it has no rows without it.
func Required(q *parse.Query, found map[string]parse.Position) {
	table := func(t parse.Table, outer bool) {
		switch {
		case t.Sub == nil && !outer:
			found[t.Name] = t.Position
		case t.Sub != nil:
			inside := map[string]parse.Position{}
			Required(t.Sub, inside)
			for name, place := range inside {
				if _, ok := vanishes(t, name, nil); !outer || !ok {
					found[name] = place
				}
			}
		}
	}
	for _, s := range q.Selects {
		if s.Sub != nil {
			Required(s.Sub, found)
			continue
		}
		table(s.From, isOuter(&s, -1))
		for i, j := range s.Joins {
			table(j.Table, isOuter(&s, i))
		}
	}
}

// isOuter tells whether a row without one of a table stays: of a join, or with -1 of FROM.
func isOuter(s *parse.Select, join int) bool {
	if join < 0 {
		return len(s.Joins) > 0 && s.Joins[0].Kind == parse.Right
	}
	return s.Joins[join].Kind == parse.Left || s.Joins[join].Kind == parse.Full
}

// vanishes tells whether a table certainly has no rows without a listener, which has the given columns, and returns the
// columns of the table.
func vanishes(t parse.Table, listener string, columns []string) (names []string, ok bool) {
	if t.Sub == nil {
		return columns, t.Name == listener
	}
	for i := len(t.Sub.Selects) - 1; i >= 0; i-- { // the first one names the columns
		if names, ok = selectsNone(&t.Sub.Selects[i], listener, columns); !ok {
			return nil, false
		}
	}
	return names, true
}

// selectsNone is vanishes for a SELECT. One that is too complex is not certain.
func selectsNone(s *parse.Select, listener string, columns []string) (names []string, ok bool) {
	if s.Sub != nil {
		return nil, false
	}
	aggregates := map[string]*parse.Call{}
	for _, item := range s.Items {
		switch {
		case !item.Star:
			expr.Aggregates(item.X, aggregates)
			names = append(names, item.Name)
		case s.From.Sub == nil && s.Joins == nil:
			names = append(names, columns...)
		default:
			return nil, false
		}
	}
	if s.Having != nil {
		expr.Aggregates(s.Having, aggregates)
	}
	_, none := vanishes(s.From, listener, columns)
	for _, j := range s.Joins {
		switch _, right := vanishes(j.Table, listener, columns); j.Kind {
		case parse.Inner:
			none = none || right
		case parse.Right:
			none = right
		case parse.Full:
			none = none && right
		}
	}
	return names, none && (s.GroupBy != nil || len(aggregates) == 0)
}

// Filter is a condition that no row fulfils if a listener has no rows.
type Filter struct {
	parse.Position        // of Column
	Column         string // of the listener's, as the condition writes it
	Joins          bool   // it is in the ON of an INNER JOIN
}

// FilterOf returns the first condition of a query that no row fulfils if a listener with the given columns has no
// rows, so that all of them are NULL. Names must be valid. What can be true with NULL, such as IS NULL and COALESCE, is
// no such condition, and neither is one of which this is not certain.
func FilterOf(q *parse.Query, listener string, columns []string) (f Filter, ok bool) {
	a := &absence{listener: listener, columns: columns}
	a.query(q)
	return a.found, a.found.Line > 0
}

// absence looks for what is NULL without a listener.
type absence struct {
	listener string
	columns  []string
	found    Filter
}

// query returns the columns of a query that are NULL then.
func (a *absence) query(q *parse.Query) (columns []string) {
	for i := range q.Selects {
		if s := &q.Selects[i]; s.Sub != nil {
			columns = a.query(s.Sub)
		} else {
			columns = a.selection(s)
		}
	}
	if len(q.Selects) > 1 {
		return nil // the other SELECTs may have rows
	}
	return columns
}

// selection returns the columns of a SELECT that are NULL then.
func (a *absence) selection(s *parse.Select) (columns []string) {
	n := &nulls{columns: map[string][]string{}}
	n.add(a, s.From, isOuter(s, -1))
	for i, j := range s.Joins {
		n.add(a, j.Table, isOuter(s, i))
		for _, c := range j.Using {
			n.using = append(n.using, c.Name)
		}
		if j.Kind == parse.Inner {
			a.check(n, j.On, true)
		}
	}
	a.check(n, s.Where, false)
	for _, item := range s.Items {
		if !item.Star && n.isNull(item.X) {
			columns = append(columns, item.Name)
		}
	}
	if s.Having != nil {
		n.items = s.Items
		a.check(n, s.Having, false)
	}
	return columns
}

// check keeps the first conjunct that is never true.
func (a *absence) check(n *nulls, condition parse.Expr, joins bool) {
	for _, c := range conjuncts(condition) {
		if a.found.Line > 0 || !n.never(c, true) {
			continue
		}
		parse.Columns(c, func(column *parse.Column) {
			if a.found.Column == "" && n.isNull(column) {
				a.found = Filter{column.Position, strings.TrimPrefix(column.Table+"."+column.Name, "."), joins}
			}
		})
	}
}

// nulls are the columns of the tables of a SELECT that are NULL.
type nulls struct {
	columns map[string][]string // by alias of the table
	using   []string            // the columns of USING, which are those of the left side
	items   []parse.Item        // whose aliases a condition can use; nil: none
}

func (n *nulls) add(a *absence, t parse.Table, outer bool) {
	switch {
	case t.Sub != nil:
		n.columns[t.Alias] = a.query(t.Sub)
		if names, ok := vanishes(t, a.listener, a.columns); ok && outer {
			n.columns[t.Alias] = names
		}
	case outer && t.Name == a.listener:
		n.columns[t.Alias] = a.columns
	}
}

// column tells whether a column is NULL.
func (n *nulls) column(c *parse.Column) bool {
	is := func(name string) bool { return strings.EqualFold(name, c.Name) }
	if i := slices.IndexFunc(n.items, func(item parse.Item) bool { return is(item.Name) }); c.Table == "" && i >= 0 {
		return (&nulls{n.columns, n.using, nil}).isNull(n.items[i].X)
	}
	if c.Table == "" && slices.ContainsFunc(n.using, is) {
		return false
	}
	for alias, columns := range n.columns {
		called := c.Table == "" || alias == c.Table || strings.HasSuffix(alias, "."+c.Table)
		if called && slices.ContainsFunc(columns, is) {
			return true
		}
	}
	return false
}

// isNull tells whether an expression is certainly NULL.
func (n *nulls) isNull(e parse.Expr) bool {
	switch e := e.(type) {
	case *parse.Column:
		return n.column(e)
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
		return n.isNull(e.X)
	case *parse.Between:
		return n.isNull(e.X)
	case *parse.Call:
		return n.call(e)
	}
	return false
}

// call tells whether the result of a function is certainly NULL.
func (n *nulls) call(c *parse.Call) bool {
	switch c.Name {
	case "COUNT", "IF", "ISNULL", "CONCAT_WS", "NVL2":
		return false
	case "COALESCE", "IFNULL", "NVL":
		return !slices.ContainsFunc(c.Args, func(x parse.Expr) bool { return !n.isNull(x) })
	case "NULLIF":
		return n.isNull(c.Args[0])
	}
	return slices.ContainsFunc(c.Args, n.isNull)
}

// never tells whether a condition is certainly never true, or with want false never false.
func (n *nulls) never(e parse.Expr, want bool) bool {
	if n.isNull(e) {
		return true
	}
	switch e := e.(type) {
	case *parse.Unary:
		return e.Op == "NOT" && n.never(e.X, !want)
	case *parse.Is:
		return n.isNull(e.X) && (e.What == parse.Null) != e.Not != want
	case *parse.Between:
		return want && !e.Not && (n.isNull(e.Low) || n.isNull(e.High))
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

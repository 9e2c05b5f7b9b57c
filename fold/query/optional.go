package query

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold/fold/parse"
)

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
	n.add(a, s.From, false)
	for _, j := range s.Joins {
		n.add(a, j.Table, j.Kind == parse.Left || j.Kind == parse.Full)
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
	case "COUNT", "IF", "ISNULL", "CONCAT_WS":
		return false
	case "COALESCE", "IFNULL":
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

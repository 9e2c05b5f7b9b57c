package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/fold/expr"
	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/fold/parse"
)

// selecting is a SELECT in the making.
type selecting struct {
	*planner
	*parse.Select
	orders []parse.Order
	scope  *expr.Scope
	tables []*source
	items  []parse.Item // without stars
	more   bool         // a star stands for columns that are not known, because of a mistake
	ready  *terms       // those of one goroutine; nil: not yet
	where  *step        // nil: no WHERE after the joins
}

// source is a table of FROM.
type source struct {
	*node
	alias string
	of    *table       // nil: a query
	from  int          // number of its first column
	join  *join        // nil: the first
	keep  []parse.Expr // conditions that need it alone
	step  *step
	table *op.Table // see tableOf; nil: no run has needed it
}

// selection plans a SELECT with its order and limit.
func (p *planner) selection(s *parse.Select, orders []parse.Order, limit *parse.Limit) *node {
	before := len(p.mistakes)
	b := &selecting{planner: p, Select: s, orders: orders, scope: &expr.Scope{Parameters: p.parameters}}
	b.addTable(s.From, nil)
	for i := range s.Joins {
		b.addTable(s.Joins[i].Table, &s.Joins[i])
	}
	naming{b}.expandItems()
	naming{b}.qualifyAll()
	if len(p.mistakes) == before {
		b.splitWhere()
	}
	for _, t := range b.tables[1:] {
		if len(p.mistakes) == before {
			b.try(func() { b.prepareJoin(t) })
		} else if t.join.On != nil {
			b.try(func() { must(expr.Compile(t.join.On, b.scope)) })
		}
	}
	if len(p.mistakes) == before {
		for _, t := range b.tables {
			b.explainTable(t)
		}
	}
	p.last = b
	return b.finish(limit)
}

// addTable adds a table, whose columns follow those before it.
func (b *selecting) addTable(t parse.Table, j *parse.Join) {
	s := &source{alias: t.Alias, from: len(b.scope.Columns)}
	if t.Sub != nil {
		b.depth++
		s.node = b.query(t.Sub)
		b.depth--
		columns := slices.Clone(s.columns)
		for i := range columns {
			columns[i].Table, columns[i].Hidden = t.Alias, false
		}
		s.node = &node{columns, s.last, s.run}
	} else {
		s.node, s.of = b.scan(t)
	}
	if slices.ContainsFunc(b.tables, func(other *source) bool { return other.alias == t.Alias }) {
		b.try(func() {
			refuse(t.Position, fmt.Sprintf("two tables are called %s", t.Alias), "Give one of them an alias: AS name")
		})
		s.node, s.of = unknown(t), nil
	}
	if j != nil {
		s.join = &join{Join: j}
		b.hideUsing(s)
	}
	b.scope.Columns = append(b.scope.Columns, s.columns...)
	b.tables = append(b.tables, s)
}

// hideUsing hides one of two columns that USING joins, and makes the conditions of USING those of ON.
func (b *selecting) hideUsing(s *source) {
	j := s.join.Join
	if j.Kind == parse.Full && j.Using != nil {
		b.try(func() {
			refuse(j.Position, "FULL JOIN … USING",
				"Write ON a.column = b.column, and COALESCE(a.column, b.column) in the SELECT")
		})
	}
	right := &expr.Scope{Columns: slices.Clone(s.columns)}
	for i := range j.Using {
		c, l, r := j.Using[i], 0, 0
		if !b.try(func() { l, r = must(b.scope.Find(&c)), must(right.Find(&c)) }) {
			continue
		}
		left := b.scope.Columns[l]
		equal := &parse.Binary{Position: c.Position, Op: "=",
			L: &parse.Column{Position: c.Position, Table: left.Table, Name: left.Name},
			R: &parse.Column{Position: c.Position, Table: s.alias, Name: c.Name}}
		if j.On == nil {
			j.On = equal
		} else {
			j.On = &parse.Binary{Position: c.Position, Op: "AND", L: j.On, R: equal}
		}
		if j.Kind == parse.Right {
			b.scope.Columns[l].Hidden = true
		} else {
			s.columns = slices.Clone(s.columns)
			s.columns[r].Hidden = true
		}
	}
}

// tableWith returns the number of the table with a column of the joined rows.
func (b *selecting) tableWith(column int) int {
	return slices.IndexFunc(b.tables, func(t *source) bool { return column < t.from+len(t.columns) })
}

// needs returns the numbers of the tables that an expression uses.
func (b *selecting) needs(e parse.Expr) []int {
	var all []int
	parse.Columns(e, func(c *parse.Column) {
		if n := b.tableWith(must(b.scope.Find(c))); !slices.Contains(all, n) {
			all = append(all, n)
		}
	})
	return all
}

// conjuncts splits a condition at its ANDs.
func conjuncts(e parse.Expr) []parse.Expr {
	if and, ok := e.(*parse.Binary); ok && and.Op == "AND" {
		return append(conjuncts(and.L), conjuncts(and.R)...)
	}
	if e == nil {
		return nil
	}
	return []parse.Expr{e}
}

// splitWhere moves the conditions that need one table to that table, if no join adds rows without it.
func (b *selecting) splitWhere() {
	var rest parse.Expr
	for _, c := range conjuncts(b.Where) {
		if needs := b.needs(c); len(needs) == 1 && b.canFilter(needs[0]) {
			t := b.tables[needs[0]]
			b.try(func() { must(expr.Compile(c, b.scopeOf(t))) })
			t.keep = append(t.keep, c)
			continue
		}
		rest = and(rest, c)
	}
	b.Where = rest
}

// and returns both conditions; the first one may be nil.
func and(a, b parse.Expr) parse.Expr {
	if a == nil {
		return b
	}
	return &parse.Binary{Position: b.Pos(), Op: "AND", L: a, R: b}
}

// canFilter tells whether a table can be filtered before the joins: no row has NULLs in its place.
func (b *selecting) canFilter(n int) bool {
	for i, t := range b.tables[1:] {
		kind := t.join.Kind
		if kind == parse.Full || kind == parse.Right && n <= i || kind == parse.Left && n == i+1 {
			return false
		}
	}
	return true
}

// filtered returns an output that passes on the rows that fulfil all conditions. A nil one is fulfilled.
func filtered(to op.Output, scope *expr.Scope, conditions ...parse.Expr) op.Output {
	conditions = slices.DeleteFunc(slices.Clone(conditions), func(e parse.Expr) bool { return e == nil })
	if len(conditions) == 0 {
		return to
	}
	return op.NewFilter(to, func() func(row op.Row) (bool, error) {
		all := compiled(scope, conditions...)
		return func(row op.Row) (bool, error) { return areTrue(all, row) }
	})
}

// compiled compiles expressions for one more goroutine. They have been compiled before.
func compiled(scope *expr.Scope, all ...parse.Expr) []*expr.Expr {
	exprs := make([]*expr.Expr, len(all))
	for i, e := range all {
		exprs[i] = must(expr.Compile(e, scope))
	}
	return exprs
}

func (b *selecting) explainTable(t *source) {
	name := t.alias
	if t.of != nil && t.of.listener != t.alias {
		name = t.of.listener + " as " + t.alias
	}
	text := "read " + name
	if t.join != nil {
		text = fmt.Sprintf("%s join %s on %s", strings.ToLower(string(t.join.Kind)), name, parse.Short(t.join.On))
	}
	if len(t.keep) > 0 {
		var all parse.Expr
		for _, c := range t.keep {
			all = and(all, c)
		}
		text += ", filtered by " + parse.Short(all)
	}
	if t.step = b.explain("%s", text); t.of == nil {
		t.step.from = []*step{t.last}
	}
}

// finish plans what follows the joins: WHERE, groups, HAVING, ORDER BY, the items, DISTINCT and LIMIT.
func (b *selecting) finish(limit *parse.Limit) *node {
	if b.Where != nil {
		b.try(func() { must(expr.Compile(b.Where, b.scope)) })
		before := b.lastStep()
		b.where = b.explain("filter by %s", parse.Short(b.Where))
		b.where.from = []*step{before}
	}
	g := b.grouping()
	scope := b.scope
	var groups, having, unique *step
	if g != nil {
		scope, groups = g.scope, g.step
	}
	if b.Having != nil {
		b.try(func() { must(expr.Compile(b.Having, scope)) })
		before := b.lastStep()
		having = b.explain("filter groups by %s", parse.Short(b.Having))
		having.from = []*step{before}
	}
	items, first, n := make([]parse.Expr, len(b.items)), make([]*expr.Expr, len(b.items)), &node{}
	n.columns = make([]expr.Column, len(b.items))
	for i, item := range b.items {
		compile := expr.Compile
		if b.Distinct {
			compile = expr.CompileKey
		}
		items[i], n.columns[i] = item.X, expr.Column{Name: item.Name}
		if b.try(func() { first[i] = must(compile(item.X, scope)) }) {
			n.columns[i].Type = first[i].Type
			if of := first[i].Columns(); len(of) == 1 {
				n.columns[i].Digits = scope.Columns[of[0]].Digits
			}
		} else if c, is := item.X.(*parse.Column); is && c.Name == item.Name { // its name may be the mistake
			b.more = true
		}
	}
	if b.more {
		n.columns = append(n.columns, expr.Column{Any: true})
	}
	for _, o := range b.orders {
		b.try(func() { must(expr.CompileKey(o.X, scope)) })
	}
	keys := func() (keys []*expr.Expr) {
		for _, o := range b.orders {
			keys = append(keys, must(expr.CompileKey(o.X, scope)))
		}
		return keys
	}
	if b.Distinct {
		unique = b.explain("distinct")
		keys = func() []*expr.Expr { return b.orderOfItems(n) }
		b.try(func() { keys() })
	}
	end := b.explainEnd(b.orders, limit)
	n.last = b.lastStep()
	n.run = func(m *op.Memory, to op.Output) error {
		unused := first
		to = end.limited(to)
		if b.Distinct {
			to = unique.by(distinct(m, unique.to(end.sorted(m, to, b.orders, keys)), n.columns))
		}
		to = op.NewProject(to, len(items), func() func(into, row op.Row) error {
			all := unused
			if unused = nil; all == nil {
				all = compiled(scope, items...)
			}
			return cells(all)
		})
		if !b.Distinct {
			to = end.sorted(m, to, b.orders, keys)
		}
		if to = having.by(filtered(to, scope, b.Having)); g != nil {
			to = groups.by(g.output(m, groups.to(to)))
		}
		return joined{b}.run(m, to)
	}
	return n
}

// sameText tells whether two expressions mean the same.
func sameText(a, b parse.Expr) bool { return parse.Canonical(a) == parse.Canonical(b) }

// orderOfItems returns the order of a SELECT DISTINCT, whose rows have the items alone.
func (b *selecting) orderOfItems(n *node) []*expr.Expr {
	scope := &expr.Scope{Columns: n.columns}
	var keys []*expr.Expr
	for _, o := range b.orders {
		i := slices.IndexFunc(b.items, func(item parse.Item) bool { return sameText(item.X, o.X) })
		if i < 0 {
			refuse(o.X.Pos(), "a SELECT DISTINCT is ordered by something that it does not select",
				"Add it to the SELECT, or remove DISTINCT")
		}
		keys = append(keys, scope.Converted(i, n.columns[i].Type))
	}
	return keys
}

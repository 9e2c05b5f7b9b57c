package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/fold/expr"
	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/report"
)

// selecting is a SELECT in the making.
type selecting struct {
	*planner
	*parse.Select
	orders []parse.Order
	scope  *expr.Scope
	tables []*source
	items  []parse.Item // without stars
	ready  *terms       // those of one goroutine; nil: not yet
}

// source is a table of FROM.
type source struct {
	*node
	alias string
	of    *table       // nil: a query
	from  int          // number of its first column
	join  *join        // nil: the first
	keep  []parse.Expr // conditions that need it alone
}

// selection plans a SELECT with its order and limit.
func (p *planner) selection(s *parse.Select, orders []parse.Order, limit *parse.Limit) *node {
	b := &selecting{planner: p, Select: s, orders: orders, scope: &expr.Scope{Parameters: p.parameters}}
	b.addTable(s.From, nil)
	for i := range s.Joins {
		b.addTable(s.Joins[i].Table, &s.Joins[i])
	}
	naming{b}.expandItems()
	naming{b}.qualifyAll()
	b.splitWhere()
	for _, t := range b.tables[1:] {
		b.prepareJoin(t)
	}
	for _, t := range b.tables {
		b.explainTable(t)
	}
	p.last = b
	return b.finish(limit)
}

// addTable adds a table, whose columns follow those before it.
func (b *selecting) addTable(t parse.Table, j *parse.Join) {
	s := &source{alias: t.Alias, from: len(b.scope.Columns)}
	if slices.ContainsFunc(b.tables, func(other *source) bool { return other.alias == t.Alias }) {
		refuse(t.Position, fmt.Sprintf("two tables are called %s", t.Alias), "Give one of them an alias: AS name")
	}
	if t.Sub != nil {
		b.depth++
		s.node = b.query(t.Sub)
		b.depth--
		columns := slices.Clone(s.columns)
		for i := range columns {
			columns[i].Table, columns[i].Hidden = t.Alias, false
		}
		s.node = &node{columns, s.run}
	} else {
		s.node, s.of = b.scan(t)
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
		refuse(j.Position, "FULL JOIN … USING",
			"Write ON a.column = b.column, and COALESCE(a.column, b.column) in the SELECT")
	}
	right := &expr.Scope{Columns: slices.Clone(s.columns)}
	for i := range j.Using {
		c := j.Using[i]
		l, r := must(b.scope.Find(&c)), must(right.Find(&c))
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

// naming finds what the names in a SELECT mean.
type naming struct{ *selecting }

// expandItems replaces * and t.* by their columns, and checks the names.
func (b naming) expandItems() {
	for _, item := range b.Items {
		if !item.Star {
			b.items = append(b.items, item)
			continue
		}
		before := len(b.items)
		add := func(c expr.Column) {
			x := &parse.Column{Position: item.Position, Table: c.Table, Name: c.Name}
			b.items = append(b.items, parse.Item{Position: item.Position, X: x, Name: c.Name})
		}
		for _, c := range b.scope.Columns { // as in SQL, * begins with the columns of USING
			if item.Table == "" && !c.Hidden && b.isUsed(c.Name) {
				add(c)
			}
		}
		for _, c := range b.scope.Columns {
			if item.Table == "" && !c.Hidden && !b.isUsed(c.Name) ||
				item.Table != "" && (c.Table == item.Table || strings.HasSuffix(c.Table, "."+item.Table)) {
				add(c)
			}
		}
		if len(b.items) == before {
			refuse(item.Position, "the query has no table "+item.Table, "Name a table of FROM")
		}
	}
	first := map[string]bool{}
	for _, item := range b.items {
		if name := strings.ToLower(item.Name); first[name] {
			refuse(item.Position, fmt.Sprintf("two columns are called %s", item.Name),
				"Give one of them an alias: AS name")
		} else {
			first[name] = true
		}
	}
}

// isUsed tells whether a USING has a column of a name.
func (b naming) isUsed(name string) bool {
	return slices.ContainsFunc(b.tables, func(t *source) bool {
		return t.join != nil && slices.ContainsFunc(t.join.Using,
			func(c parse.Column) bool { return strings.EqualFold(c.Name, name) })
	})
}

// qualifyAll finds the columns of all expressions, so that equal expressions have the same text.
func (b naming) qualifyAll() {
	for i := range b.items {
		b.qualify(b.items[i].X)
	}
	if b.Where != nil {
		b.noAggregates(b.Where, "WHERE", "Use HAVING")
		b.qualify(b.Where)
	}
	for _, t := range b.tables {
		if t.join != nil {
			b.noAggregates(t.join.On, "ON", "Use HAVING")
			b.qualify(t.join.On)
		}
	}
	for i, x := range b.GroupBy {
		if n, ok := position(x, len(b.items)); ok {
			b.GroupBy[i] = b.items[n].X
		} else if item, ok := b.alias(x); ok && !b.isColumn(x) {
			b.GroupBy[i] = item.X
		} else {
			b.qualify(x)
		}
		b.noAggregates(b.GroupBy[i], "GROUP BY", "Group by columns, and use HAVING")
	}
	for i, o := range b.orders {
		if n, ok := position(o.X, len(b.items)); ok {
			b.orders[i].X = b.items[n].X
		} else if item, ok := b.alias(o.X); ok {
			b.orders[i].X = item.X
		} else {
			b.orders[i].X = b.withAliases(o.X, len(b.GroupBy) == 0)
		}
	}
	if b.Having != nil {
		b.checkHaving(b.Having)
		b.Having = b.withAliases(b.Having, false)
	}
}

// checkHaving refuses columns that are neither selected nor grouped, which have no value when groups are filtered.
func (b naming) checkHaving(e parse.Expr) {
	if call, ok := e.(*parse.Call); ok && expr.IsAggregate(call) {
		return
	}
	c, ok := e.(*parse.Column)
	if _, isAlias := b.alias(e); ok && !isAlias {
		i := must(b.scope.Find(c))
		if !b.isGrouped(c) && !slices.ContainsFunc(b.items, func(item parse.Item) bool {
			selected, ok := item.X.(*parse.Column)
			return ok && must(b.scope.Find(selected)) == i
		}) {
			refuse(c.Position, fmt.Sprintf("HAVING uses %s, which is neither selected nor in GROUP BY", c.Name),
				"Write the condition in WHERE, or select the column")
		}
	}
	for _, x := range parse.Children(e) {
		b.checkHaving(x)
	}
}

func (b naming) noAggregates(e parse.Expr, where, remedy string) {
	all := map[string]*parse.Call{}
	expr.Aggregates(e, all)
	for _, c := range all {
		refuse(c.Position, fmt.Sprintf("%s in %s", c.Name, where), remedy)
	}
}

// alias returns the item that a name without a table calls.
func (b naming) alias(e parse.Expr) (parse.Item, bool) {
	c, ok := e.(*parse.Column)
	if !ok || c.Table != "" {
		return parse.Item{}, false
	}
	i := slices.IndexFunc(b.items, func(item parse.Item) bool { return strings.EqualFold(item.Name, c.Name) })
	if i < 0 {
		return parse.Item{}, false
	}
	return b.items[i], true
}

// isColumn tells whether a name is that of a column of FROM.
func (b naming) isColumn(e parse.Expr) bool {
	_, err := b.scope.Find(e.(*parse.Column))
	return err == nil
}

// isGrouped tells whether a name is that of a column in GROUP BY.
func (b naming) isGrouped(c *parse.Column) bool {
	i, err := b.scope.Find(c)
	return err == nil && slices.ContainsFunc(b.GroupBy, func(e parse.Expr) bool {
		g, ok := e.(*parse.Column)
		if !ok {
			return false
		}
		n, err := b.scope.Find(g)
		return err == nil && n == i
	})
}

// withAliases replaces the names of items by their expressions, and qualifies the other names. A column of GROUP BY,
// and with columns any of FROM, wins over an item of its name.
func (b naming) withAliases(e parse.Expr, columns bool) parse.Expr {
	if item, ok := b.alias(e); ok {
		c := e.(*parse.Column)
		if b.isGrouped(c) || columns && b.isColumn(c) {
			b.qualify(c)
			return c
		}
		return item.X
	}
	if call, ok := e.(*parse.Call); ok && expr.IsAggregate(call) || parse.Parts(e) == nil {
		b.qualify(e)
		return e
	}
	for _, x := range parse.Parts(e) {
		*x = b.withAliases(*x, columns)
	}
	return e
}

// qualify gives the columns of an expression the names of their tables, and marks them as used.
func (b naming) qualify(e parse.Expr) {
	parse.Columns(e, func(c *parse.Column) {
		i := b.find(c)
		c.Table, c.Name = b.scope.Columns[i].Table, b.scope.Columns[i].Name
		if t := b.tables[b.tableWith(i)]; t.of != nil {
			t.of.used[i-t.from] = true
		}
	})
}

// find returns the number of a column. A mistake that has to do with an alias says so.
func (b naming) find(c *parse.Column) int {
	i, err := b.scope.Find(c)
	if err == nil || c.Table != "" || !strings.HasPrefix(err.Error(), "no table has") {
		return must(i, err)
	}
	var aliases []string
	for _, item := range b.items {
		if column, ok := item.X.(*parse.Column); !ok || !strings.EqualFold(column.Name, item.Name) {
			aliases = append(aliases, item.Name)
		}
	}
	switch near := report.Nearest(c.Name, aliases); {
	case strings.EqualFold(near, c.Name):
		refuse(c.Position, c.Name+" is an alias, which only GROUP BY, HAVING and ORDER BY know",
			"Write its expression, or put the SELECT into FROM: FROM (SELECT …) AS name")
	case near != "":
		refuse(c.Position, "no table has a column "+c.Name, fmt.Sprintf("Did you mean the alias %q?", near))
	}
	return must(i, err)
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
			must(expr.Compile(c, b.scopeOf(t)))
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
	for i, c := range t.keep {
		text += []string{", filtered by ", " AND "}[min(i, 1)] + parse.Short(c)
	}
	b.explain("%s", text)
}

// finish plans what follows the joins: WHERE, groups, HAVING, ORDER BY, the items, DISTINCT and LIMIT.
func (b *selecting) finish(limit *parse.Limit) *node {
	if b.Where != nil {
		must(expr.Compile(b.Where, b.scope))
		b.explain("filter by %s", parse.Short(b.Where))
	}
	g := b.grouping()
	scope := b.scope
	if g != nil {
		scope = g.scope
	}
	if b.Having != nil {
		must(expr.Compile(b.Having, scope))
		b.explain("filter groups by %s", parse.Short(b.Having))
	}
	items, first, n := make([]parse.Expr, len(b.items)), make([]*expr.Expr, len(b.items)), &node{}
	n.columns = make([]expr.Column, len(b.items))
	for i, item := range b.items {
		compile := expr.Compile
		if b.Distinct {
			compile = expr.CompileKey
		}
		items[i], first[i] = item.X, must(compile(item.X, scope))
		n.columns[i] = expr.Column{Name: item.Name, Type: first[i].Type}
	}
	var keys []*expr.Expr
	var desc []bool
	for _, o := range b.orders {
		keys, desc = append(keys, must(expr.CompileKey(o.X, scope))), append(desc, o.Desc)
	}
	if b.Distinct {
		b.explain("distinct")
		keys = b.orderOfItems(n)
	}
	b.explainEnd(b.orders, limit)
	n.run = func(m *op.Memory, to op.Output) error {
		unused := first
		to = limited(to, limit)
		if b.Distinct {
			to = distinct(m, sorted(m, to, keys, desc, limit), n.columns)
		}
		to = op.NewProject(to, len(items), func() func(into, row op.Row) error {
			all := unused
			if unused = nil; all == nil {
				all = compiled(scope, items...)
			}
			return cells(all)
		})
		if !b.Distinct {
			to = sorted(m, to, keys, desc, limit)
		}
		if to = filtered(to, scope, b.Having); g != nil {
			to = g.output(m, to)
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

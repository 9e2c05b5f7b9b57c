package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/fold/expr"
	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/report"
)

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
		known := false
		for _, c := range b.scope.Columns { // as in SQL, * begins with the columns of USING
			if item.Table == "" && !c.Hidden && b.isUsed(c.Name) {
				add(c)
			}
		}
		for _, c := range b.scope.Columns {
			if item.Table == "" && !c.Hidden && !b.isUsed(c.Name) ||
				item.Table != "" && (c.Table == item.Table || strings.HasSuffix(c.Table, "."+item.Table)) {
				known = true
				if c.Any {
					b.more = true
				} else {
					add(c)
				}
			}
		}
		if !known && len(b.items) == before {
			b.more = true
			b.try(func() { refuse(item.Position, "the query has no table "+item.Table, "Name a table of FROM") })
		}
	}
	first := map[string]bool{}
	for _, item := range b.items {
		name := strings.ToLower(item.Name)
		if first[name] {
			b.try(func() {
				refuse(item.Position, fmt.Sprintf("two columns are called %s", item.Name),
					"Give one of them an alias: AS name")
			})
		}
		first[name] = true
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
	before := len(b.mistakes)
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
		if n, ok := b.position(x); ok {
			b.GroupBy[i] = b.items[n].X
		} else if item, ok := b.alias(x); ok && !b.isColumn(x) {
			b.GroupBy[i] = item.X
		} else {
			b.qualify(x)
		}
		b.noAggregates(b.GroupBy[i], "GROUP BY", "Group by columns, and use HAVING")
	}
	for i, o := range b.orders {
		if n, ok := b.position(o.X); ok {
			b.orders[i].X = b.items[n].X
		} else if item, ok := b.alias(o.X); ok {
			b.orders[i].X = item.X
		} else {
			b.orders[i].X = b.withAliases(o.X, len(b.GroupBy) == 0)
		}
	}
	if b.Having != nil {
		if len(b.mistakes) == before { // a wrong name may be the column that it uses
			b.checkHaving(b.Having)
		}
		b.Having = b.withAliases(b.Having, false)
	}
}

// position reads the number of a column.
func (b naming) position(e parse.Expr) (n int, ok bool) {
	if !b.more {
		b.try(func() { n, ok = position(e, len(b.items)) })
	}
	return n, ok
}

// checkHaving refuses columns that are neither selected nor grouped, which have no value when groups are filtered.
func (b naming) checkHaving(e parse.Expr) {
	if call, ok := e.(*parse.Call); ok && expr.IsAggregate(call) {
		return
	}
	c, ok := e.(*parse.Column)
	if _, isAlias := b.alias(e); ok && !isAlias {
		i, err := b.scope.Find(c)
		if err == nil && !b.isGrouped(c) && !slices.ContainsFunc(b.items, func(item parse.Item) bool {
			selected, ok := item.X.(*parse.Column)
			return ok && must(b.scope.Find(selected)) == i
		}) {
			b.try(func() {
				refuse(c.Position, fmt.Sprintf("HAVING uses %s, which is neither selected nor in GROUP BY", c.Name),
					"Write the condition in WHERE, or select the column")
			})
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
		b.try(func() { refuse(c.Position, fmt.Sprintf("%s in %s", c.Name, where), remedy) })
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
		i := 0
		if !b.try(func() { i = b.find(c) }) {
			return
		}
		c.Table, c.Name = b.scope.Columns[i].Table, b.scope.Columns[i].Name
		if t := b.tables[b.tableWith(i)]; t.of != nil {
			t.of.used[i-t.from] = true
		}
	})
}

// find returns the number of a column. A mistake that has to do with an alias says so.
func (b naming) find(c *parse.Column) int {
	i, err := b.scope.Find(c)
	if wrong, is := err.(parse.Errors); !is || c.Table != "" || len(wrong) == 0 ||
		!strings.HasPrefix(wrong[0].Message, "no table has") {
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

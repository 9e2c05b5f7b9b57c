package query

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/fold/expr"
	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
)

// join is a join in the making.
type join struct {
	*parse.Join
	equal []equality
	rest  parse.Expr // its other conditions, on the joined row; nil: none
	needs int        // the last table that the left sides of its equalities use
	key   int        // joins with the same number look up the same values
}

// equality is an equality between a table and those before it.
type equality struct {
	left, right parse.Expr
	chain       []int // see chains
	leftType    value.Type
	expr.Comparison
}

// prepareJoin splits the condition of a join into equalities of both sides, and the rest.
func (b *selecting) prepareJoin(t *source) {
	number := slices.Index(b.tables, t)
	for _, c := range conjuncts(t.join.On) {
		l, r, ok := b.sides(c, number)
		if ok {
			left, right := must(expr.Compile(l, b.scopeBefore(number))), must(expr.Compile(r, b.scopeOf(t)))
			e := equality{l, r, chains{b}.of(l, number), left.Type, must(expr.Common(left, right))}
			if t.join.equal = append(t.join.equal, e); e.chain == nil {
				t.join.needs = max(t.join.needs, slices.Max(b.needs(l)))
			}
			continue
		}
		for _, n := range b.needs(c) {
			if n > number {
				refuse(c.Pos(), fmt.Sprintf("%s is joined later", b.tables[n].alias), "Move the condition to its ON")
			}
		}
		t.join.rest = and(t.join.rest, c)
	}
	if len(t.join.equal) == 0 {
		refuse(t.join.Position, fmt.Sprintf("the join of %s has no equality with a table before it", t.alias),
			"Write ON a.column = b.column")
	}
	if t.join.rest != nil {
		must(expr.Compile(t.join.rest, b.scopeBefore(number+1)))
	}
	t.join.key = chains{b}.key(number)
}

// scopeBefore returns the scope of the rows of the first tables.
func (b *selecting) scopeBefore(tables int) *expr.Scope {
	last := b.tables[tables-1]
	return &expr.Scope{Columns: b.scope.Columns[:last.from+len(last.columns)], Parameters: b.parameters}
}

// scopeOf returns the scope of the rows of one table.
func (b *selecting) scopeOf(t *source) *expr.Scope {
	return &expr.Scope{Columns: t.columns, Parameters: b.parameters}
}

// sides returns the two sides of an equality between table n and tables before it.
func (b *selecting) sides(c parse.Expr, n int) (left, right parse.Expr, ok bool) {
	equal, is := c.(*parse.Binary)
	if !is || equal.Op != "=" {
		return nil, nil, false
	}
	l, r := b.needs(equal.L), b.needs(equal.R)
	switch {
	case before(l, n) && len(r) == 1 && r[0] == n:
		return equal.L, equal.R, true
	case before(r, n) && len(l) == 1 && l[0] == n:
		return equal.R, equal.L, true
	}
	return nil, nil, false
}

// before tells whether an expression uses tables, all of them before n.
func before(tables []int, n int) bool {
	return len(tables) > 0 && slices.Max(tables) < n
}

// joined runs the joins of a SELECT.
type joined struct{ *selecting }

// run reads all tables, and passes the joined rows on that WHERE keeps.
func (b joined) run(m *op.Memory, to op.Output) error {
	if first := b.tables[0]; len(b.tables) == 1 && first.of == nil {
		to = b.where.by(filtered(to, b.scope, b.Where))
		if len(first.keep) > 0 {
			to = first.step.by(filtered(to, b.scope, first.keep...))
		}
		return first.run(m, to)
	}
	var all []*terms
	ran, err := b.join(m, to, &all).Run(m)
	if b.ready != nil {
		b.ready.Lane = nil
	}
	if err != nil && err != op.ErrEnough {
		return err
	}
	if b.plan.counted == b.selecting {
		b.plan.matches = ran.Matches
	}
	b.count(ran, all)
	return to.End()
}

// count sets the rows of the steps.
func (b joined) count(ran op.Joined, all []*terms) {
	for n, t := range b.tables {
		t.step.rows, t.step.how = ran.Tables[n].Rows, ran.Tables[n].How
	}
	if b.where != nil { // its rows are not known if those of the last table are not
		b.where.rows = 0
		for _, t := range all {
			b.where.rows += t.kept
		}
	}
}

// join returns the operator that joins the tables. It adds the terms of all goroutines.
func (b joined) join(m *op.Memory, to op.Output, all *[]*terms) *op.Join {
	_, shared := to.(op.Forker)
	unused := b.ready
	j := &op.Join{
		Terms: func() op.Terms {
			t := unused
			if unused = nil; t == nil {
				t = b.terms()
			}
			if b.ready == nil {
				b.ready = t
			}
			t.Lane, _ = op.NewLane(to)
			if b.where != nil {
				t.kept, *all = 0, append(*all, t)
			}
			return t
		},
		Count:  b.plan.counted == b.selecting,
		Serial: len(b.tables) == 1 && b.Where == nil && !shared,
	}
	for n, t := range b.tables {
		if t.table == nil {
			t.table = b.tableOf(n, t)
		}
		of := *t.table
		if t.of != nil {
			of.Set = t.of.set
		} else {
			of.Query = func(to op.Output) error { return t.run(m, filtered(to, b.scopeOf(t), t.keep...)) }
		}
		j.Tables = append(j.Tables, &of)
	}
	return j
}

// canCount tells whether the rows of every listener can be counted that match a row of the first table: nothing but
// the keys decides, and every key uses the first table alone.
func (b joined) canCount(limit *parse.Limit) bool {
	names := map[string]bool{}
	for _, t := range b.tables {
		if t.of == nil || names[t.of.listener] || len(t.keep) > 0 ||
			t.join != nil && (t.join.needs > 0 || t.join.rest != nil) {
			return false
		}
		names[t.of.listener] = true
	}
	return b.Where == nil && limit == nil
}

// tableOf returns what a join needs to know of a table of FROM, without its rows.
func (b joined) tableOf(n int, t *source) *op.Table {
	of := &op.Table{Cells: len(t.columns), CanFail: len(t.keep) > 0}
	if t.of != nil {
		of.Name, of.Filtered = t.of.listener, len(t.keep) > 0
		of.Columns = t.of.numbers()
	} else {
		for i := range t.columns {
			of.Columns = append(of.Columns, i)
		}
	}
	of.Kept = of.Columns
	if t.of != nil {
		of.KeyColumns = b.columnsIn(t, b.keysOf(t))
	}
	if t.join == nil {
		return of
	}
	of.Kind = op.JoinKind{
		Left:  t.join.Kind == parse.Left || t.join.Kind == parse.Full,
		Right: t.join.Kind == parse.Right || t.join.Kind == parse.Full,
	}
	if t.of != nil && !of.Kind.Right {
		of.Kept = b.columnsIn(t, b.keptOf(t))
	}
	of.Key, of.Needs, of.Conditional = t.join.key, t.join.needs, t.join.rest != nil
	for _, e := range t.join.equal {
		right, isColumn := must(expr.Compile(e.right, b.scopeOf(t))).Column()
		left, isLeft := must(expr.Compile(e.left, b.scopeBefore(n))).Column()
		of.CanFail = of.CanFail || !isColumn
		if len(t.join.equal) == 1 && isColumn && isLeft && e.Kind == value.Integer && of.Needs == 0 {
			of.Sorted = &[2]int{left, right}
		}
	}
	return of
}

// columnsIn returns the columns of a table that expressions use.
func (b joined) columnsIn(t *source, all []parse.Expr) []int {
	var found []int
	for _, e := range all {
		parse.Columns(e, func(c *parse.Column) {
			i := must(b.scope.Find(c)) - t.from
			if i >= 0 && i < len(t.columns) && !slices.Contains(found, i) {
				found = append(found, i)
			}
		})
	}
	slices.Sort(found)
	return found
}

// keysOf returns the filter of a table, and the keys of all joins.
func (b joined) keysOf(t *source) []parse.Expr {
	all := slices.Clone(t.keep)
	for _, other := range b.tables[1:] {
		for _, e := range other.join.equal {
			all = append(all, e.left, e.right)
		}
	}
	return all
}

// keptOf returns what uses the rows of a table after they have been looked up.
func (b joined) keptOf(t *source) []parse.Expr {
	all := slices.Clone(b.GroupBy)
	for _, item := range b.items {
		all = append(all, item.X)
	}
	for _, o := range b.orders {
		all = append(all, o.X)
	}
	for _, other := range b.tables[1:] {
		for _, e := range other.join.equal {
			all = append(all, e.left)
		}
		all = append(all, other.join.rest)
	}
	all = append(all, b.Where, b.Having)
	return slices.DeleteFunc(all, func(e parse.Expr) bool { return e == nil })
}

// terms are the expressions of the joins and of WHERE, for one goroutine.
type terms struct {
	op.Lane
	tables []tableTerms
	where  []*expr.Expr
	kept   int64 // rows that WHERE has kept
}

// tableTerms are those of one table.
type tableTerms struct {
	keep, rest []*expr.Expr
	left       []keyTerms // by origin
	right      keyTerms
}

var _ op.Terms = (*terms)(nil)

func (b joined) terms() *terms {
	t := &terms{tables: make([]tableTerms, len(b.tables))}
	if b.Where != nil {
		t.where = compiled(b.scope, b.Where)
	}
	for n, from := range b.tables {
		of := &t.tables[n]
		of.keep = compiled(b.scopeOf(from), from.keep...)
		if from.join == nil {
			continue
		}
		before := b.scopeBefore(n)
		of.left = make([]keyTerms, n)
		for _, e := range from.join.equal {
			left := must(expr.Compile(e.left, before))
			for origin := range of.left {
				if i := slices.Index(b.origins(n), origin); i >= 0 && e.chain != nil {
					of.left[origin].add(before.Converted(e.chain[i], e.leftType), e)
				} else {
					of.left[origin].add(left, e)
				}
			}
			of.right.add(must(expr.Compile(e.right, b.scopeOf(from))), e)
		}
		if from.join.rest != nil {
			of.rest = compiled(b.scopeBefore(n+1), from.join.rest)
		}
	}
	return t
}

// Left implements op.Terms.
func (t *terms) Left(origin, n int, row op.Row) (op.Key, bool, error) {
	return t.tables[n].left[origin].key(row)
}

// Right implements op.Terms.
func (t *terms) Right(n int, row op.Row) (op.Key, bool, error) { return t.tables[n].right.key(row) }

// Keep implements op.Terms.
func (t *terms) Keep(n int, row op.Row) (bool, error) { return areTrue(t.tables[n].keep, row) }

// Matches implements op.Terms.
func (t *terms) Matches(n int, row op.Row) (bool, error) { return areTrue(t.tables[n].rest, row) }

// Add implements op.Terms.
func (t *terms) Add(row op.Row) error {
	if keep, err := areTrue(t.where, row); err != nil || !keep {
		return err
	}
	t.kept++
	return t.Lane.Add(row)
}

// areTrue tells whether all conditions are true.
func areTrue(all []*expr.Expr, row op.Row) (bool, error) {
	for _, e := range all {
		v, err := e.Eval(row)
		if is, _ := v.Truth(); !is || err != nil {
			return false, err
		}
	}
	return true, nil
}

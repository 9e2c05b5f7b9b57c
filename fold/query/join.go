package query

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/fold/collation"
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
}

// equality is an equality between a table and those before it.
type equality struct {
	left, right parse.Expr
	kind        value.Kind // by which they are compared
	collation   *collation.Collation
}

// prepareJoin splits the condition of a join into equalities of both sides, and the rest.
func (b *selecting) prepareJoin(t *source) {
	number := slices.Index(b.tables, t)
	for _, c := range conjuncts(t.join.On) {
		l, r, ok := b.sides(c, number)
		if ok {
			left, right := must(expr.Compile(l, b.scopeBefore(number))), must(expr.Compile(r, b.scopeOf(t)))
			kind, collation, err := expr.Common(left, right)
			if err != nil {
				panic(err)
			}
			t.join.equal = append(t.join.equal, equality{l, r, kind, collation})
			t.join.needs = max(t.join.needs, slices.Max(b.needs(l)))
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
		return first.run(m, filtered(append(first.where, b.where...), to))
	}
	j := op.Join{Terms: func() op.Terms { return b.terms(to) }, Serial: len(b.tables) == 1 && b.where == nil}
	for n, t := range b.tables {
		j.Tables = append(j.Tables, b.tableOf(m, n, t))
	}
	if _, err := j.Run(m); err != nil && err != op.ErrEnough {
		return err
	}
	return to.End()
}

// tableOf returns a table of FROM for a join.
func (b joined) tableOf(m *op.Memory, n int, t *source) *op.Table {
	of := &op.Table{Cells: len(t.columns), Key: max(0, n-1), CanFail: len(t.where) > 0}
	if t.of != nil {
		of.Name, of.Set, of.Filtered = t.of.listener, t.of.set, len(t.where) > 0
		of.Columns = t.of.numbers()
		of.Kept = of.Columns
		of.KeyColumns = b.keyColumns(t)
	} else {
		of.Query = func(to op.Output) error { return t.run(m, filtered(t.where, to)) }
		for i := range t.columns {
			of.Kept = append(of.Kept, i)
		}
	}
	if t.join == nil {
		return of
	}
	of.Kind = op.JoinKind{
		Left:  t.join.Kind == parse.Left || t.join.Kind == parse.Full,
		Right: t.join.Kind == parse.Right || t.join.Kind == parse.Full,
	}
	of.Needs, of.Conditional = t.join.needs, t.join.rest != nil
	for _, e := range t.join.equal {
		right, isColumn := must(expr.Compile(e.right, b.scopeOf(t))).Column()
		left, isLeft := must(expr.Compile(e.left, b.scopeBefore(n))).Column()
		of.CanFail = of.CanFail || !isColumn
		if len(t.join.equal) == 1 && isColumn && isLeft && e.kind == value.Integer && of.Needs == 0 {
			of.Sorted = &[2]int{left, right}
		}
	}
	return of
}

// keyColumns returns the columns of a table that its filter and the keys of joins use.
func (b joined) keyColumns(t *source) []int {
	var all []int
	add := func(c *parse.Column) {
		if i := must(b.scope.Find(c)) - t.from; i >= 0 && i < len(t.columns) && !slices.Contains(all, i) {
			all = append(all, i)
		}
	}
	for _, c := range t.keep {
		parse.Columns(c, add)
	}
	for _, other := range b.tables[1:] {
		for _, e := range other.join.equal {
			parse.Columns(e.left, add)
			parse.Columns(e.right, add)
		}
	}
	slices.Sort(all)
	return all
}

// terms are the expressions of the joins and of WHERE, for one goroutine.
type terms struct {
	op.Ordered
	tables []tableTerms
	where  []*expr.Expr
}

// tableTerms are those of one table.
type tableTerms struct {
	keep, left, right, rest []*expr.Expr
	kinds                   []value.Kind
	collations              []*collation.Collation
	leftB, rightB           []byte
}

var _ op.Terms = (*terms)(nil)

func (b joined) terms(to op.Output) *terms {
	t := &terms{Ordered: op.Ordered{To: to}, tables: make([]tableTerms, len(b.tables))}
	if b.Where != nil {
		t.where = []*expr.Expr{must(expr.Compile(b.Where, b.scope))}
	}
	for n, from := range b.tables {
		of := &t.tables[n]
		for _, c := range from.keep {
			of.keep = append(of.keep, must(expr.Compile(c, b.scopeOf(from))))
		}
		if from.join == nil {
			continue
		}
		for _, e := range from.join.equal {
			of.left = append(of.left, must(expr.Compile(e.left, b.scopeBefore(n))))
			of.right = append(of.right, must(expr.Compile(e.right, b.scopeOf(from))))
			of.kinds, of.collations = append(of.kinds, e.kind), append(of.collations, e.collation)
		}
		if from.join.rest != nil {
			of.rest = []*expr.Expr{must(expr.Compile(from.join.rest, b.scopeBefore(n+1)))}
		}
	}
	return t
}

// Left implements op.Terms.
func (t *terms) Left(_, n int, row op.Row) (k op.Key, ok bool, err error) {
	of := &t.tables[n]
	k, of.leftB, ok, err = of.joinKey(of.leftB[:0], of.left, row)
	return k, ok, err
}

// Right implements op.Terms.
func (t *terms) Right(n int, row op.Row) (k op.Key, ok bool, err error) {
	of := &t.tables[n]
	k, of.rightB, ok, err = of.joinKey(of.rightB[:0], of.right, row)
	return k, ok, err
}

// Keep implements op.Terms.
func (t *terms) Keep(n int, row op.Row) (bool, error) { return areTrue(t.tables[n].keep, row) }

// Matches implements op.Terms.
func (t *terms) Matches(n int, row op.Row) (bool, error) { return areTrue(t.tables[n].rest, row) }

// Add implements op.Terms.
func (t *terms) Add(_ int, row op.Row) error {
	if keep, err := areTrue(t.where, row); err != nil || !keep {
		return err
	}
	return t.Ordered.Add(row)
}

// joinKey returns the key of a row; false: a part of it is NULL. It may use the buffer, which it returns.
func (t *tableTerms) joinKey(dst []byte, all []*expr.Expr, row op.Row) (op.Key, []byte, bool, error) {
	for i, e := range all {
		v, err := e.Eval(row)
		if err != nil {
			return op.Key{}, dst, false, err
		}
		if v = v.As(t.kinds[i]); v.IsNull() {
			return op.Key{}, dst, false, nil
		}
		if len(all) == 1 && v.Kind == value.Integer && !v.Unsigned {
			return op.IntKey(v.Int), dst, true, nil
		}
		v.Collation = t.collations[i]
		dst = v.AppendKey(dst)
	}
	return op.TextKey(dst), dst, true, nil
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

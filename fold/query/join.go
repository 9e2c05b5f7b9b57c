package query

import (
	"fmt"

	"github.com/fanfold/fanfold/fold/collation"
	"github.com/fanfold/fanfold/fold/expr"
	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
)

// join is a join in the making.
type join struct {
	*parse.Join
	left, right []*expr.Expr // the two sides of its equalities
	kinds       []value.Kind // by which they are compared
	collations  []*collation.Collation
	rest        *expr.Expr // its other conditions, on the joined row; nil: none
}

// prepareJoin splits the condition of a join into equalities of both sides, and the rest.
func (b *selecting) prepareJoin(t *source) {
	number := 0
	for i, other := range b.tables {
		if other == t {
			number = i
		}
	}
	leftScope := &expr.Scope{Columns: b.scope.Columns[:t.from], Parameters: b.parameters}
	rightScope := &expr.Scope{Columns: t.columns, Parameters: b.parameters}
	var rest parse.Expr
	for _, c := range conjuncts(t.join.On) {
		l, r, ok := b.sides(c, number)
		if ok {
			left, right := must(expr.Compile(l, leftScope)), must(expr.Compile(r, rightScope))
			t.join.left, t.join.right = append(t.join.left, left), append(t.join.right, right)
			kind, collation, err := expr.Common(left, right)
			if err != nil {
				panic(err)
			}
			t.join.kinds, t.join.collations = append(t.join.kinds, kind), append(t.join.collations, collation)
			continue
		}
		for _, n := range b.needs(c) {
			if n > number {
				refuse(c.Pos(), fmt.Sprintf("%s is joined later", b.tables[n].alias), "Move the condition to its ON")
			}
		}
		if rest == nil {
			rest = c
		} else {
			rest = &parse.Binary{Position: c.Pos(), Op: "AND", L: rest, R: c}
		}
	}
	if len(t.join.left) == 0 {
		refuse(t.join.Position, fmt.Sprintf("the join of %s has no equality with a table before it", t.alias),
			"Write ON a.column = b.column")
	}
	if rest != nil {
		scope := &expr.Scope{Columns: b.scope.Columns[:t.from+len(t.columns)], Parameters: b.parameters}
		t.join.rest = must(expr.Compile(rest, scope))
	}
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
	for _, t := range tables {
		if t >= n {
			return false
		}
	}
	return len(tables) > 0
}

// key returns the function of the key of one side.
func (j *join) key(side []*expr.Expr) func(dst []byte, row op.Row) ([]byte, bool, error) {
	return func(dst []byte, row op.Row) ([]byte, bool, error) {
		for i, e := range side {
			v, err := e.Eval(row)
			if err != nil {
				return dst, false, err
			}
			if v = v.As(j.kinds[i]); v.IsNull() {
				return dst, false, nil
			}
			v.Collation = j.collations[i]
			dst = v.AppendKey(dst)
		}
		return dst, true, nil
	}
}

// rightSide passes the rows of the right side to a join.
type rightSide struct{ *op.Join }

func (r rightSide) Add(row op.Row) error { return r.AddRight(row) }
func (r rightSide) End() error           { return nil }

// runJoins reads the right sides of all joins, and then the first table, whose rows flow through them.
func (b *selecting) runJoins(m *op.Memory, to op.Output) error {
	joins := make([]*op.Join, len(b.tables))
	for i := len(b.tables) - 1; i > 0; i-- {
		t := b.tables[i]
		var matches func(op.Row) (bool, error)
		if t.join.rest != nil {
			matches = truth(t.join.rest)
		}
		kind := op.JoinKind{
			Left: t.join.Kind == parse.Left || t.join.Kind == parse.Full, Right: t.join.Kind == parse.Right ||
				t.join.Kind == parse.Full,
		}
		joins[i] = op.NewJoin(kind, m, to, t.from, len(t.columns), t.join.key(t.join.left), t.join.key(t.join.right),
			matches)
		to = joins[i]
	}
	for i, t := range b.tables[1:] {
		if err := t.run(m, b.filtered(t, rightSide{joins[i+1]})); err != nil {
			return err
		}
	}
	first := b.tables[0]
	return first.run(m, b.filtered(first, to))
}

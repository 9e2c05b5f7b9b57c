package expr

import (
	"fmt"

	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
)

// choose returns an expression whose value is that of one of several: pick returns its number, or -1 for NULL.
func choose(branches []*Expr, pick func(row [][]byte) (int, error)) *Expr {
	branches = zoned(branches...)
	types := make([]value.Type, len(branches))
	for i, b := range branches {
		types[i] = b.Type
	}
	t := Unify(types...)
	return &Expr{Type: t, eval: func(row [][]byte) (value.Value, error) {
		i, err := pick(row)
		if err != nil || i < 0 {
			return value.Value{}, err
		}
		v, err := branches[i].eval(row)
		return Convert(v, branches[i].Type, t), err
	}}
}

func ifThen(c *call) *Expr {
	return choose(c.args[1:], func(row [][]byte) (int, error) {
		v, err := c.args[0].eval(row)
		if truth, _ := v.Truth(); truth {
			return 0, err
		}
		return 1, err
	})
}

func coalesce(c *call) *Expr {
	return choose(c.args, func(row [][]byte) (int, error) {
		for i, a := range c.args {
			if v, err := a.eval(row); err != nil || !v.IsNull() {
				return i, err
			}
		}
		return -1, nil
	})
}

func nullIf(c *call) *Expr {
	equal := comparison("=", c.args[0], c.args[1])
	return choose(c.args[:1], func(row [][]byte) (int, error) {
		v, err := equal.eval(row)
		if truth, _ := v.Truth(); truth {
			return -1, err
		}
		return 0, err
	})
}

// compileCase compiles a CASE.
func (s *Scope) compileCase(e *parse.Case) *Expr {
	var conditions, branches []*Expr
	var operand *Expr
	if e.Operand != nil {
		operand = s.compile(e.Operand)
	}
	for _, w := range e.Whens {
		condition := s.compile(w.If)
		if operand != nil {
			condition = comparison("=", operand, condition)
		}
		conditions, branches = append(conditions, condition), append(branches, s.compile(w.Then))
	}
	otherwise := -1
	if e.Else != nil {
		otherwise, branches = len(branches), append(branches, s.compile(e.Else))
	}
	return choose(branches, func(row [][]byte) (int, error) {
		for i, c := range conditions {
			v, err := c.eval(row)
			if truth, _ := v.Truth(); err != nil || truth {
				return i, err
			}
		}
		return otherwise, nil
	})
}

// extreme is LEAST or GREATEST: NULL if an argument is.
func extreme(c *call, want int) *Expr {
	c.args = zoned(c.args...)
	types := make([]value.Type, len(c.args))
	for i, a := range c.args {
		types[i] = a.Type
	}
	for _, t := range types {
		if first := types[0].Kind; first.Clashes(t.Kind) {
			refuse(c.Position, fmt.Sprintf("%s of a %s and a %s", c.Name, first, t.Kind), "CAST both to one type")
		}
	}
	t, collation := Unify(types...), collationOf(c.args...)
	return strict(t, c.args, func(args []value.Value) (value.Value, error) {
		best := Convert(args[0], types[0], t)
		for i, v := range args[1:] {
			v = Convert(v, types[i+1], t)
			if v.Collation = collation; value.Compare(v, best) == want {
				best = v
			}
		}
		return best, nil
	})
}

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
			condition = newComparer(operand, condition).holds("=")
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

// extreme is LEAST or GREATEST: NULL if an argument is, or if the result is no date.
func extreme(c *call, want int) *Expr {
	c.args = zoned(c.args...)
	t, collation := extremeType(c), collationOf(c.args...)
	return strict(t, c.args, func(args []value.Value) (value.Value, error) {
		var best value.Value
		for i, v := range args {
			if v = extremeOperand(v, c.args[i].Type, t); v.IsNull() {
				return v, nil
			}
			if v.Collation = collation; i == 0 || value.Compare(v, best) == want {
				best = v
			}
		}
		if t.Kind.IsTemporal() {
			if !best.Exists() {
				return value.Value{}, nil
			}
			best = value.ToTemporal(best, t.Kind)
		}
		return best, nil
	})
}

// extremeOperand returns a value as it is compared: dates with their time of day.
func extremeOperand(v value.Value, from, to value.Type) value.Value {
	switch to.Kind {
	case value.Date, value.Datetime:
		return value.Compared(v, value.Datetime)
	case value.Time:
		return value.ToTemporal(v, value.Time)
	}
	return Convert(v, from, to)
}

// extremeType returns the type of LEAST and GREATEST. Unlike in a CASE, a date or time decides it, and a number before
// a text.
func extremeType(c *call) value.Type {
	types := make([]value.Type, len(c.args))
	var t value.Type
	numbers, texts := false, false
	for i, a := range c.args {
		types[i] = a.Type
		numbers, texts = numbers || isNumber(a.Type), texts || a.Type.Kind.IsText()
		switch k := a.Type.Kind; {
		case k.Clashes(t.Kind):
			refuse(c.Position, fmt.Sprintf("%s of a %s and a %s", c.Name, t.Kind, k), "CAST both to one type")
		case k.IsTemporal() && t.Kind != value.Datetime:
			t.Kind = k
		}
	}
	switch {
	case t.Kind == value.Null && numbers && texts:
		t = value.Type{Kind: value.Double}
		for _, other := range types {
			if scale := fixedScale(other); t.Scale < 0 || scale < 0 {
				t.Scale = value.Floating
			} else {
				t.Scale = max(t.Scale, scale)
			}
		}
		return t
	case t.Kind == value.Null:
		return Unify(types...)
	}
	t.Zone, _ = value.ZoneOf(types...)
	for _, a := range c.args {
		t.Scale = commonScale(t.Scale, fractionScale(a, t.Kind))
	}
	return t
}

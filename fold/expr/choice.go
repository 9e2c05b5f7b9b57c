package expr

import (
	"fmt"

	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
)

// choose returns an expression whose value is that of one of several: pick returns its number and value; -1 is NULL.
func choose(
	at parse.Position, name string, branches []*Expr,
	pick func(row [][]byte, branches []*Expr) (i int, v value.Value, err error),
) *Expr {
	branches = zoned(branches...)
	refuseClash(at, name, branches)
	types := make([]value.Type, len(branches))
	for i, b := range branches {
		types[i] = b.Type
	}
	t := Unify(types...)
	return &Expr{Type: t, eval: func(row [][]byte) (value.Value, error) {
		i, v, err := pick(row, branches)
		if err != nil || i < 0 {
			return value.Value{}, err
		}
		return Convert(v, branches[i].Type, t), nil
	}}
}

// refuseClash refuses values of which one is a date and another one a time. Beside another kind, all are texts.
func refuseClash(at parse.Position, name string, all []*Expr) {
	kind := value.Null // of those before
	clash := ""
	for _, e := range all {
		k := e.Type.Kind
		if k != value.Null && !k.IsTemporal() {
			return
		}
		if k.Clashes(kind) {
			clash = fmt.Sprintf("%s of a %s and a %s", name, kind, k)
		}
		kind = max(kind, k)
	}
	if clash != "" {
		refuse(at, clash, "CAST both to one type")
	}
}

func ifThen(c *call) *Expr {
	pick := func(row [][]byte, branches []*Expr) (i int, v value.Value, err error) {
		if v, err = c.args[0].eval(row); err != nil {
			return -1, v, err
		}
		if truth, _ := v.Truth(); !truth {
			i = 1
		}
		v, err = branches[i].eval(row)
		return i, v, err
	}
	return choose(c.Position, c.Name, c.args[1:], pick)
}

// ifNotNull is NVL2: its second value if the first one is not NULL, and else the third.
func ifNotNull(c *call) *Expr {
	return ifThen(&call{c.Call, append([]*Expr{is(c.args[0], parse.Null, true)}, c.args[1:]...)})
}

func coalesce(c *call) *Expr {
	e := choose(c.Position, c.Name, c.args, func(row [][]byte, branches []*Expr) (int, value.Value, error) {
		for i, b := range branches {
			if v, err := b.eval(row); err != nil || !v.IsNull() {
				return i, v, err
			}
		}
		return -1, value.Value{}, nil
	})
	for _, a := range c.args {
		if a.columns == nil || !sameCells(a.Type, e.Type) {
			e.columns = nil
			break
		}
		e.columns = append(e.columns, a.columns...)
	}
	return e
}

// sameCells tells whether a value has the same cell in both types.
func sameCells(a, b value.Type) bool {
	switch a.Kind {
	case value.Decimal, value.Double, value.Datetime, value.Time:
		return a.Kind == b.Kind && a.Scale == b.Scale && a.Bits == b.Bits && a.Zone == b.Zone
	}
	return a.Kind == b.Kind && a.Kind != value.Null
}

func nullIf(c *call) *Expr {
	by := newComparer(c.args[0], c.args[1]).exact()
	pick := func(row [][]byte, branches []*Expr) (i int, v value.Value, err error) {
		l, err := by.l.eval(row)
		if err != nil {
			return -1, l, err
		}
		r, err := by.r.eval(row)
		if err != nil {
			return -1, r, err
		}
		if order, known := by.compare(l, r); known && order == 0 {
			return -1, l, nil
		}
		if by.l == branches[0] {
			return 0, l, nil
		}
		v, err = branches[0].eval(row)
		return 0, v, err
	}
	return choose(c.Position, c.Name, c.args[:1], pick)
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
	return choose(e.Position, "CASE", branches, func(row [][]byte, branches []*Expr) (int, value.Value, error) {
		chosen := otherwise
		for i, c := range conditions {
			v, err := c.eval(row)
			if err != nil {
				return -1, v, err
			}
			if truth, _ := v.Truth(); truth {
				chosen = i
				break
			}
		}
		if chosen < 0 {
			return -1, value.Value{}, nil
		}
		v, err := branches[chosen].eval(row)
		return chosen, v, err
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

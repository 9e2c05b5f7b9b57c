package expr

import (
	"math"

	"github.com/fanfold/fanfold/fold/value"
)

// numberType returns the type of a number that a function makes of an operand.
func numberType(t value.Type) value.Type {
	switch numberKind(t) {
	case value.Integer:
		return value.Type{Kind: value.Integer, Unsigned: t.Unsigned}
	case value.Decimal:
		return value.Type{Kind: value.Decimal, Scale: scaleOf(t)}
	}
	if t.Kind == value.Double {
		return value.Type{Kind: value.Double, Scale: t.Scale}
	}
	return double
}

func absolute(c *call) *Expr {
	t := numberType(c.args[0].Type)
	x := *c.args[0]
	var v value.Value // of the row
	x.constant, x.eval = false, func([][]byte) (value.Value, error) { return v, nil }
	negative := negate(&x)
	negative.at = c.Position
	return &Expr{Type: t, eval: func(row [][]byte) (_ value.Value, err error) {
		if v, err = c.args[0].eval(row); err != nil || v.IsNull() {
			return v, err
		}
		if v.ToDec().Sign() < 0 {
			return negative.eval(row)
		}
		return toNumber(v, t), nil
	}}
}

// toNumber converts a value to the kind of a number.
func toNumber(v value.Value, t value.Type) value.Value {
	switch t.Kind {
	case value.Integer:
		return v.ToInt()
	case value.Decimal:
		return value.OfDec(v.ToDec())
	}
	return value.OfFloat(v.ToFloat())
}

func sign(c *call) *Expr {
	return strict(integer, c.args, func(args []value.Value) (value.Value, error) {
		return value.OfInt(int64(value.OfFloat(args[0].ToFloat()).ToDec().Sign())), nil
	})
}

// round is ROUND and TRUNCATE.
func round(c *call, half bool) *Expr {
	t, places, known := numberType(c.args[0].Type), int64(0), true
	if len(c.args) == 2 {
		var v value.Value
		v, known = constantOf(c.args[1])
		places = v.ToInt().Int
	}
	switch {
	case t.Kind == value.Decimal && known && t.Scale >= 0:
		t.Scale = int(max(0, min(places, maxScale)))
	case t.Kind == value.Double && known && places >= 0 && places < 31:
		t.Scale = int(places)
	case t.Kind == value.Double:
		t.Scale = value.Floating
	}
	return strict(t, c.args, func(args []value.Value) (value.Value, error) {
		n := places
		if len(args) == 2 {
			n = args[1].ToInt().Int
		}
		if t.Kind == value.Double {
			return value.OfFloat(roundFloat(args[0].ToFloat(), int(max(-400, min(n, 400))), half)), nil
		}
		d := args[0].ToDec()
		scale := int(max(-80, min(n, int64(d.Scale))))
		if half {
			d = d.Round(scale)
		} else {
			d = d.Truncate(scale)
		}
		if t.Kind == value.Decimal && t.Scale >= 0 {
			d = d.Round(t.Scale)
		}
		if t.Kind == value.Integer {
			return exactly(c.Name, d)
		}
		return value.OfDec(d), nil
	})
}

// roundFloat rounds or cuts a double at a decimal place, as MariaDB does.
func roundFloat(f float64, places int, half bool) float64 {
	power := math.Pow(10, math.Abs(float64(places)))
	up := f * power
	if places < 0 {
		up = f / power
	}
	if math.IsInf(up, 0) || math.IsInf(power, 0) {
		if places < 0 {
			return 0
		}
		return f
	}
	switch {
	case half:
		up = math.RoundToEven(up)
	case f >= 0:
		up = math.Floor(up)
	default:
		up = math.Ceil(up)
	}
	if places < 0 {
		return up * power
	}
	return up / power
}

// whole is FLOOR and CEIL.
func whole(c *call, of func(float64) float64, side int) *Expr {
	t := numberType(c.args[0].Type)
	if t.Kind == value.Double {
		t.Scale = 0
		return strict(t, c.args, func(args []value.Value) (value.Value,
			error) {
			return value.OfFloat(of(args[0].ToFloat())), nil
		})
	}
	return strict(integer, c.args, func(args []value.Value) (value.Value, error) {
		d := args[0].ToDec()
		cut := d.Truncate(0)
		if d.Sign() == side && d.Cmp(cut) != 0 {
			cut = cut.Add(value.DecOf(int64(side)))
		}
		return exactly(c.Name, cut)
	})
}

// exactly returns a whole decimal as an integer.
func exactly(function string, d value.Dec) (value.Value, error) {
	n := value.OfDec(d).ToInt()
	if n.ToDec().Cmp(d) != 0 {
		return n, outOfRange("of", function, d, "an integer of 64 bits", "Use TRUNCATE of a decimal")
	}
	return n, nil
}

func root(c *call) *Expr {
	return strict(double, c.args, func(args []value.Value) (value.Value, error) {
		f := args[0].ToFloat()
		if f < 0 {
			return value.Value{}, nil
		}
		return value.OfFloat(math.Sqrt(f)), nil
	})
}

func pow(c *call) *Expr {
	return strict(double, c.args, func(args []value.Value) (value.Value, error) {
		a, b := args[0].ToFloat(), args[1].ToFloat()
		f := math.Pow(a, b)
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return value.Value{}, outOfRange("to the power of", a, b, "a double", "Use smaller numbers")
		}
		return value.OfFloat(f), nil
	})
}

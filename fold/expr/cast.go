package expr

import (
	"fmt"

	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
)

// cast computes CAST.
func cast(at parse.Position, x *Expr, to parse.CastType) *Expr {
	args := []*Expr{x}
	switch to.Name {
	case "CHAR", "BINARY":
		t, by := typeOfText(x), octets(to.Name == "BINARY")
		if t.Kind = value.Text; by {
			t = value.Type{Kind: value.Binary}
		}
		return strict(t, args, func(args []value.Value) (value.Value, error) {
			b := textOf(args[0], x)
			if to.Length >= 0 {
				b = by.left(b, int64(to.Length))
			}
			return value.Value{Kind: t.Kind, Bytes: b}, nil
		})
	case "SIGNED", "UNSIGNED":
		unsigned := to.Name == "UNSIGNED"
		return strict(value.Type{Kind: value.Integer, Unsigned: unsigned}, args,
			func(args []value.Value) (value.Value, error) {
				return args[0].Cast(unsigned), nil
			})
	case "DECIMAL":
		digits, scale := max(to.Length, 0), max(to.Scale, 0)
		if to.Length < 0 {
			digits = 10
		}
		if digits > 65 || scale > maxScale || scale > digits || digits == 0 {
			refuse(at, fmt.Sprintf("DECIMAL(%d,%d)", digits, scale),
				"Write at most 65 digits, of which at most 38 are decimals")
		}
		most, _ := value.ParseDec([]byte(nines(digits, scale)))
		return strict(value.Type{Kind: value.Decimal, Scale: scale}, args,
			func(args []value.Value) (value.Value, error) {
				d := args[0].ToDec().Round(scale)
				switch {
				case d.Cmp(most) > 0:
					d = most
				case d.Cmp(most.Neg()) < 0:
					d = most.Neg()
				}
				return value.OfDec(d), nil
			})
	case "DOUBLE":
		return strict(double, args, func(args []value.Value) (value.Value,
			error) {
			return value.OfFloat(args[0].ToFloat()), nil
		})
	}
	kind := map[string]value.Kind{"DATE": value.Date, "DATETIME": value.Datetime, "TIME": value.Time}[to.Name]
	t := value.Type{Kind: kind, Scale: max(to.Length, 0), Zone: x.Type.Zone}
	if t.Scale > 6 {
		refuse(at, fmt.Sprintf("%s(%d)", to.Name, t.Scale), "Write at most 6 decimals of a second")
	}
	if kind != value.Time {
		refuseTimes(at, "CAST AS "+to.Name, x)
	}
	return strict(t, args, func(args []value.Value) (value.Value, error) {
		return cutFraction(value.ToTemporal(args[0], kind), t.Scale), nil
	})
}

// nines returns the largest number of a DECIMAL.
func nines(digits, scale int) string {
	b := make([]byte, 0, digits+1)
	for i := range digits {
		if i == digits-scale {
			b = append(b, '.')
		}
		b = append(b, '9')
	}
	return string(b)
}

// cutFraction cuts the seconds of a time to so many decimals.
func cutFraction(v value.Value, scale int) value.Value {
	if v.IsNull() || v.Kind == value.Date {
		return v
	}
	c := v.Clock()
	for i := 6; i > scale; i-- {
		c.Micro /= 10
	}
	for i := scale; i < 6; i++ {
		c.Micro *= 10
	}
	return value.OfClock(v.Kind, c)
}

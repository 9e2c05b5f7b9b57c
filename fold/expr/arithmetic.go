package expr

import (
	"fmt"
	"math"
	"math/big"

	"github.com/fanfold/fanfold/fold/value"
)

// numberKind returns the kind of a number that an operand is in arithmetic.
func numberKind(t value.Type) value.Kind {
	switch {
	case t.Kind == value.Integer, t.Kind == value.Decimal:
		return t.Kind
	case t.Kind == value.Binary && t.Unsigned:
		return value.Integer
	case t.Kind.IsTemporal() && t.Scale <= 0:
		return value.Integer
	case t.Kind.IsTemporal():
		return value.Decimal
	}
	return value.Double
}

// scaleOf returns the decimals of an operand.
func scaleOf(t value.Type) int {
	switch {
	case t.Kind == value.Decimal, t.Kind.IsTemporal():
		return t.Scale
	}
	return 0
}

// fixedScale returns the decimals with which an operand takes part in doubles; Floating: it has no fixed number.
func fixedScale(t value.Type) int {
	switch {
	case t.Kind == value.Integer, t.Kind == value.Null, t.Kind == value.Binary && t.Unsigned:
		return 0
	case t.Kind == value.Decimal, t.Kind == value.Double, t.Kind.IsTemporal():
		return t.Scale
	}
	return value.Floating
}

// arithmetic computes +, -, *, /, DIV and %.
func arithmetic(op string, l, r *Expr) *Expr {
	a, b := numberKind(l.Type), numberKind(r.Type)
	unsigned := l.Type.Unsigned || r.Type.Unsigned
	args := []*Expr{l, r}
	kind := max(a, b) // Integer, Decimal and Double are in this order
	switch {
	case op == "DIV":
		return strict(value.Type{Kind: value.Integer, Unsigned: unsigned}, args,
			func(args []value.Value) (value.Value, error) {
				return divide(args[0], args[1], unsigned)
			})
	case kind == value.Double:
		t := double
		if a, b := fixedScale(l.Type), fixedScale(r.Type); a >= 0 && b >= 0 {
			if t.Scale = max(a, b); op == "/" {
				t.Scale += divisionDigits
			}
		}
		return strict(t, args, func(args []value.Value) (value.Value, error) {
			return floats(op, args[0].ToFloat(), args[1].ToFloat())
		})
	case kind == value.Integer && op != "/":
		return strict(value.Type{Kind: value.Integer, Unsigned: unsigned && (op != "%" || l.Type.Unsigned)}, args,
			func(args []value.Value) (value.Value, error) {
				return integers(op, args[0].ToInt(), args[1].ToInt(), unsigned)
			})
	}
	t := value.Type{Kind: value.Decimal, Scale: decimals(op, scaleOf(l.Type), scaleOf(r.Type))}
	return strict(t, args, func(args []value.Value) (value.Value, error) {
		return decs(op, args[0].ToDec(), args[1].ToDec(), t.Scale)
	})
}

// divisionDigits are the decimals that a division adds, as div_precision_increment of MariaDB.
const divisionDigits = 4

// maxScale is the maximum number of decimals.
const maxScale = 38

// decimals returns the scale of a result.
func decimals(op string, a, b int) int {
	switch {
	case a == value.Floating || b == value.Floating && op != "/":
		return value.Floating
	case op == "*":
		return min(a+b, maxScale)
	case op == "/":
		return min(a+divisionDigits, maxScale)
	}
	return max(a, b)
}

func outOfRange(op string, a, b any, what, remedy string) error {
	return fmt.Errorf("%v %s %v is %w for %s: %s", a, op, b, value.ErrRange, what, remedy)
}

func integerOf64(unsigned bool) string {
	if unsigned {
		return "an unsigned integer of 64 bits"
	}
	return "an integer of 64 bits"
}

// integers computes exact integers of 64 bits.
func integers(op string, a, b value.Value, unsigned bool) (value.Value, error) {
	if op == "%" {
		return remainder(a, b)
	}
	if !unsigned {
		x, y := a.Int, b.Int
		switch op {
		case "+":
			if sum := x + y; (sum > x) == (y > 0) {
				return value.OfInt(sum), nil
			}
		case "-":
			if rest := x - y; (rest < x) == (y > 0) {
				return value.OfInt(rest), nil
			}
		case "*":
			if product := x * y; x == 0 || product/x == y && (x != -1 || y != math.MinInt64) {
				return value.OfInt(product), nil
			}
		}
	}
	n, x, y := new(big.Int), bigOf(a), bigOf(b)
	switch op {
	case "+":
		n.Add(x, y)
	case "-":
		n.Sub(x, y)
	case "*":
		n.Mul(x, y)
	}
	switch {
	case unsigned && n.IsUint64():
		return value.OfUint(n.Uint64()), nil
	case !unsigned && n.IsInt64():
		return value.OfInt(n.Int64()), nil
	}
	return value.Value{}, outOfRange(op, x, y, integerOf64(unsigned), "CAST a side AS DECIMAL(65)")
}

// bigOf returns an integer.
func bigOf(v value.Value) *big.Int {
	if v.Unsigned {
		return new(big.Int).SetUint64(uint64(v.Int))
	}
	return big.NewInt(v.Int)
}

// remainder has the sign of the dividend; by zero it is NULL.
func remainder(a, b value.Value) (value.Value, error) {
	x, y := bigOf(a), bigOf(b)
	if y.Sign() == 0 {
		return value.Value{}, nil
	}
	n := x.Rem(x, y)
	if a.Unsigned && n.IsUint64() {
		return value.OfUint(n.Uint64()), nil
	}
	return value.OfInt(n.Int64()), nil
}

// divide computes DIV, which cuts the quotient; by zero it is NULL.
func divide(a, b value.Value, unsigned bool) (value.Value, error) {
	x, y := a.ToDec(), b.ToDec()
	if y.Sign() == 0 {
		return value.Value{}, nil
	}
	n, _ := x.QuoRem(y)
	switch {
	case unsigned && n.IsUint64():
		return value.OfUint(n.Uint64()), nil
	case !unsigned && n.IsInt64():
		return value.OfInt(n.Int64()), nil
	}
	return value.Value{}, outOfRange("DIV", x, y, integerOf64(unsigned), "Use / instead")
}

// decs computes exact decimals; a division by zero is NULL.
func decs(op string, a, b value.Dec, scale int) (value.Value, error) {
	var d value.Dec
	switch op {
	case "+":
		d = a.Add(b)
	case "-":
		d = a.Add(b.Neg())
	case "*":
		d = a.Mul(b)
	case "/", "%":
		if b.Sign() == 0 {
			return value.Value{}, nil
		}
		if op == "%" {
			_, d = a.QuoRem(b)
			break
		}
		if d = a.Div(b, divisionDigits); scale == value.Floating {
			d = d.Round(min(a.Scale+divisionDigits, maxScale))
		}
	}
	if scale >= 0 && d.Scale > maxScale {
		d = d.Round(max(scale, maxScale))
	}
	if d.Digits()-d.Scale+max(scale, 0) > 65 {
		return value.Value{}, outOfRange(op, a, b, "a decimal of 65 digits",
			"ROUND the operands, or CAST a side AS DOUBLE")
	}
	return value.OfDec(d), nil
}

// floats computes doubles; a division by zero is NULL.
func floats(op string, a, b float64) (value.Value, error) {
	var f float64
	switch op {
	case "+":
		f = a + b
	case "-":
		f = a - b
	case "*":
		f = a * b
	default:
		if b == 0 {
			return value.Value{}, nil
		}
		if f = a / b; op == "%" {
			f = math.Mod(a, b)
		}
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return value.Value{}, outOfRange(op, a, b, "a double", "Use smaller numbers")
	}
	return value.OfFloat(f), nil
}

// negate computes -x.
func negate(x *Expr) *Expr {
	switch numberKind(x.Type) {
	case value.Double:
		t := double
		if x.Type.Kind == value.Double {
			t.Scale = x.Type.Scale
		}
		return strict(t, []*Expr{x}, func(args []value.Value) (value.Value,
			error) {
			return value.OfFloat(-args[0].ToFloat()), nil
		})
	case value.Decimal:
		return strict(value.Type{Kind: value.Decimal, Scale: scaleOf(x.Type)}, []*Expr{x},
			func(args []value.Value) (value.Value, error) {
				return value.OfDec(args[0].ToDec().Neg()), nil
			})
	}
	return strict(integer, []*Expr{x}, func(args []value.Value) (value.Value, error) {
		n := bigOf(args[0].ToInt())
		if n.Neg(n); !n.IsInt64() {
			return value.Value{}, fmt.Errorf("%v is %w for %s: CAST it AS DECIMAL(65)",
				n, value.ErrRange, integerOf64(false))
		}
		return value.OfInt(n.Int64()), nil
	})
}

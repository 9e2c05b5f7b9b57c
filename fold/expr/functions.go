package expr

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
	"github.com/fanfold/fanfold/report"
)

// function is a function of one row.
type function struct {
	min, max int // number of arguments; max -1: any
	make     func(c *call) *Expr
}

// call is a call of a function.
type call struct {
	*parse.Call
	args []*Expr
}

// functions are all functions, by name. Those of texts are in text.go, those of dates in date.go.
var functions map[string]function

func init() {
	functions = map[string]function{
		"IF":       {3, 3, ifThen},
		"IFNULL":   {2, 2, coalesce},
		"COALESCE": {1, -1, coalesce},
		"NULLIF":   {2, 2, nullIf},
		"ISNULL":   {1, 1, func(c *call) *Expr { return is(c.args[0], parse.Null, false) }},
		"LEAST":    {2, -1, func(c *call) *Expr { return extreme(c, -1) }},
		"GREATEST": {2, -1, func(c *call) *Expr { return extreme(c, 1) }},

		"ABS":      {1, 1, absolute},
		"SIGN":     {1, 1, sign},
		"MOD":      {2, 2, func(c *call) *Expr { return arithmetic("%", c.args[0], c.args[1]) }},
		"ROUND":    {1, 2, func(c *call) *Expr { return round(c, true) }},
		"TRUNCATE": {2, 2, func(c *call) *Expr { return round(c, false) }},
		"FLOOR":    {1, 1, func(c *call) *Expr { return whole(c, math.Floor, -1) }},
		"CEIL":     {1, 1, func(c *call) *Expr { return whole(c, math.Ceil, 1) }},
		"CEILING":  {1, 1, func(c *call) *Expr { return whole(c, math.Ceil, 1) }},
		"SQRT":     {1, 1, root},
		"POW":      {2, 2, pow},
		"POWER":    {2, 2, pow},
	}
	maps.Copy(functions, textFunctions)
	maps.Copy(functions, dateFunctions)
}

// Names returns the names of all functions and aggregates, sorted.
func Names() []string {
	return slices.Sorted(maps.Keys(functions))
}

// changing are functions whose result is another in every run.
var changing = map[string]string{
	"NOW": "datetime", "CURRENT_TIMESTAMP": "datetime", "SYSDATE": "datetime", "UTC_TIMESTAMP": "datetime",
	"CURTIME": "datetime", "CURDATE": "date", "CURRENT_DATE": "date", "UTC_DATE": "date",
	"RAND": "", "UUID": "", "CONNECTION_ID": "", "USER": "",
}

// call compiles a function.
func (s *Scope) call(c *parse.Call) *Expr {
	if IsAggregate(c) {
		refuse(c.Position, fmt.Sprintf("%s cannot stand here", c.Name),
			"Use it in the SELECT, in HAVING or in ORDER BY, and not inside of another one")
	}
	f, ok := functions[c.Name]
	if kind, is := changing[c.Name]; is && !ok {
		remedy := "A file that a crash interrupts is made again, and must have the same bytes: compute the value in the query of a listener"
		if kind != "" {
			remedy = fmt.Sprintf("A file that a crash interrupts is made again, and must have the same bytes: declare a parameter, such as at: {type: %s}, and write :at", kind)
		}
		refuse(c.Position, c.Name+" has another result in every run", remedy)
	}
	if !ok {
		refuse(c.Position, fmt.Sprintf("a fold has no function %s", c.Name),
			report.DidYouMean(c.Name, append(Names(), aggregateNames()...)))
	}
	if c.Star || c.Distinct || c.OrderBy != nil || c.Separator != nil {
		refuse(c.Position, fmt.Sprintf("%s is no aggregate", c.Name), "Write its arguments alone")
	}
	if n := len(c.Args); n < f.min || f.max >= 0 && n > f.max {
		refuse(c.Position, fmt.Sprintf("%s with %d arguments", c.Name, n), arity(f))
	}
	return f.make(&call{c, s.compileAll(c.Args)})
}

// arity says how many arguments a function takes.
func arity(f function) string {
	switch {
	case f.max < 0:
		return fmt.Sprintf("It takes at least %d", f.min)
	case f.min == f.max:
		return fmt.Sprintf("It takes %d", f.min)
	}
	return fmt.Sprintf("It takes %d to %d", f.min, f.max)
}

// Unify returns the type that has the values of several, as those of the branches of a CASE.
func Unify(types ...value.Type) value.Type {
	var t value.Type
	for _, other := range types {
		t = unify(t, other)
	}
	return t
}

func unify(a, b value.Type) value.Type {
	t := unified(a, b)
	if t.Collation, t.Explicit = nil, false; t.Kind.IsText() {
		t.Collation, t.Explicit = value.Derive(a, b)
	}
	return t
}

func unified(a, b value.Type) value.Type {
	switch {
	case a.Kind == value.Null:
		return b
	case b.Kind == value.Null:
		return a
	case a.Kind == value.Integer && b.Kind == value.Integer:
		if a.Unsigned != b.Unsigned {
			return value.Type{Kind: value.Decimal}
		}
		return value.Type{Kind: value.Integer, Unsigned: a.Unsigned}
	case a.Kind == value.Double && isNumber(b), b.Kind == value.Double && isNumber(a):
		t := double
		if x, y := fixedScale(a), fixedScale(b); x >= 0 && y >= 0 {
			t.Scale = max(x, y)
		}
		if a.Bits == 32 && b.Bits == 32 {
			t.Bits = 32
		}
		return t
	case isNumber(a) && isNumber(b):
		if a.Kind == value.Decimal && a.Scale == value.Floating || b.Kind == value.Decimal &&
			b.Scale == value.Floating {
			return value.Type{Kind: value.Decimal, Scale: value.Floating}
		}
		return value.Type{Kind: value.Decimal, Scale: max(scaleOf(a), scaleOf(b))}
	case a.Kind == b.Kind && (a.Kind == value.Datetime || a.Kind == value.Time):
		t := a
		if t.Scale = max(a.Scale, b.Scale); a.Scale == value.Floating || b.Scale == value.Floating {
			t.Scale = value.Floating
		}
		return t
	case a.Kind == b.Kind:
		return a
	case a.Kind == value.Date && b.Kind == value.Datetime:
		return b
	case a.Kind == value.Datetime && b.Kind == value.Date:
		return a
	case a.Kind == value.Binary || b.Kind == value.Binary:
		return value.Type{Kind: value.Binary}
	}
	return text
}

func isNumber(t value.Type) bool {
	return t.Kind == value.Integer || t.Kind == value.Decimal || t.Kind == value.Double
}

// Convert returns a value of one type as a value of a type that Unify returned for it.
func Convert(v value.Value, from, to value.Type) value.Value {
	switch {
	case v.IsNull():
		return v
	case to.Kind == value.Decimal:
		d := v.ToDec()
		if d.Scale < to.Scale {
			d = d.Round(to.Scale)
		}
		return value.OfDec(d)
	case to.Kind == value.Double:
		return value.OfFloat(v.ToFloat())
	case to.Kind == value.Datetime && v.Kind == value.Date:
		return value.ToTemporal(v, value.Datetime)
	case to.Kind.IsText() && v.Kind != to.Kind:
		return value.Value{Kind: to.Kind, Bytes: textOf(v, &Expr{Type: from})}
	}
	return v
}

// choose returns an expression whose value is that of one of several: pick returns its number, or -1 for NULL.
func choose(branches []*Expr, pick func(row [][]byte) (int, error)) *Expr {
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
	e := choose(c.args, func(row [][]byte) (int, error) {
		for i, a := range c.args {
			if v, err := a.eval(row); err != nil || !v.IsNull() {
				return i, err
			}
		}
		return -1, nil
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
	negative := negate(c.args[0])
	return &Expr{Type: t, eval: func(row [][]byte) (value.Value, error) {
		v, err := c.args[0].eval(row)
		if err != nil || v.IsNull() {
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
			return value.Value{}, outOfRange("POW", a, b, "a double", "Use smaller numbers")
		}
		return value.OfFloat(f), nil
	})
}

// cast computes CAST.
func cast(at parse.Position, x *Expr, to parse.CastType) *Expr {
	args := []*Expr{x}
	switch to.Name {
	case "CHAR", "BINARY":
		t := typeOfText(x)
		if to.Name == "BINARY" {
			t = value.Type{Kind: value.Binary}
		}
		return strict(t, args, func(args []value.Value) (value.Value, error) {
			b := textOf(args[0], x)
			if to.Length >= 0 {
				b = left(b, int64(to.Length), to.Name == "BINARY")
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

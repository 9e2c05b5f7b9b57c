package expr

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"unicode/utf8"

	"github.com/fanfold/fanfold/fold/collation"
	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
)

var (
	boolean = value.Type{Kind: value.Integer}
	double  = value.Type{Kind: value.Double, Scale: value.Floating}
	text    = value.Type{Kind: value.Text}
	integer = value.Type{Kind: value.Integer}
)

func not(x *Expr) *Expr {
	return strict(boolean, []*Expr{x}, func(args []value.Value) (value.Value, error) {
		truth, _ := args[0].Truth()
		return value.OfBool(!truth), nil
	})
}

// logic is OR, AND or XOR with three values. The right side is not computed if the left one decides.
func logic(op string, l, r *Expr) *Expr {
	return &Expr{Type: boolean, eval: func(row [][]byte) (value.Value, error) {
		left, err := l.eval(row)
		if err != nil {
			return left, err
		}
		a, knownA := left.Truth()
		if knownA && op != "XOR" && a == (op == "OR") {
			return value.OfBool(a), nil
		}
		right, err := r.eval(row)
		if err != nil {
			return right, err
		}
		b, knownB := right.Truth()
		switch {
		case knownB && op != "XOR" && b == (op == "OR"):
			return value.OfBool(b), nil
		case !knownA || !knownB:
			return value.Value{}, nil
		}
		return value.OfBool(op == "XOR" && a != b || op == "AND"), nil
	}}
}

// is computes X IS [NOT] NULL, TRUE or FALSE.
func is(x *Expr, what parse.LiteralKind, not bool) *Expr {
	return apply(boolean, []*Expr{x}, func(args []value.Value) (value.Value, error) {
		truth, known := args[0].Truth()
		var holds bool
		switch what {
		case parse.Null:
			holds = args[0].IsNull()
		case parse.True:
			holds = known && truth
		default:
			holds = known && !truth
		}
		return value.OfBool(holds != not), nil
	})
}

// comparer compares the values of two expressions.
type comparer struct {
	l, r *Expr
	Comparison
}

func newComparer(l, r *Expr) comparer {
	return comparer{l, r, Comparison{value.Common(l.Type.Kind, r.Type.Kind), value.Floating, collationOf(l, r)}}
}

// compare returns the order of two values; known is false if one is NULL.
func (c comparer) compare(a, b value.Value) (order int, known bool) {
	if a, b = c.Of(c.l.shown(a)), c.Of(c.r.shown(b)); a.IsNull() || b.IsNull() {
		return 0, false
	}
	return value.Compare(a, b), true
}

// comparison computes =, <=>, <>, <, <=, > and >=.
func comparison(op string, l, r *Expr) *Expr {
	return comparer{l, r, comparisonOf(l, r)}.holds(op)
}

// holds computes a comparison.
func (c comparer) holds(op string) *Expr {
	return apply(boolean, []*Expr{c.l, c.r}, func(args []value.Value) (value.Value, error) {
		if op == "<=>" && (args[0].IsNull() || args[1].IsNull()) {
			return value.OfBool(args[0].IsNull() && args[1].IsNull()), nil
		}
		order, known := c.compare(args[0], args[1])
		if !known {
			return value.Value{}, nil
		}
		return value.OfBool(ordered(op, order)), nil
	})
}

func ordered(op string, order int) bool {
	switch op {
	case "=", "<=>":
		return order == 0
	case "<>":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// in computes X [NOT] IN (list).
func in(x *Expr, list []*Expr, not bool) *Expr {
	comparers := make([]comparer, len(list))
	for i, item := range list {
		comparers[i] = newComparer(x, item)
	}
	return apply(boolean, append([]*Expr{x}, list...), func(args []value.Value) (value.Value, error) {
		unknown := args[0].IsNull()
		for i, item := range args[1:] {
			order, known := comparers[i].compare(args[0], item)
			if known && order == 0 {
				return value.OfBool(!not), nil
			}
			unknown = unknown || !known
		}
		if unknown {
			return value.Value{}, nil
		}
		return value.OfBool(not), nil
	})
}

// between computes X [NOT] BETWEEN low AND high. Both bounds are compared as one kind.
func between(x, low, high *Expr, negative bool) *Expr {
	l, h := newComparer(x, low), newComparer(x, high)
	l.Kind = value.Common(l.Kind, h.Kind)
	h.Kind = l.Kind
	both := logic("AND", l.holds(">="), h.holds("<="))
	if negative {
		return not(both)
	}
	return both
}

// like computes X [NOT] LIKE pattern.
func like(x, pattern, escape *Expr, not bool) *Expr {
	c := collationOf(x, pattern)
	return strict(boolean, []*Expr{x, pattern, escape}, func(args []value.Value) (value.Value, error) {
		by := byte(0)
		if e := args[2].Bytes; len(e) > 0 {
			by = e[0]
		}
		return value.OfBool(likes(c, textOf(args[0], x), textOf(args[1], pattern), by) != not), nil
	})
}

// escapeOf returns the character that makes % and _ of a pattern literal.
func (s *Scope) escapeOf(e *parse.Like) *Expr {
	if e.Escape == nil {
		return constant(value.OfText([]byte(`\`)), text)
	}
	escape := s.compile(e.Escape)
	if v, ok := constantOf(escape); !ok || !v.Kind.IsText() || len(v.Bytes) > 1 {
		refuse(e.Escape.Pos(), "not a single ASCII character", "Write ESCAPE '|'")
	}
	return escape
}

// likes tells whether a text matches a pattern, in which % stands for any characters and _ for one.
func likes(c *collation.Collation, text, pattern []byte, escape byte) bool {
	star, back := -1, 0 // of the last %, and where its text ends
	t, p := 0, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '%' && escape != '%':
			star, back = p, t
			p++
			continue
		case p < len(pattern) && pattern[p] == '_' && escape != '_':
			t += runeLength(text[t:])
			p++
			continue
		case p < len(pattern):
			at := p
			if pattern[p] == escape && escape != 0 && p+1 < len(pattern) {
				at++
			}
			wanted, width := utf8.DecodeRune(pattern[at:])
			if char, size := utf8.DecodeRune(text[t:]); c.EqualRunes(char, wanted) {
				t, p = t+size, at+width
				continue
			}
		}
		if star < 0 {
			return false
		}
		back += runeLength(text[back:])
		t, p = back, star+1
	}
	for p < len(pattern) && pattern[p] == '%' {
		p++
	}
	return p == len(pattern)
}

// runeLength returns the length of the first character of a text.
func runeLength(text []byte) int {
	n := 1
	for n < len(text) && text[n]&0xC0 == 0x80 {
		n++
	}
	return n
}

// matches computes X [NOT] REGEXP pattern.
func matches(x, pattern *Expr, not bool) *Expr {
	flags := ""
	if !collationOf(x, pattern).ComparesBytes() {
		flags = "(?i)"
	}
	var last string
	var compiled *regexp.Regexp
	prepare := func(p []byte) error {
		if compiled != nil && last == string(p) {
			return nil
		}
		re, err := regexp.Compile(flags + string(p))
		if err != nil {
			return fmt.Errorf("the regular expression %q: %w", p, err)
		}
		compiled, last = re, string(p)
		return nil
	}
	if v, ok := constantOf(pattern); ok && !v.IsNull() {
		if err := prepare(textOf(v, pattern)); err != nil {
			refuse(pattern.at, err.Error(), "Write it in the syntax of RE2, which has no lookarounds and backreferences")
		}
	}
	return strict(boolean, []*Expr{x, pattern}, func(args []value.Value) (value.Value, error) {
		if err := prepare(textOf(args[1], pattern)); err != nil {
			return value.Value{}, err
		}
		return value.OfBool(compiled.Match(textOf(args[0], x)) != not), nil
	})
}

// numberKind returns the kind of a number that an operand is in arithmetic.
func numberKind(t value.Type) value.Kind {
	switch {
	case t.Kind == value.Integer, t.Kind == value.Decimal:
		return t.Kind
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
	case t.Kind == value.Integer, t.Kind == value.Null:
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
	return fmt.Errorf("%v %s %v is out of the range of %s: %w: %s", a, op, b, what, value.ErrRange, remedy)
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
	return value.Value{}, outOfRange(op, x, y, "an integer of 64 bits", "CAST a side AS DECIMAL(65)")
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
	return value.Value{}, outOfRange("DIV", x, y, "an integer of 64 bits", "Use / instead")
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
			return value.Value{}, outOfRange("-", "", n, "an integer of 64 bits", "CAST it AS DECIMAL(65)")
		}
		return value.OfInt(n.Int64()), nil
	})
}

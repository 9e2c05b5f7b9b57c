package expr

import (
	"fmt"

	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
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

// refuseComparison refuses a time beside a date, which MariaDB compares with the time of today.
func refuseComparison(l, r value.Kind, at parse.Position) {
	if l.Clashes(r) {
		refuse(at, fmt.Sprintf("a %s is compared with a %s", l, r),
			"Write TIME(…) around the one with a date to compare the times of day")
	}
}

func newComparer(l, r *Expr) comparer {
	both := zoned(l, r)
	l, r = both[0], both[1]
	refuseComparison(l.Type.Kind, r.Type.Kind, r.at)
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
	return newComparer(l, r).exact().holds(op)
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
	if len(list) == 1 {
		return comparison(map[bool]string{false: "=", true: "<>"}[not], x, list[0])
	}
	all := zoned(append([]*Expr{x}, list...)...)
	x, list = all[0], all[1:]
	comparers := make([]comparer, len(list))
	for i, item := range list {
		comparers[i] = newComparer(x, item)
	}
	return apply(boolean, all, func(args []value.Value) (value.Value, error) {
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
	low, high = wholeBounds(x, low, high)
	l, h := newComparer(x, low), newComparer(x, high)
	refuseComparison(low.Type.Kind, high.Type.Kind, high.at)
	l.Kind = value.Common(l.Kind, high.Type.Kind)
	h.Kind = l.Kind
	both := logic("AND", l.holds(">="), h.holds("<="))
	if negative {
		return not(both)
	}
	return both
}

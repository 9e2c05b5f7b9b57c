package expr

import (
	"github.com/fanfold/fanfold/fold/value"
)

// Unify returns the type that has the values of several, as those of the branches of a CASE.
func Unify(types ...value.Type) value.Type {
	var t value.Type
	for _, other := range types {
		t = unify(t, other)
	}
	t.Unsigned = t.Unsigned && t.Kind == value.Integer
	return t
}

func unify(a, b value.Type) value.Type {
	switch { // 0x41 is a text beside one of a column
	case a.Kind == value.Binary && a.Unsigned && b.Collation != nil:
		a = text
	case b.Kind == value.Binary && b.Unsigned && a.Collation != nil:
		b = text
	}
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
		t.Zone, _ = value.ZoneOf(a, b)
		t.Scale = commonScale(a.Scale, b.Scale)
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

// commonScale returns the decimals of the seconds of several datetimes. One whose decimals are not known has at most 6.
func commonScale(a, b int) int {
	if (a == value.Floating || b == value.Floating) && max(a, b) < 6 {
		return value.Floating
	}
	return max(a, b)
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
	case v.Kind == value.Binary && v.Unsigned:
		return value.Value{Kind: to.Kind, Bytes: v.Bytes}
	case to.Kind.IsText() && v.Kind != to.Kind:
		return value.Value{Kind: to.Kind, Bytes: textOf(v, &Expr{Type: from})}
	}
	return v
}

var (
	boolean = value.Type{Kind: value.Integer}
	double  = value.Type{Kind: value.Double, Scale: value.Floating}
	text    = value.Type{Kind: value.Text}
	integer = value.Type{Kind: value.Integer}
)

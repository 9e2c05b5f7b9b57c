package expr

import "github.com/fanfold/fanfold/fold/value"

// exact chooses how values compare, as MariaDB does. Doubles with a fixed number of decimals are rounded to these: a
// FLOAT(8,2) of 0.14 is 0.14. A decimal and a constant text are decimals, and an integer column and a constant double
// without a fraction are integers. The values of CASE, and those of IN if there are several, compare by their types
// alone.
func (c comparer) exact() comparer {
	if c.Kind != value.Double {
		return c
	}
	if x, y := fixedScale(c.l.Type), fixedScale(c.r.Type); x >= 0 && y >= 0 {
		c.scale = max(x, y)
	}
	if isDecimalWithText(c.l, c.r) || isDecimalWithText(c.r, c.l) {
		c.Kind = value.Decimal
	} else if whole, ok := wholeFor(c.l, c.r); ok {
		c.r, c.Kind = whole, value.Integer
	} else if whole, ok := wholeFor(c.r, c.l); ok {
		c.l, c.Kind = whole, value.Integer
	}
	return c
}

// isDecimalWithText tells whether a decimal is compared with a constant text.
func isDecimalWithText(decimal, text *Expr) bool {
	return decimal.Type.Kind == value.Decimal && !decimal.constant && text.Type.Kind.IsText() && text.constant
}

// wholeBounds returns the bounds of a BETWEEN as integers if they are constants that an integer column can have.
func wholeBounds(x, low, high *Expr) (*Expr, *Expr) {
	l, ok := wholeFor(x, low)
	if h, both := wholeFor(x, high); ok && both {
		return l, h
	}
	return low, high
}

// wholeFor returns a constant as an integer that an integer column can have; false: it is none.
func wholeFor(column, e *Expr) (*Expr, bool) {
	v, ok := constantOf(e)
	if _, is := column.Column(); !is || column.Type.Kind != value.Integer || !ok || v.IsNull() ||
		v.Kind.IsTemporal() {
		return nil, false
	}
	var n value.Value
	if v.Kind == value.Double { // its shortest digits are not all of it
		n = v.ToInt()
		ok = n.ToFloat() == v.Float
	} else {
		d := v.ToDec()
		n = value.OfDec(d).ToInt()
		ok = n.ToDec().Cmp(d) == 0
	}
	if !ok || n.Unsigned && !column.Type.Unsigned || n.Int < 0 && !n.Unsigned && column.Type.Unsigned {
		return nil, false
	}
	whole := constant(n, value.Type{Kind: value.Integer, Unsigned: n.Unsigned})
	whole.at = e.at
	return whole, true
}

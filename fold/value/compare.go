package value

import (
	"cmp"
	"encoding/binary"
	"math"
)

// Common returns the kind by which values of two kinds are compared, as MariaDB chooses it.
func Common(a, b Kind) Kind {
	switch {
	case a == b, b == Null:
		return a
	case a == Null:
		return b
	case a.IsText() && b.IsText():
		return Text
	case a.IsTemporal() && b.IsTemporal():
		if a == Time || b == Time {
			return max(a, b)
		}
		return Datetime
	case a.IsTemporal() && b.IsText():
		return dated(a)
	case b.IsTemporal() && a.IsText():
		return dated(b)
	case a == Integer && (b == Decimal || b.IsText()), b == Integer && (a == Decimal || a.IsText()):
		return Decimal // a double would not tell large integers apart
	case a.IsTemporal():
		return dated(a)
	case b.IsTemporal():
		return dated(b)
	}
	return Double
}

// dated is the kind by which a date or time is compared with a text.
func dated(k Kind) Kind {
	if k == Date {
		return Datetime
	}
	return k
}

// As converts a value to the kind of a comparison.
func (v Value) As(kind Kind) Value {
	switch {
	case v.Kind == Null || v.Kind == kind:
		return v
	case kind == Decimal:
		return OfDec(v.ToDec())
	case kind == Double:
		return OfFloat(v.ToFloat())
	case kind.IsTemporal():
		return Compared(v, kind)
	case kind.IsText() && v.Kind.IsText():
		return Value{Kind: kind, Bytes: v.Bytes, Collation: v.Collation}
	}
	return v
}

// Compare compares two values of one kind, neither of which is NULL. Texts compare by the collation of the first one.
func Compare(a, b Value) int {
	switch a.Kind {
	case Integer:
		switch {
		case a.Unsigned && !b.Unsigned:
			return 1
		case b.Unsigned && !a.Unsigned:
			return -1
		case a.Unsigned:
			return cmp.Compare(uint64(a.Int), uint64(b.Int))
		}
		return cmp.Compare(a.Int, b.Int)
	case Decimal:
		return a.Dec.Cmp(b.Dec)
	case Double:
		return cmp.Compare(a.Float, b.Float)
	case Date, Datetime, Time:
		return cmp.Compare(a.Int, b.Int)
	}
	return a.Collation.Compare(a.Bytes, b.Bytes)
}

// The first byte of a key. NULL comes first.
const (
	keyNull  = 0
	keyValue = 1
)

// AppendKey appends a key of a value: keys of values of one kind are equal if and only if the values are, and their
// order is that of the values, NULL first. Keys of texts depend on the collation.
func (v Value) AppendKey(dst []byte) []byte {
	if v.Kind == Null {
		return append(dst, keyNull)
	}
	dst = append(dst, keyValue)
	switch v.Kind {
	case Integer:
		dst = append(dst, byte(b2i(v.Unsigned))) // those above the int64s come last
		return binary.BigEndian.AppendUint64(dst, uint64(v.Int)^1<<63*uint64(1-b2i(v.Unsigned)))
	case Decimal:
		return appendDecKey(dst, v.Dec)
	case Double:
		bits := math.Float64bits(v.Float + 0) // -0 is 0
		if v.Float < 0 {
			bits = ^bits
		} else {
			bits |= 1 << 63
			if v.Float == 0 {
				bits = 1 << 63
			}
		}
		return binary.BigEndian.AppendUint64(dst, bits)
	case Date, Datetime, Time:
		return binary.BigEndian.AppendUint64(dst, uint64(v.Int)^1<<63)
	}
	return v.Collation.AppendKey(dst, v.Bytes)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// appendDecKey appends a key of a decimal: its sign and number of digits before the point, its digits, and an end.
// All of it is inverted if it is negative.
func appendDecKey(dst []byte, d Dec) []byte {
	d = reduced(d)
	start := len(dst)
	sign := d.Sign()
	if sign == 0 {
		return append(dst, 0x80)
	}
	if sign < 0 {
		d = d.Neg()
	}
	text := d.append(make([]byte, 0, 40))
	whole := 0
	for whole < len(text) && text[whole] != '.' {
		whole++
	}
	if whole == 1 && text[0] == '0' {
		text, whole = text[1:], 0
	}
	dst = append(dst, 0x81, byte(whole))
	for _, c := range text {
		if c != '.' {
			dst = append(dst, c)
		}
	}
	dst = append(dst, 0)
	if sign < 0 {
		for i := start; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// Invert inverts a key, so that its order is descending.
func Invert(key []byte) {
	for i := range key {
		key[i] = ^key[i]
	}
}

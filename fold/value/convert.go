package value

import (
	"errors"
	"math"
	"math/big"
	"strconv"
)

// ErrRange matches the errors of results that are out of range.
var ErrRange = errors.New("out of range")

// ToFloat returns a value as a double. A text is its numeric beginning, or 0.
func (v Value) ToFloat() float64 {
	switch v.Kind {
	case Integer:
		if v.Unsigned {
			return float64(uint64(v.Int))
		}
		return float64(v.Int)
	case Decimal:
		return v.Dec.Float()
	case Double:
		return v.Float
	case Text, JSON, Binary:
		if v.Unsigned {
			return numberOf(v.Bytes).ToFloat()
		}
		f, _ := strconv.ParseFloat(string(numeric(v.Bytes)), 64)
		if math.IsInf(f, 0) {
			return math.Copysign(math.MaxFloat64, f)
		}
		return f
	case Null:
		return 0
	}
	return v.ToDec().Float()
}

// numeric returns the part of a text that is a number, after white space; 0 if it does not begin with one.
func numeric(text []byte) []byte {
	for len(text) > 0 && isSpace(text[0]) {
		text = text[1:]
	}
	i, digits := 0, 0
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		i++
	}
	for point := false; i < len(text) && (isDigit(text[i]) || text[i] == '.' && !point); i++ {
		if text[i] == '.' {
			point = true
		} else {
			digits++
		}
	}
	if digits == 0 {
		return []byte("0")
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		j := i + 1
		if j < len(text) && (text[j] == '-' || text[j] == '+') {
			j++
		}
		from := j
		for j < len(text) && isDigit(text[j]) {
			j++
		}
		if j > from {
			i = j
		}
	}
	return text[:i]
}

// ToDec returns a value as a decimal. Dates are YYYYMMDD[hhmmss], times hhmmss.
func (v Value) ToDec() Dec {
	switch v.Kind {
	case Integer:
		if v.Unsigned {
			return DecOfUint(uint64(v.Int))
		}
		return DecOf(v.Int)
	case Decimal:
		return v.Dec
	case Double:
		d, _ := ParseDec(strconv.AppendFloat(nil, v.Float, 'f', -1, 64))
		return d
	case Text, JSON, Binary:
		if v.Unsigned {
			return numberOf(v.Bytes).ToDec()
		}
		text := numeric(v.Bytes)
		d, ok := ParseDec(text)
		if f := v.ToFloat(); !ok && math.Abs(f) > 1 { // beyond all decimals, as by its exponent
			d = maxDec
			if f < 0 {
				d = d.Neg()
			}
		}
		return d
	case Date, Datetime, Time:
		c := v.Clock()
		n := int64(c.Hour)*10000 + int64(c.Minute)*100 + int64(c.Second)
		if v.Kind != Time {
			n += (int64(c.Year)*10000 + int64(c.Month)*100 + int64(c.Day)) * 1_000_000
		}
		if v.Kind == Date {
			n /= 1_000_000
		}
		d := DecOf(n)
		if c.Micro != 0 {
			d = d.Add(Dec{small: int64(c.Micro), Scale: 6})
		}
		if c.Negative {
			d = d.Neg()
		}
		return d
	}
	return Dec{}
}

// ToInt returns a value as an integer, rounded.
func (v Value) ToInt() Value {
	switch v.Kind {
	case Null, Integer:
		return v
	case Double:
		f := math.RoundToEven(v.Float)
		switch {
		case f >= 1<<63 && f < 1<<64:
			return OfUint(uint64(f))
		case f >= 1<<63:
			return OfInt(math.MaxInt64)
		case f < -1<<63:
			return OfInt(math.MinInt64)
		}
		return OfInt(int64(f))
	case Text, JSON, Binary:
		return OfDec(v.digits()).ToInt()
	}
	n := v.ToDec().Round(0).int()
	switch {
	case n.IsInt64():
		return OfInt(n.Int64())
	case n.IsUint64():
		return OfUint(n.Uint64())
	case n.Sign() < 0:
		return OfInt(math.MinInt64)
	}
	return OfInt(math.MaxInt64)
}

// Cast returns a value as an integer, as CAST does: what is out of range becomes the nearest, but the bits of an
// integer stay. A negative fraction becomes 0 where the result is unsigned.
func (v Value) Cast(unsigned bool) Value {
	var n *big.Int
	switch v.Kind {
	case Null:
		return v
	case Integer:
		n = big.NewInt(v.Int)
	case Text, JSON, Binary:
		if n = v.digits().int(); n.Sign() < 0 && !n.IsInt64() {
			n = big.NewInt(math.MinInt64)
		}
		if !unsigned && n.IsUint64() {
			n = big.NewInt(int64(n.Uint64()))
		} else if !unsigned && n.Sign() > 0 {
			n = big.NewInt(-1) // the bits of the largest
		}
	case Date, Datetime, Time:
		n = v.ToDec().Truncate(0).int()
	case Double:
		n, _ = big.NewFloat(math.RoundToEven(v.Float)).Int(nil)
	default:
		n = v.ToDec().Round(0).int()
	}
	if unsigned && v.Kind != Integer && !v.Kind.IsText() && n.Sign() < 0 {
		n = new(big.Int)
	}
	switch {
	case n.IsInt64() && unsigned:
		return OfUint(uint64(n.Int64()))
	case n.IsUint64() && unsigned:
		return OfUint(n.Uint64())
	case unsigned:
		return OfUint(math.MaxUint64)
	case n.IsInt64():
		return OfInt(n.Int64())
	case n.Sign() < 0:
		return OfInt(math.MinInt64)
	}
	return OfInt(math.MaxInt64)
}

// numberOf returns the integer whose last 8 bytes are given.
func numberOf(b []byte) Value {
	n := uint64(0)
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return OfUint(n)
}

// digits returns the integer at the start of a text.
func (v Value) digits() Dec {
	if v.Unsigned {
		return numberOf(v.Bytes).ToDec()
	}
	text := numeric(v.Bytes)
	for i, c := range text {
		if c == '.' || c|0x20 == 'e' {
			text = text[:i]
			break
		}
	}
	d, _ := ParseDec(text)
	return d
}

// Truth returns whether a value is true: neither zero nor NULL. known is false for NULL.
func (v Value) Truth() (truth, known bool) {
	switch v.Kind {
	case Null:
		return false, false
	case Integer:
		return v.Int != 0, true
	case Decimal:
		return v.Dec.Sign() != 0, true
	case Date, Datetime, Time:
		return v.Int != 0, true
	}
	return v.ToFloat() != 0, true
}

// ToTemporal returns a value as a date, datetime or time: NULL if it is none.
func ToTemporal(v Value, kind Kind) Value {
	t, how := temporalOf(v, kind)
	if how < readPart {
		return Value{}
	}
	return t
}

// Compared returns a value as the date, datetime or time by which it is compared. As in MariaDB, a text or number that
// is none is 0000-00-00 or 00:00:00, and a day that the month does not have is after its last one.
func Compared(v Value, kind Kind) Value {
	t, _ := temporalOf(v, kind)
	return t
}

// temporalOf reads a value as a date, datetime or time, with zeros if it is none. A time is no date, and NULL.
func temporalOf(v Value, kind Kind) (Value, reading) {
	switch v.Kind {
	case Null:
		return Value{}, noTemporal
	case Date, Datetime:
		c := v.Clock()
		if kind == Time {
			c.Year, c.Month, c.Day = 0, 0, 0
		}
		return OfClock(kind, c), readWhole
	case Time:
		if kind == Time {
			return v, readWhole
		}
		return Value{}, noTemporal // it depends on today's date
	case Text, JSON, Binary:
		return readTemporal(v.Bytes, kind)
	}
	return ofNumber(v.ToDec(), kind)
}

// Exists tells whether a date has a day that its month has; zeros have.
func (v Value) Exists() bool { return v.Kind == Time || v.Clock().HasDay() }

package value

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

// Dec is a decimal: coefficient × 10^-scale. Coefficients of up to 18 digits need no allocation.
type Dec struct {
	small int64
	big   *big.Int // nil: small is the coefficient
	Scale int
}

// Limits of a decimal, as in MariaDB.
const (
	maxDigits = 65
	maxScale  = 38
)

// maxDec is the largest decimal.
var maxDec = normal(new(big.Int).Sub(new(big.Int).Exp(big.NewInt(10), big.NewInt(maxDigits), nil), big.NewInt(1)), 0)

// powers are the powers of ten that fit into an int64.
var powers = func() (p [19]int64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

func power(n int) *big.Int {
	if n < len(powers) {
		return big.NewInt(powers[n])
	}
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// DecOf returns an integer as a decimal.
func DecOf(n int64) Dec {
	if n == math.MinInt64 {
		return Dec{big: big.NewInt(n)} // -n is no int64
	}
	return Dec{small: n}
}

// DecOfSmall returns coefficient × 10^-scale, of what SmallOf has returned.
func DecOfSmall(coefficient int64, scale int) Dec { return Dec{small: coefficient, Scale: scale} }

// SmallOf returns the coefficient of a decimal if it is an int64; false: it is larger.
func SmallOf(d Dec) (coefficient int64, ok bool) { return d.small, d.big == nil }

// DecOfUint returns an integer as a decimal.
func DecOfUint(n uint64) Dec { return normal(new(big.Int).SetUint64(n), 0) }

// normal returns a decimal in its smallest form.
func normal(n *big.Int, scale int) Dec {
	if n.IsInt64() {
		if small := n.Int64(); small != -1<<63 {
			return Dec{small: small, Scale: scale}
		}
	}
	return Dec{big: n, Scale: scale}
}

func (d Dec) int() *big.Int {
	if d.big != nil {
		return d.big
	}
	return big.NewInt(d.small)
}

// ParseDec parses a number in plain or scientific form. It keeps the zeros at the end.
func ParseDec(text []byte) (Dec, bool) {
	digits, scale, point, seen := int64(0), 0, false, 0
	negative := len(text) > 0 && text[0] == '-'
	rest := text
	if len(rest) > 0 && (rest[0] == '-' || rest[0] == '+') {
		rest = rest[1:]
	}
	for _, c := range rest {
		switch {
		case c == '.' && !point:
			point = true
		case c|0x20 == 'e':
			return parseBig(text)
		case c < '0' || c > '9':
			return Dec{}, false
		default:
			if seen++; seen > 18 {
				return parseBig(text)
			}
			if digits = digits*10 + int64(c-'0'); point {
				scale++
			}
		}
	}
	if negative {
		digits = -digits
	}
	return Dec{small: digits, Scale: scale}, seen > 0
}

// parseBig parses a long number, or one with an exponent.
func parseBig(text []byte) (Dec, bool) {
	if len(text) > 400 {
		return Dec{}, false
	}
	r, ok := new(big.Rat).SetString(string(text))
	if !ok {
		return Dec{}, false
	}
	scale, exponent := 0, 0
	for i, c := range text {
		if c == '.' {
			for scale = 0; i+1+scale < len(text) && text[i+1+scale]|0x20 != 'e'; scale++ {
			}
		}
		if c|0x20 == 'e' {
			exponent, _ = strconv.Atoi(string(text[i+1:]))
		}
	}
	if scale = max(0, scale-exponent); scale > 400 || exponent > 400 {
		return Dec{}, false
	}
	n := new(big.Int).Mul(r.Num(), power(scale))
	return normal(n.Quo(n, r.Denom()), scale), true
}

// append appends the digits, with as many decimals as the scale.
func (d Dec) append(dst []byte) []byte {
	start := len(dst)
	if d.big != nil {
		dst = d.big.Append(dst, 10)
	} else {
		dst = strconv.AppendInt(dst, d.small, 10)
	}
	if d.Scale == 0 {
		return dst
	}
	if dst[start] == '-' {
		start++
	}
	for len(dst)-start <= d.Scale {
		dst = append(dst, 0)
		copy(dst[start+1:], dst[start:])
		dst[start] = '0'
	}
	point := len(dst) - d.Scale
	dst = append(dst, 0)
	copy(dst[point+1:], dst[point:])
	dst[point] = '.'
	return dst
}

// Sign returns -1, 0 or 1.
func (d Dec) Sign() int {
	if d.big != nil {
		return d.big.Sign()
	}
	switch {
	case d.small < 0:
		return -1
	case d.small > 0:
		return 1
	}
	return 0
}

// Neg returns -d.
func (d Dec) Neg() Dec {
	if d.big != nil {
		return normal(new(big.Int).Neg(d.big), d.Scale)
	}
	return Dec{small: -d.small, Scale: d.Scale}
}

// Round returns the decimal with another scale, rounded half away from zero.
func (d Dec) Round(scale int) Dec { return d.rescale(scale, true) }

// Truncate returns the decimal with another scale, cut.
func (d Dec) Truncate(scale int) Dec { return d.rescale(scale, false) }

// rescale changes the scale; below zero it makes zeros before the point.
func (d Dec) rescale(scale int, round bool) Dec {
	switch {
	case scale == d.Scale:
		return d
	case scale > d.Scale:
		by := scale - d.Scale
		if d.big == nil && by < len(powers) {
			if hi, lo := bits.Mul64(uint64(abs(d.small)), uint64(powers[by])); hi == 0 && lo < 1<<63 {
				return Dec{small: d.small * powers[by], Scale: scale}
			}
		}
		return normal(new(big.Int).Mul(d.int(), power(by)), scale)
	}
	n, rest := new(big.Int).QuoRem(d.int(), power(d.Scale-scale), new(big.Int))
	if round && rest.Abs(rest).Lsh(rest, 1).Cmp(power(d.Scale-scale)) >= 0 {
		n.Add(n, big.NewInt(int64(d.Sign())))
	}
	if scale < 0 {
		return normal(n.Mul(n, power(-scale)), 0)
	}
	return normal(n, scale)
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// Add returns the exact sum.
func (d Dec) Add(o Dec) Dec {
	if d.Scale != o.Scale {
		scale := max(d.Scale, o.Scale)
		d, o = d.Round(scale), o.Round(scale)
	}
	if d.big == nil && o.big == nil {
		if sum := d.small + o.small; (sum > d.small) == (o.small > 0) && sum != -1<<63 {
			return Dec{small: sum, Scale: d.Scale}
		}
	}
	return normal(new(big.Int).Add(d.int(), o.int()), d.Scale)
}

// Mul returns the product, rounded to the maximum scale.
func (d Dec) Mul(o Dec) Dec {
	scale := d.Scale + o.Scale
	if d.big == nil && o.big == nil {
		if hi, lo := bits.Mul64(uint64(abs(d.small)), uint64(abs(o.small))); hi == 0 && lo < 1<<63 {
			return Dec{small: d.small * o.small, Scale: scale}.Round(min(scale, maxScale))
		}
	}
	return normal(new(big.Int).Mul(d.int(), o.int()), scale).Round(min(scale, maxScale))
}

// Div returns the quotient, cut; o is not zero. more are the decimals that it has besides those of d. As in MariaDB,
// which counts in groups of 9 digits (do_div_mod in strings/decimal.c), it has some more; what shows it rounds.
func (d Dec) Div(o Dec, more int) Dec {
	const group = 9
	up := func(n int) int { return (n + group - 1) / group * group }
	a, b := up(d.Scale), up(o.Scale)
	scale := up(a + b + max(0, more-(a-d.Scale)-(b-o.Scale)))
	by := scale + o.Scale - d.Scale
	n, m := new(big.Int).Set(d.int()), new(big.Int).Set(o.int())
	if by >= 0 {
		n.Mul(n, power(by))
	} else {
		m.Mul(m, power(-by))
	}
	return normal(n.Quo(n, m), scale)
}

// QuoRem returns the integer quotient, cut, and the rest; o is not zero.
func (d Dec) QuoRem(o Dec) (quotient *big.Int, rest Dec) {
	scale := max(d.Scale, o.Scale)
	d, o = d.Round(scale), o.Round(scale)
	q, r := new(big.Int).QuoRem(d.int(), o.int(), new(big.Int))
	return q, normal(r, scale)
}

// Cmp compares by value.
func (d Dec) Cmp(o Dec) int {
	if d.Scale != o.Scale {
		scale := max(d.Scale, o.Scale)
		d, o = d.Round(scale), o.Round(scale)
	}
	if d.big == nil && o.big == nil {
		switch {
		case d.small < o.small:
			return -1
		case d.small > o.small:
			return 1
		}
		return 0
	}
	return d.int().Cmp(o.int())
}

// Float returns the nearest double.
func (d Dec) Float() float64 {
	f, _ := strconv.ParseFloat(string(d.append(make([]byte, 0, 32))), 64)
	return f
}

// reduced returns the decimal without zeros at the end of its fraction.
func reduced(d Dec) Dec {
	if d.big == nil {
		for d.Scale > 0 && d.small%10 == 0 {
			d.small /= 10
			d.Scale--
		}
		return d
	}
	n, rest, ten := new(big.Int).Set(d.big), new(big.Int), big.NewInt(10)
	for d.Scale > 0 {
		q, r := new(big.Int).QuoRem(n, ten, rest)
		if r.Sign() != 0 {
			break
		}
		n = q
		d.Scale--
	}
	return normal(n, d.Scale)
}

// Digits returns the number of digits without leading zeros, those of the fraction included.
func (d Dec) Digits() int {
	if d.big == nil {
		n := 0
		for small := abs(d.small); small > 0; small /= 10 {
			n++
		}
		return max(n, d.Scale)
	}
	return max(len(new(big.Int).Abs(d.big).String()), d.Scale)
}

// String returns the digits.
func (d Dec) String() string { return string(d.append(nil)) }

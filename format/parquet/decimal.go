package parquet

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/parquet-go/parquet-go"
)

// maxDigits is the maximum number of digits of a DECIMAL that readers have.
const maxDigits = 38

// decimalOf makes the column one of decimals with so many digits. The fold gives computed decimals 65 digits, which
// few of their values have, so that a column with more than 38 has 38, and a value with more is an error.
func (c *column) decimalOf(digits int) {
	c.digits = min(max(digits, c.scale, 1), maxDigits)
	c.name, c.convert = fmt.Sprintf("DECIMAL(%d,%d)", c.digits, c.scale), c.decimal
	of := parquet.FixedLenByteArrayType(16)
	switch {
	case c.digits <= 9:
		of = parquet.Int32Type
	case c.digits <= 18:
		of = parquet.Int64Type
	}
	c.Type = parquet.Decimal(c.scale, c.digits, of).Type()
}

// decimal converts a decimal to an integer, in units of its last decimal.
func (c *column) decimal(dst, text []byte) ([]byte, error) {
	hi, lo, ok := c.unscaled(text)
	if !ok {
		return dst, fmt.Errorf("it is no number of %d digits, of which %d are decimals: ROUND it, or CAST it AS "+
			"DECIMAL(38,n), in the query or the fold, or AS CHAR for a text", c.digits, c.scale)
	}
	switch {
	case c.digits <= 9:
		return binary.LittleEndian.AppendUint32(dst, uint32(lo)), nil
	case c.digits <= 18:
		return binary.LittleEndian.AppendUint64(dst, lo), nil
	}
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, hi), lo), nil
}

// unscaled returns the 128 bits of a decimal without its point. False: the column cannot hold it.
func (c *column) unscaled(text []byte) (hi, lo uint64, ok bool) {
	negative := false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative, text = text[0] == '-', text[1:]
	}
	digits, decimals, point, some := 0, 0, false, false
	push := func(digit uint64) {
		if digits > 0 || digit > 0 {
			digits++
		}
		high, low := bits.Mul64(lo, 10)
		var carry uint64
		lo, carry = bits.Add64(low, digit, 0)
		hi = hi*10 + high + carry // 38 digits have less than 127 bits
	}
	for _, b := range text {
		switch d := b - '0'; {
		case b == '.' && !point:
			point = true
		case d > 9, digits > maxDigits:
			return 0, 0, false
		case point && decimals == c.scale:
			if d != 0 {
				return 0, 0, false // it would be rounded
			}
		default:
			if some = true; point {
				decimals++
			}
			push(uint64(d))
		}
	}
	for ; decimals < c.scale; decimals++ {
		push(0)
	}
	if !some || digits > c.digits {
		return 0, 0, false
	}
	if negative {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	return hi, lo, true
}

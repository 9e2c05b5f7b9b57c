package fold

import (
	"bytes"
	"math/big"
	"strconv"
)

// appendNumber appends the canonical form of a number: sign, digits without zeros at either end,
// and the power of ten to multiply them by. 1, 01, 1.00 and 10e-1 are all +1e0, and every zero is
// 0. It never expands an exponent and never rounds. False means that the text is not a number;
// the caller must then discard the appended bytes.
func appendNumber(dst, text []byte) ([]byte, bool) {
	negative := false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative = text[0] == '-'
		text = text[1:]
	}
	end := skipDigits(text, 0)
	whole, rest := text[:end], text[end:]
	var fraction, exponent []byte
	if len(rest) > 0 && rest[0] == '.' {
		end = skipDigits(rest, 1)
		fraction, rest = rest[1:end], rest[end:]
	}
	if len(whole) == 0 && len(fraction) == 0 {
		return dst, false
	}
	if len(rest) > 0 {
		if rest[0]|0x20 != 'e' || !isExponent(rest[1:]) {
			return dst, false
		}
		exponent = rest[1:]
	}

	shift := -int64(len(fraction))
	whole = bytes.TrimLeft(whole, "0")
	if len(whole) == 0 {
		fraction = bytes.TrimLeft(fraction, "0")
	}
	if len(whole) == 0 && len(fraction) == 0 {
		return append(dst, '0'), true
	}
	if negative {
		dst = append(dst, '-')
	} else {
		dst = append(dst, '+')
	}
	dst = append(append(dst, whole...), fraction...)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
		shift++
	}
	dst = append(dst, 'e')
	if len(exponent) == 0 {
		return strconv.AppendInt(dst, shift, 10), true
	}
	n, _ := new(big.Int).SetString(string(exponent), 10)
	return n.Add(n, big.NewInt(shift)).Append(dst, 10), true
}

// widened returns the digits of the double that equals a FLOAT, or the text itself if it is not a
// number. It may use the memory of the text.
func widened(text []byte) []byte {
	f, err := strconv.ParseFloat(string(text), 32)
	if err != nil {
		return text
	}
	return strconv.AppendFloat(text[:0], f, 'e', -1, 64)
}

func isExponent(text []byte) bool {
	start := 0
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		start = 1
	}
	return len(text) > start && skipDigits(text, start) == len(text)
}

// integerDigits is the number of digits that always fit into 64 bits.
const integerDigits = 18

// plainInteger parses a cell that is an integer in its usual form. False means unknown: the cell
// can be an integer in another form.
func plainInteger(cell []byte) (int64, bool) {
	digits := cell
	negative := len(cell) > 0 && cell[0] == '-'
	if negative {
		digits = cell[1:]
	}
	if len(digits) == 0 || len(digits) > integerDigits {
		return 0, false
	}
	n := int64(0)
	for _, c := range digits {
		c -= '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	if negative {
		n = -n
	}
	return n, true
}

// wholeNumber parses the result of appendNumber if it is an integer of at most integerDigits
// digits.
func wholeNumber(form []byte) (int64, bool) {
	if string(form) == "0" {
		return 0, true
	}
	digits, exponent, ok := bytes.Cut(form, []byte("e"))
	zeros, err := strconv.Atoi(string(exponent))
	if !ok || err != nil || len(digits) < 2 || zeros < 0 || len(digits)-1+zeros > integerDigits {
		return 0, false
	}
	n, err := strconv.ParseInt(string(digits)+"000000000000000000"[:zeros], 10, 64)
	return n, err == nil
}

// skipDigits returns the index of the first byte from i on that is not a digit.
func skipDigits(text []byte, i int) int {
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return i
}

package jsonl

import (
	"bytes"
	"strconv"

	"github.com/fanfold/fanfold/report"
)

const (
	safeDigits = 15      // every number of so many digits is the shortest text of its double
	maxWhole   = 1 << 53 // up to this, a double has all integers
)

// number is a JSON number.
type number struct {
	digits   []byte // before the exponent, with the point
	count    int    // of digits
	whole    bool   // it has neither a point nor an exponent
	exponent bool
}

// parseNumber parses a JSON number. False: the text is none, such as 007 or +1.
func parseNumber(text []byte) (n number, ok bool) {
	at := 0
	skip := func() (skipped int) {
		for ; at < len(text) && text[at]-'0' <= 9; at++ {
			skipped++
		}
		return skipped
	}
	if len(text) > 0 && text[0] == '-' {
		at++
	}
	start := at
	if n.count = skip(); n.count == 0 || n.count > 1 && text[start] == '0' {
		return n, false
	}
	if n.whole = at == len(text); !n.whole && text[at] == '.' {
		at++
		decimals := skip()
		if n.count += decimals; decimals == 0 {
			return n, false
		}
	}
	n.digits = text[start:at]
	if n.exponent = at < len(text) && text[at]|0x20 == 'e'; n.exponent {
		if at++; at < len(text) && (text[at] == '+' || text[at] == '-') {
			at++
		}
		if skip() == 0 {
			return n, false
		}
	}
	return n, at == len(text)
}

// appendDigits appends the digits from the first to the last one that is not 0.
func (n number) appendDigits(dst []byte) []byte {
	for _, c := range bytes.Trim(n.digits, "0.") {
		if c != '.' {
			dst = append(dst, c)
		}
	}
	return dst
}

// isExact tells whether a text of a column of this kind is a JSON number whose digits a reader with doubles keeps: an
// integer up to 2^53, or else a number that is the shortest text of its double, apart from zeros at its end.
func isExact(text []byte, kind report.Kind) bool {
	n, ok := parseNumber(text)
	switch {
	case !ok:
		return false
	case n.count <= safeDigits && !n.exponent:
		return true
	case n.whole && kind != report.KindFloat:
		v, err := strconv.ParseInt(string(text), 10, 64)
		return err == nil && -maxWhole <= v && v <= maxWhole
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return false
	}
	var buffer, first, second [64]byte
	shortest, _ := parseNumber(strconv.AppendFloat(buffer[:0], v, 'e', -1, 64))
	return bytes.Equal(n.appendDigits(first[:0]), shortest.appendDigits(second[:0]))
}

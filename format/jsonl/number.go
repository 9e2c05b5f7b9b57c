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
	digits   []byte // from the first one that is not 0 on, with the point
	count    int    // of digits without leading and trailing zeros
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
	if before := skip(); before == 0 || before > 1 && text[start] == '0' {
		return n, false
	}
	if n.whole = at == len(text); !n.whole && text[at] == '.' {
		if at++; skip() == 0 {
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
	n.digits = bytes.TrimLeft(n.digits, "0.")
	trimmed := bytes.TrimRight(n.digits, "0.")
	if n.count = len(trimmed); bytes.IndexByte(trimmed, '.') >= 0 {
		n.count--
	}
	return n, at == len(text)
}

// isExact tells whether a text of a column of this kind is a JSON number whose digits a reader with doubles keeps: an
// integer up to 2^53, or else a number that is the shortest text of its double, apart from zeros at its end.
func isExact(text []byte, kind report.Kind) bool {
	n, ok := parseNumber(text)
	switch {
	case !ok:
		return false
	case n.whole && kind != report.KindFloat:
		if len(text) <= safeDigits {
			return true
		}
		v, err := strconv.ParseInt(string(text), 10, 64)
		return err == nil && -maxWhole <= v && v <= maxWhole
	case n.count <= safeDigits && !n.exponent && len(text) < 300:
		return true
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return false
	}
	var buffer, want [40]byte
	shortest, _ := parseNumber(strconv.AppendFloat(buffer[:0], v, 'e', -1, 64))
	if n.count != shortest.count {
		return false
	}
	all := appendDigits(want[:0], n.digits, n.count)
	return bytes.Equal(all, appendDigits(all, shortest.digits, n.count)[n.count:])
}

// appendDigits appends the first count digits, without the point.
func appendDigits(dst, digits []byte, count int) []byte {
	for _, c := range digits {
		if c == '.' {
			continue
		}
		if count--; count < 0 {
			break
		}
		dst = append(dst, c)
	}
	return dst
}

package format

import (
	"errors"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fanfold/fanfold/report"
)

// ErrFormula matches the error of a file that would contain a formula although its report forbids
// formulas.
var ErrFormula = errors.New("a spreadsheet would read a cell as a formula")

// IsFormula tells whether a spreadsheet could read a text as a formula: it begins with = + - @, one
// of their full-width forms or a control character, such as TAB or CR, and is neither a number nor
// that character alone. Leading spaces are ignored, because some programs remove them. A text with
// single quotes before all that is a formula, too, so that a reader that removes one quote from
// every such cell gets the original text.
func IsFormula(text []byte, kind report.Kind) bool {
	rest := text
	for len(rest) > 0 && rest[0] == '\'' {
		rest = rest[1:]
	}
	quoted := len(rest) < len(text)
	rest = skipSpaces(rest)
	sign := formulaSign(rest)
	switch {
	case sign == 0, sign == len(rest) && !quoted:
		return false
	case kind == report.KindBinary:
		return false // base64 is harmless, and its readers expect it unchanged
	case kind == report.KindText || kind == report.KindJSON || kind == "":
		return quoted || !decimal.Match(rest)
	}
	for _, c := range text { // a number, a date or a time
		if !inNumbersAndDates[c] {
			return true
		}
	}
	return false
}

// beginsNoFormula tells by the first byte alone whether a text without escapes is no formula. Most
// texts begin with a letter or a digit.
func beginsNoFormula(text []byte) bool { return len(text) == 0 || harmless[text[0]] }

var harmless = func() (is [256]bool) {
	for c := '!'; c < utf8.RuneSelf; c++ {
		is[c] = !strings.ContainsRune("'=+-@", c)
	}
	return is
}()

// formulaSign returns the length in bytes of the sign at the start of a formula; 0: none.
func formulaSign(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	switch c := text[0]; {
	case c == '=' || c == '+' || c == '-' || c == '@' || c < ' ':
		return 1
	case c < utf8.RuneSelf:
		return 0
	}
	switch r, size := utf8.DecodeRune(text); r {
	case '＝', '＋', '－', '＠':
		return size
	}
	return 0
}

// skipSpaces skips spaces of any kind and zero-width characters, but not control characters.
func skipSpaces(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] >= utf8.RuneSelf) {
		r, size := utf8.DecodeRune(text)
		if !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) {
			break
		}
		text = text[size:]
	}
	return text
}

var inNumbersAndDates = func() (is [256]bool) {
	for _, c := range "0123456789+-.: eETZ" {
		is[c] = true
	}
	return is
}()

// decimal matches numbers: -1, +2.50, .5, 1e-7.
var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

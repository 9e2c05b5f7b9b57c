package format

import (
	"errors"
	"regexp"
	"unicode"
	"unicode/utf8"

	"github.com/fanfold/fanfold/report"
)

// ErrFormula is matched by the error of a file that would have a formula, where its
// report forbids that.
var ErrFormula = errors.New("format: a text that a spreadsheet takes for a formula")

// IsFormula tells whether a spreadsheet could take a text for a formula: it begins
// with = + - @, their full-width forms, which some take for the same, or a control
// character, such as TAB or CR, and is neither a number nor this character alone. Spaces
// before it do not count: some programs remove them. One that has single quotes before those
// counts, too, so that a reader that removes one quote from each cell that begins with
// quotes and one of these gets the original text.
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
		return false // base64 calls nothing, and its readers take it as it is
	case kind == report.KindText || kind == report.KindJSON || kind == "":
		return quoted || !decimal.Match(rest)
	}
	for _, c := range text { // a number, a date or a time
		if !inMoments[c] {
			return true
		}
	}
	return false
}

// formulaSign is how many bytes the sign has with which a formula begins; 0: this is
// none.
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

// skipSpaces skips spaces of any kind, and what has no width. A control character is
// none.
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

var inMoments = func() (is [256]bool) {
	for _, c := range "0123456789+-.: eETZ" {
		is[c] = true
	}
	return is
}()

// decimal matches numbers: -1, +2.50, .5, 1e-7.
var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

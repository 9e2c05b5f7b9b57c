package format

import (
	"unicode"
	"unicode/utf8"

	"github.com/fanfold/fanfold/report"
)

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
		return quoted || !isDecimal(rest)
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

// isDecimal tells whether a text is a number: -1, +2.50, .5, 1e-7.
func isDecimal(text []byte) bool {
	i := 0
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		i++
	}
	whole := skipDigits(text, i)
	end := whole
	if end < len(text) && text[end] == '.' {
		end = skipDigits(text, end+1)
	}
	if end-i < 1 || end-i == 1 && whole == i { // nothing, or a point only
		return false
	}
	if end < len(text) && text[end]|0x20 == 'e' {
		i = end + 1
		if i < len(text) && (text[i] == '-' || text[i] == '+') {
			i++
		}
		if end = skipDigits(text, i); end == i {
			return false
		}
	}
	return end == len(text)
}

// guarded puts a single quote before the text that begins at start.
func guarded(dst []byte, start int) []byte {
	dst = append(dst, 0)
	copy(dst[start+1:], dst[start:])
	dst[start] = '\''
	return dst
}

// skipDigits returns where the first byte from i on is that is no digit.
func skipDigits(text []byte, i int) int {
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return i
}

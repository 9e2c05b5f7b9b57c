package xlsx

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fanfold/fanfold/report"
)

// ErrTooLong matches the error of a text that no cell can hold.
var ErrTooLong = errors.New("text too long for a cell")

const preservedBegin = `<t xml:space="preserve">`

var (
	textBegin    = newFrame(`<c t="inlineStr"><is><t>`)
	guardedBegin = newFrame(`<c s="2" t="inlineStr"><is><t>`)
	headerBegin  = newFrame(`<c s="1" t="inlineStr"><is><t>`)
	textEnd      = newFrame(`</t></is></c>`)
)

// isSpecial are the bytes of a text that the XML may not have as they are. A line break is one, because it separates
// rows.
var isSpecial = func() (is [256]bool) {
	for c := range ' ' {
		is[c] = c != '\t'
	}
	for _, c := range []byte("<>&_\xef") {
		is[c] = true
	}
	return is
}()

// isLetter are the bytes with which a text begins that stays one if a person edits its cell: no number, no date of
// digits, and no formula, which also begins with full-width signs.
var isLetter = func() (is [256]bool) {
	for c := range is {
		is[c] = c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf && c != 0xef
	}
	return is
}()

// appendText appends the cell of a text in UTF-8. It may be at the end of dst. begin is that of a harmless text.
func appendText(dst, text []byte, begin *frame) []byte {
	if len(text) > 0 && begin == &textBegin && !isLetter[text[0]] {
		begin = &guardedBegin
	}
	dst = begin.append(dst)
	if len(text) > 0 && (isSpace(text[0]) || isSpace(text[len(text)-1])) {
		dst = append(dst[:len(dst)-len("<t>")], preservedBegin...)
	}
	return textEnd.append(appendEscaped(dst, text))
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// isHarmless tells whether the text between the quotes of a JSON string is that of a cell as it is, also if a person
// edits it.
func isHarmless(inside []byte) bool {
	if len(inside) == 0 || !isLetter[inside[0]] || isSpace(inside[len(inside)-1]) {
		return false
	}
	for _, c := range inside {
		if isSpecial[c] || c == '\\' {
			return false
		}
	}
	return true
}

// appendEscaped appends the XML of a text. What XML 1.0 forbids becomes _xHHHH_, as Excel writes it, and so does the
// underscore of a text that looks so.
func appendEscaped(dst, text []byte) []byte {
	from := 0
	for i := 0; i < len(text); i++ {
		if !isSpecial[text[i]] {
			continue
		}
		size, by := 1, ""
		switch c := text[i]; c {
		case '<':
			by = "&lt;"
		case '>':
			by = "&gt;"
		case '&':
			by = "&amp;"
		case '\n':
			by = "&#10;"
		case '_':
			if !looksEscaped(text[i:]) {
				continue
			}
			by = "_x005F_"
		case 0xef: // of U+FFFE and U+FFFF, among others
			if i+2 >= len(text) || text[i+1] != 0xbf || text[i+2] < 0xbe {
				continue
			}
			size, by = 3, fmt.Sprintf("_xFFF%X_", text[i+2]&0xf)
		default:
			by = fmt.Sprintf("_x%04X_", c)
		}
		dst = append(append(dst, text[from:i]...), by...)
		i += size - 1
		from = i + 1
	}
	return append(dst, text[from:]...)
}

// looksEscaped tells whether a text begins as _xHHHH_ does.
func looksEscaped(text []byte) bool {
	if len(text) < len("_xHHHH_") || text[1] != 'x' || text[6] != '_' {
		return false
	}
	for _, c := range text[2:6] {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

// length returns the characters of a text as Excel counts them: in UTF-16.
func length(text []byte) (n int) {
	for _, c := range text {
		if c&0xc0 != 0x80 {
			n++
		}
		if c >= 0xf0 {
			n++
		}
	}
	return n
}

// tooLong is the error of a text that no cell can hold. The first columns tell people which row it is.
func (e *encoder) tooLong(col, characters int, cells [][]byte) error {
	row := []string{}
	for i, cell := range cells[:min(len(cells), 4)] {
		if i != col {
			row = append(row, e.columns[i].label+" "+report.Shorten(string(cell)))
		}
	}
	return fmt.Errorf("%w: column %q has %d characters, and a cell of the format xlsx at most %d (row: %s): "+
		"shorten the text in the query, or choose another format",
		ErrTooLong, e.columns[col].label, characters, maxText, strings.Join(row, ", "))
}

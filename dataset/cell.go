package dataset

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendText appends what a cell says to dst: nothing for null, a string
// without its quotes and escapes, and every other value as it stands. Half a
// surrogate pair becomes U+FFFD. The cell is one that Chunk.Cell returned.
func AppendText(dst, cell []byte) []byte {
	switch {
	case IsNull(cell):
		return dst
	case cell[0] == '"' && len(cell) > 1:
		return appendUnescaped(dst, cell[1:len(cell)-1])
	}
	return append(dst, cell...)
}

// IsNull holds for null only, since the cell is the JSON of a scalar.
func IsNull(cell []byte) bool { return len(cell) == 0 || cell[0] == 'n' }

// appendUnescaped takes what stands between the quotes of a JSON string.
func appendUnescaped(dst, inside []byte) []byte {
	for {
		i := bytes.IndexByte(inside, '\\')
		if i < 0 || i+1 == len(inside) {
			return append(dst, inside...)
		}
		dst = append(dst, inside[:i]...)
		n := 2
		switch c := inside[i+1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			var r rune
			r, n = unescapeRune(inside[i:])
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
		inside = inside[i+n:]
	}
}

// unescapeRune reads \uXXXX, or two of them that are a surrogate pair, and
// returns how many bytes it took.
func unescapeRune(text []byte) (rune, int) {
	first, ok := hex4(text)
	if !ok {
		return utf8.RuneError, 2
	}
	if utf16.IsSurrogate(first) {
		if second, ok := hex4(text[6:]); ok {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r, 12
			}
		}
		return utf8.RuneError, 6
	}
	return first, 6
}

// hex4 reads the \uXXXX that a text begins with.
func hex4(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}

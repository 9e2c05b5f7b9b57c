package dataset

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendText appends the text of a cell of Chunk.Cell to dst: nothing for null, a string without
// its quotes and escapes, every other value unchanged. Half a surrogate pair becomes U+FFFD.
func AppendText(dst, cell []byte) []byte {
	switch {
	case IsNull(cell):
		return dst
	case cell[0] == '"' && len(cell) > 1:
		return appendUnescaped(dst, cell[1:len(cell)-1])
	}
	return append(dst, cell...)
}

// IsNull tells whether a cell is null. Only null begins with n, because a cell is a JSON scalar.
func IsNull(cell []byte) bool { return len(cell) == 0 || cell[0] == 'n' }

// appendUnescaped appends the text between the quotes of a JSON string, unescaped.
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

// unescapeRune parses \uXXXX, or a surrogate pair of two of them, and returns its length in bytes.
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

// hex4 parses the \uXXXX at the start of a text.
func hex4(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}

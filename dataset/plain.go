package dataset

import (
	"encoding/binary"
	"math/bits"
)

// plainInString has the bytes that stand for themselves in a JSON string, if all
// of it is UTF-8.
var plainInString = func() (plain [256]bool) {
	for c := range plain {
		plain[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return plain
}()

// Words of 8 bytes, the first one lowest.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// escapes marks the first byte of a word that does not stand for itself in a JSON
// string with its high bit, and perhaps others behind it: taking a byte away from
// each byte borrows only where the one below is such a byte.
func escapes(word uint64) uint64 {
	quote, backslash := word^'"'*ones, word^'\\'*ones
	return ((word-' '*ones)&^word | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
}

// plainASCII returns how many bytes at the beginning of a text are ASCII that
// stands for itself in a JSON string.
func plainASCII(text []byte) int {
	i := 0
	for ; i+8 <= len(text); i += 8 {
		word := binary.LittleEndian.Uint64(text[i:])
		if marks := escapes(word) | word&highs; marks != 0 {
			return i + bits.TrailingZeros64(marks)/8
		}
	}
	for i < len(text) && text[i] < 0x80 && plainInString[text[i]] {
		i++
	}
	return i
}

// endOfPlain returns where the first byte from i on is that does not stand for
// itself in a JSON string, or the length of the text.
func endOfPlain(text []byte, i int) int {
	for ; i+8 <= len(text); i += 8 {
		if marks := escapes(binary.LittleEndian.Uint64(text[i:])); marks != 0 {
			return i + bits.TrailingZeros64(marks)/8
		}
	}
	for i < len(text) && plainInString[text[i]] {
		i++
	}
	return i
}

package dataset

import (
	"encoding/binary"
	"math/bits"
)

// plainInString marks the bytes that need no escape in a JSON string of valid UTF-8.
var plainInString = func() (plain [256]bool) {
	for c := range plain {
		plain[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return plain
}()

// Words of 8 bytes, little-endian.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// escapes sets the high bit of the first byte of a word that needs an escape in a JSON string.
// Bytes after it can be marked wrongly: the subtraction borrows only from bytes after such a byte.
func escapes(word uint64) uint64 {
	quote, backslash := word^'"'*ones, word^'\\'*ones
	return ((word-' '*ones)&^word | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
}

// plainASCII returns the number of bytes at the start of a text that are ASCII and need no escape
// in a JSON string.
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

// endOfPlain returns the offset of the first byte from i on that needs an escape in a JSON string,
// or the length of the text.
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

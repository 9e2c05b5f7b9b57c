package format

import (
	"bytes"
	"encoding/binary"

	"github.com/fanfold/fanfold/dataset"
)

// appendCell appends the JSON of a value, as dataset.Chunk.Cell gives it, as RFC 4180 has
// it.
func appendCell(dst, cell []byte) []byte {
	if len(cell) == 0 || cell[0] != '"' {
		if dataset.IsNull(cell) {
			return dst
		}
		return append(dst, cell...) // numbers and words need no quotes
	}
	inside := cell[1 : len(cell)-1]
	if isPlain(inside) {
		return append(dst, inside...)
	}
	if bytes.IndexByte(inside, '\\') < 0 {
		return appendText(dst, inside)
	}
	// The text is made behind its place, since quotes make it longer.
	start := len(dst)
	dst = dataset.AppendText(dst, cell)
	if text := dst[start:]; needsQuotes(text) {
		end := len(dst)
		dst = appendQuoted(dst, text)
		dst = append(dst[:start], dst[end:]...)
	}
	return dst
}

// zeroFilled puts zeros before the number that begins at start, so that it has at least
// width characters. A NULL stays empty.
func zeroFilled(dst []byte, start, width int) []byte {
	missing := width - (len(dst) - start)
	if missing <= 0 || len(dst) == start {
		return dst
	}
	for range missing {
		dst = append(dst, '0')
	}
	copy(dst[start+missing:], dst[start:])
	for i := range missing {
		dst[start+i] = '0'
	}
	return dst
}

// isPlain tells whether what stands between the quotes of a JSON string is the cell: it
// has no comma, and no escape, without which it has no quote, CR or LF either. It checks
// eight bytes at once: a byte of comma or escape is zero only where the text has that
// character, and only then the highest bit of its place is set.
func isPlain(inside []byte) bool {
	const ones, highest = 0x0101010101010101, 0x8080808080808080
	for len(inside) >= 8 {
		x := binary.LittleEndian.Uint64(inside)
		comma, escape := x^(ones*','), x^(ones*'\\')
		if ((comma-ones)&^comma|(escape-ones)&^escape)&highest != 0 {
			return false
		}
		inside = inside[8:]
	}
	for _, c := range inside {
		if c == ',' || c == '\\' {
			return false
		}
	}
	return true
}

// appendText appends a cell that says this.
func appendText(dst, text []byte) []byte {
	if needsQuotes(text) {
		return appendQuoted(dst, text)
	}
	return append(dst, text...)
}

func needsQuotes(text []byte) bool {
	for _, c := range text {
		if inQuotes[c] {
			return true
		}
	}
	return false
}

// inQuotes has the bytes for which RFC 4180 wants quotes around a cell.
var inQuotes = [256]bool{',': true, '"': true, '\r': true, '\n': true}

func appendQuoted(dst, text []byte) []byte {
	dst = append(dst, '"')
	for _, c := range text {
		if c == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

// endLine ends the line that begins at start. Many readers skip a blank line, so a single
// cell that is empty is written with quotes.
func endLine(dst []byte, start int) []byte {
	if len(dst) == start {
		dst = append(dst, '"', '"')
	}
	return append(dst, '\r', '\n')
}

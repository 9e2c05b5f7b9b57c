package format

import (
	"bytes"
	"encoding/binary"

	"github.com/fanfold/fanfold/dataset"
)

// The CSV is as RFC 4180 has it: CRLF line ends, and quotes only around a cell
// that holds a comma, a quote, CR or LF.
//
// encoding/csv is not used, because with UseCRLF it also rewrites the line
// breaks inside of cells, and what a cell says must arrive as it is. It also
// wants every cell as a string, which is an allocation for each.

// appendCSV appends the JSON of a value, as Chunk.Cell gives it, as a cell.
func appendCSV(dst, cell []byte) []byte {
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
		return appendCSVText(dst, inside)
	}
	// The text is made behind its place, since quotes make it longer.
	start := len(dst)
	dst = dataset.AppendText(dst, cell)
	if text := dst[start:]; needsQuotes(text) {
		end := len(dst)
		dst = appendQuotedCSV(dst, text)
		dst = append(dst[:start], dst[end:]...)
	}
	return dst
}

// zeroFilled puts zeros before the number that begins at start, so that it has so many
// characters at least. A NULL stays empty.
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

// isPlain tells that what stands between the quotes of a JSON string is the cell:
// no comma, and no escape, without which it has no quote, CR or LF either. Eight
// bytes are looked at together: a byte of x is zero only where the text has the one
// that is looked for, and only then the highest bit of its place is set.
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

// appendCSVText appends a cell that says this.
func appendCSVText(dst, text []byte) []byte {
	if needsQuotes(text) {
		return appendQuotedCSV(dst, text)
	}
	return append(dst, text...)
}

func needsQuotes(text []byte) bool {
	for _, c := range text {
		if quotedInCSV[c] {
			return true
		}
	}
	return false
}

var quotedInCSV = [256]bool{',': true, '"': true, '\r': true, '\n': true}

func appendQuotedCSV(dst, text []byte) []byte {
	dst = append(dst, '"')
	for _, c := range text {
		if c == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

// endCSVLine ends the line that begins at start. Many readers skip a blank line, so
// one cell that says nothing is written with quotes.
func endCSVLine(dst []byte, start int) []byte {
	if len(dst) == start {
		dst = append(dst, '"', '"')
	}
	return append(dst, '\r', '\n')
}

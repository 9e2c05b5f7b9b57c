package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// Chunk is a part of a dataset: some rows of some columns. It keeps the JSON text and the offset of
// every value, and decodes a value only when it is used. It is immutable and safe for concurrent
// use.
type Chunk struct {
	columns []Column
	texts   [][]byte
	starts  []uint32 // rows+1 per column; the last one is the offset after the ]
	rows    int
}

// DecodeChunk decodes one JSON array of scalars per column, as Builder.Fields or Compressor.Fields
// returns them. The error of an invalid array names the column and the byte (of the JSON, from 0);
// that of arrays of different lengths is ErrUneven. The chunk keeps the fields: they must not be
// changed while it is used.
func DecodeChunk(columns []Column, fields [][]byte) (*Chunk, error) {
	if len(columns) != len(fields) {
		return nil, fmt.Errorf("%d columns, but %d fields", len(columns), len(fields))
	}
	texts, err := decompressed(columns, fields)
	if err != nil {
		return nil, err
	}
	c, blanks := &Chunk{columns: columns, texts: texts}, false
	for i, text := range texts {
		from := len(c.starts)
		if i == 0 {
			c.starts = make([]uint32, 0, bytes.Count(text, []byte{','})+2)
		}
		starts, at, err := scanArray(text, c.starts, &blanks)
		if err != nil {
			return nil, fmt.Errorf("column %q, byte %d: %w", columns[i].Name, at, err)
		}
		rows := len(starts) - from - 1
		if c.starts = starts; i == 0 {
			c.rows = rows
			c.starts = append(make([]uint32, 0, len(columns)*len(starts)), starts...)
		}
		if rows != c.rows {
			return nil, fmt.Errorf("column %q, byte %d: %w after %d values, but column %q has %d",
				columns[i].Name, at, ErrUneven, rows, columns[0].Name, c.rows)
		}
	}
	if blanks {
		c.removeBlanks()
	}
	return c, nil
}

// removeBlanks copies the texts without the white space between values, so that a value ends before the comma of the
// next one.
func (c *Chunk) removeBlanks() {
	texts := make([][]byte, len(c.texts))
	for column, text := range c.texts {
		starts, packed := c.starts[column*(c.rows+1):], append(make([]byte, 0, len(text)), '[')
		for row := range c.rows {
			end := starts[row+1] - 1
			for isBlank(text[end]) {
				end-- // white space after the comma
			}
			for isBlank(text[end-1]) {
				end-- // white space before the comma
			}
			start := starts[row]
			starts[row] = uint32(len(packed))
			packed = append(append(packed, text[start:end]...), ',')
		}
		starts[c.rows], texts[column] = uint32(len(packed)), packed
	}
	c.texts = texts
}

// Columns returns the columns of the chunk. The caller must not change them.
func (c *Chunk) Columns() []Column { return c.columns }

// Rows returns the number of rows.
func (c *Chunk) Rows() int { return c.rows }

// Bytes returns the size of the JSON of all columns.
func (c *Chunk) Bytes() (n int) {
	for _, text := range c.texts {
		n += len(text)
	}
	return n
}

// Cell returns the JSON of one value: null, true, false, a number or a string with its quotes. It
// is a part of the field, so the caller must not change it.
func (c *Chunk) Cell(column, row int) []byte {
	i := column*(c.rows+1) + row
	return c.texts[column][c.starts[i] : c.starts[i+1]-1]
}

// CopyRow gives every column of a Builder, which has those of the chunk, the value in a row.
func (c *Chunk) CopyRow(row int, to *Builder) {
	for i := range c.columns {
		column := to.columns[i].next()
		column.text = append(column.text, c.Cell(i, row)...)
	}
}

// ErrUneven matches the error of an array that has more or fewer values than the first one.
var ErrUneven = errors.New("the array ends")

var (
	errLarge        = errors.New("the JSON is larger than 4 GB")
	errUTF8         = errors.New("the text is not UTF-8")
	errArray        = errors.New("expected a JSON array")
	errNested       = errors.New("an array cannot contain arrays or objects")
	errScalar       = errors.New("expected a number, string, true, false or null")
	errNumber       = errors.New("invalid JSON number")
	errString       = errors.New("invalid character or escape in a JSON string")
	errUnterminated = errors.New("the string has no closing quote")
	errComma        = errors.New("expected a comma or the closing bracket")
	errTrailing     = errors.New("unexpected text after the array")
)

// scanArray appends the offset of every value and of the end of the array to starts, and sets
// blanks if there is white space between values. With an error it also returns the offset of the
// error.
func scanArray(text []byte, starts []uint32, blanks *bool) ([]uint32, int, error) {
	if uint64(len(text)) >= math.MaxUint32 {
		return nil, 0, errLarge
	}
	if at := invalidUTF8(text); at < len(text) {
		return nil, at, errUTF8
	}
	i := skipBlanks(text, 0)
	if i == len(text) || text[i] != '[' {
		return nil, i, errArray
	}
	i = skipBlanks(text, i+1)
	if i < len(text) && text[i] == ']' {
		return endArray(text, starts, i)
	}
	for {
		starts = append(starts, uint32(i))
		end, err := scanScalar(text, i)
		if err != nil {
			return nil, end, err
		}
		if end+1 < len(text) && text[end] == ',' && text[end+1] > ' ' {
			i = end + 1 // the form of Builder
			continue
		}
		if i = skipBlanks(text, end); i > end {
			*blanks = true
		}
		if i == len(text) || (text[i] != ',' && text[i] != ']') {
			return nil, i, errComma
		}
		if text[i] == ']' {
			return endArray(text, starts, i)
		}
		comma := i
		if i = skipBlanks(text, i+1); i > comma+1 {
			*blanks = true
		}
	}
}

func endArray(text []byte, starts []uint32, at int) ([]uint32, int, error) {
	starts = append(starts, uint32(at+1))
	if end := skipBlanks(text, at+1); end < len(text) {
		return nil, end, errTrailing
	}
	return starts, at, nil
}

// scanScalar returns the end of the value at i, or the offset of the error.
func scanScalar(text []byte, i int) (int, error) {
	if i == len(text) {
		return i, errScalar
	}
	switch c := text[i]; {
	case c == '"':
		return scanString(text, i)
	case c == '-' || (c >= '0' && c <= '9'):
		return scanNumber(text, i)
	case c == '[' || c == '{':
		return i, errNested
	}
	for _, word := range [...]string{"null", "true", "false"} {
		if end := i + len(word); end <= len(text) && string(text[i:end]) == word {
			return end, nil
		}
	}
	return i, errScalar
}

func scanString(text []byte, i int) (int, error) {
	for i++; ; {
		if i = endOfPlain(text, i); i == len(text) {
			return i, errUnterminated
		}
		if text[i] == '"' {
			return i + 1, nil
		}
		n := escapeLength(text[i:])
		if n == 0 {
			return i, errString
		}
		i += n
	}
}

// escapeLength returns the length of the escape at the start of the text; 0: not an escape.
func escapeLength(text []byte) int {
	if text[0] != '\\' || len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(text); ok {
			return 6
		}
	}
	return 0
}

func scanNumber(text []byte, i int) (int, error) {
	if text[i] == '-' {
		i++
	}
	whole := skipDigits(text, i)
	if whole == i || (text[i] == '0' && whole > i+1) {
		return i, errNumber
	}
	i = whole
	if i < len(text) && text[i] == '.' {
		end := skipDigits(text, i+1)
		if end == i+1 {
			return end, errNumber
		}
		i = end
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		end := skipDigits(text, i)
		if end == i {
			return end, errNumber
		}
		i = end
	}
	return i, nil
}

func skipDigits(text []byte, i int) int {
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return i
}

func skipBlanks(text []byte, i int) int {
	for i < len(text) && isBlank(text[i]) {
		i++
	}
	return i
}

// isBlank tells whether a character is white space in JSON.
func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or the length of the text.
func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return len(text)
	}
	at := 0
	for at < len(text) {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

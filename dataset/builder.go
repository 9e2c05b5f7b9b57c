package dataset

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// A chunk is full when it reaches one of these limits. With 1 MB instead of 256 KB, other clients
// of Redis waited 50 % longer while a large dataset was stored, and the dataset was stored no
// faster.
const (
	MaxChunkRows  = 10_000
	MaxChunkBytes = 256 << 10 // JSON of all columns
)

// Builder encodes rows into one JSON array per column. For every row, give every column exactly
// one value, in any order, and then call EndRow.
//
// It allocates only while its buffers grow; Reset keeps them. It is used by one goroutine. A
// column number that is out of range panics.
type Builder struct {
	columns []builderColumn
	fields  [][]byte // result of Fields
	rows    int
	bytes   int   // of all fields
	err     error // first error of the current row
}

type builderColumn struct {
	name   string
	text   []byte // the array, without its ]
	end    int    // length of text after the last complete row
	values int
	drops  bool // its values are checked and not kept
}

// columnBytes is the first size of a column's buffer: most columns of small jobs fit into it.
const columnBytes = 512

// NewBuilder returns an empty Builder for these columns. It checks the values of those with the numbers drops, but does
// not keep them: Fields leaves these columns out.
func NewBuilder(columns []Column, drops ...int) *Builder {
	b := &Builder{columns: make([]builderColumn, len(columns)), fields: make([][]byte, len(columns))}
	for i, c := range columns {
		b.columns[i].name, b.columns[i].text = c.Name, make([]byte, 0, columnBytes)
	}
	for _, col := range drops {
		b.columns[col].drops = true
	}
	b.Reset()
	return b
}

// Null gives the column a null.
func (b *Builder) Null(col int) {
	c := b.columns[col].next()
	c.text = append(c.text, "null"...)
}

// Int gives the column an integer.
func (b *Builder) Int(col int, v int64) {
	c := b.columns[col].next()
	c.text = strconv.AppendInt(c.text, v, 10)
}

// Uint gives the column an integer.
func (b *Builder) Uint(col int, v uint64) {
	c := b.columns[col].next()
	c.text = strconv.AppendUint(c.text, v, 10)
}

// Float gives the column the shortest number that parses as the same float of this many bits (32
// or 64). NaN and infinities make EndRow fail: JSON cannot represent them.
func (b *Builder) Float(col int, v float64, bits int) {
	if b.isNumber(col, v) {
		c := b.columns[col].next()
		c.text = AppendFloat(c.text, v, bits)
	}
}

// Fixed gives the column the number with this many decimals, as FLOAT(M,D) shows it.
func (b *Builder) Fixed(col int, v float64, decimals int) {
	if b.isNumber(col, v) {
		c := b.columns[col].next()
		c.text = AppendFixed(c.text, v, decimals)
	}
}

// isNumber tells whether JSON can represent a float; if not, the row fails.
func (b *Builder) isNumber(col int, v float64) bool {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		b.fail(col, errors.New("the float is NaN or infinite"))
		return false
	}
	return true
}

// Text gives the column a string. It is also used for decimals, dates, times and JSON documents.
// Text that is not UTF-8 makes EndRow fail.
func (b *Builder) Text(col int, v []byte) {
	plain := plainASCII(v)
	if plain < len(v) && !utf8.Valid(v[plain:]) {
		b.fail(col, errors.New("the text is not UTF-8"))
		return
	}
	c := b.columns[col].next()
	c.text = appendString(c.text, v, plain)
}

// AppendString appends UTF-8 text as a JSON string.
func AppendString(dst, text []byte) []byte { return appendString(dst, text, plainASCII(text)) }

// appendString is AppendString of a text that begins with this number of plain bytes.
func appendString(dst, text []byte, plain int) []byte {
	dst = append(append(dst, '"'), text[:plain]...)
	if plain < len(text) {
		dst = appendEscaped(dst, text[plain:])
	}
	return append(dst, '"')
}

// Binary gives the column bytes, as base64 with padding.
func (b *Builder) Binary(col int, v []byte) {
	c := b.columns[col].next()
	c.text = append(base64.StdEncoding.AppendEncode(append(c.text, '"'), v), '"')
}

// EndRow ends the current row. The error names a column with no value, several values, or a value
// that JSON cannot represent; EndRow then drops the row and keeps the rows before it.
func (b *Builder) EndRow() error {
	err, size := b.err, 0
	for i := range b.columns {
		c := &b.columns[i]
		if c.values != b.rows+1 && err == nil {
			err = fmt.Errorf("column %q: %d values in one row, expected 1", c.name, c.values-b.rows)
		}
		if !c.drops {
			size += len(c.text) + len("]")
		}
	}
	if err != nil {
		b.dropRow()
		return err
	}
	for i := range b.columns {
		if c := &b.columns[i]; c.drops {
			c.text = c.text[:c.end]
		} else {
			c.end = len(c.text)
		}
	}
	b.rows++
	b.bytes = size
	return nil
}

// Full tells whether the chunk should be stored now. A single row can exceed MaxChunkBytes.
func (b *Builder) Full() bool { return b.rows >= MaxChunkRows || b.bytes >= MaxChunkBytes }

// Rows returns the number of complete rows.
func (b *Builder) Rows() int { return b.rows }

// Fields returns one complete JSON array per column that is kept; "[]" without rows. They are valid until the
// next call of another method that changes the Builder. An incomplete row is dropped.
func (b *Builder) Fields() [][]byte {
	b.dropRow()
	b.fields = b.fields[:0]
	for i := range b.columns {
		c := &b.columns[i]
		if c.drops {
			continue
		}
		field := append(c.text, ']')
		c.text, b.fields = field[:len(c.text)], append(b.fields, field)
	}
	return b.fields
}

// Reset begins a new chunk.
func (b *Builder) Reset() {
	b.rows, b.bytes = 0, 0
	for i := range b.columns {
		c := &b.columns[i]
		if c.text, c.end = append(c.text[:0], '['), len("["); !c.drops {
			b.bytes += len("[]")
		}
	}
	b.dropRow()
}

// next counts a value and returns the column, to whose text the caller appends the value.
func (c *builderColumn) next() *builderColumn {
	c.values++
	if len(c.text) > len("[") {
		c.text = append(c.text, ',')
	}
	return c
}

// fail counts a value that JSON cannot represent.
func (b *Builder) fail(col int, err error) {
	b.columns[col].values++
	if b.err == nil {
		b.err = fmt.Errorf("column %q: %w", b.columns[col].name, err)
	}
}

func (b *Builder) dropRow() {
	b.err = nil
	for i := range b.columns {
		c := &b.columns[i]
		c.text, c.values = c.text[:c.end], b.rows
	}
}

// AppendFloat writes a float as MariaDB and MySQL write a DOUBLE: with an exponent below 1e-15, and
// from 1e15 on if it is a whole number; otherwise without. The digits decide, not the bits: 1e15
// has the same form as a float of 32 and of 64 bits.
func AppendFloat(dst []byte, v float64, bits int) []byte {
	if a := math.Abs(v); a == 0 || (a >= 1e-14 && a < 9e14) {
		return strconv.AppendFloat(dst, v, 'f', -1, bits)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, 'e', -1, bits)
	e := start + bytes.IndexByte(dst[start:], 'e')
	exponent, _ := strconv.Atoi(string(dst[e+1:])) // strconv wrote the digits
	digits := e - start
	for _, c := range dst[start:e] {
		if c == '-' || c == '.' {
			digits--
		}
	}
	if exponent >= -15 && (exponent < 15 || digits > exponent+1) {
		return strconv.AppendFloat(dst[:start], v, 'f', -1, bits)
	}
	// strconv writes e+20 and e-07; the shortest form is e20 and e-7.
	return strconv.AppendInt(dst[:e+1], int64(exponent), 10)
}

// AppendFixed writes a float with a fixed number of decimals as MariaDB and MySQL do: the shortest
// digits that identify it, then zeros instead of the digits of its exact value.
func AppendFixed(dst []byte, v float64, decimals int) []byte {
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, 'f', -1, 64)
	have := 0
	if point := bytes.IndexByte(dst[start:], '.'); point >= 0 {
		have = len(dst) - start - point - 1
	} else if decimals > 0 {
		dst = append(dst, '.')
	}
	if have > decimals {
		return strconv.AppendFloat(dst[:start], v, 'f', decimals, 64)
	}
	for ; have < decimals; have++ {
		dst = append(dst, '0')
	}
	return dst
}

// appendEscaped appends UTF-8 text, escaped for a JSON string.
func appendEscaped(dst, text []byte) []byte {
	const hex = "0123456789abcdef"
	done := 0
	for i, c := range text {
		if plainInString[c] {
			continue
		}
		dst = append(dst, text[done:i]...)
		done = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
	}
	return append(dst, text[done:]...)
}

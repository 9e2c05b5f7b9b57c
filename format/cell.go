package format

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// style says how cells and lines are written.
type style struct {
	delimiter byte
	lineEnd   string
	quoted    [256]bool // bytes that require quotes around a text
	null      []byte    // text for NULL; nil: none
	formulas  bool      // check for formulas
	numbers   *numbers  // of the locale; nil: none
	thousands bool
}

// column says how the cells of a column of the file are written.
type column struct {
	kind     report.Kind
	zerofill int
	dates    *dateStyle // nil: unchanged
	plain    bool       // a text that needs no quotes and is no formula is copied unchanged
	local    bool       // a number is written as the locale does
}

// newStyle returns the style of CSV.
func newStyle(c *CSVOptions) *style {
	s := &style{delimiter: c.separator(), lineEnd: "\r\n", formulas: c.Formulas != FormulasOff, thousands: c.Thousands}
	if c.Locale != "" {
		s.numbers = new(c.Locale.numbers())
	}
	for _, b := range []byte{s.delimiter, '"', '\r', '\n'} {
		s.quoted[b] = true
	}
	if c.LF {
		s.lineEnd = "\n"
	}
	if c.Null != nil {
		s.null = []byte(*c.Null)
	}
	return s
}

// column returns how the cells of a column are written; dates is nil if they are unchanged.
func (s *style) column(kind report.Kind, zerofill int, dates *dateStyle) column {
	return column{
		kind: kind, zerofill: zerofill, dates: dates, plain: (dates == nil || !dates.changes(kind)) && s.null == nil,
		local: s.numbers != nil && (kind == report.KindDecimal || kind == report.KindFloat),
	}
}

// appendCell appends a value, given as the JSON that dataset.Chunk.Cell returns, and tells whether
// it is a formula.
func (s *style) appendCell(dst, cell []byte, c *column) (_ []byte, formula bool) {
	if c.local {
		if number, ok := numberOf(cell); ok {
			return s.appendLocal(dst, number, c), false
		}
	}
	switch {
	case dataset.IsNull(cell):
		return append(dst, s.null...), false
	case cell[0] == '"':
		inside := cell[1 : len(cell)-1]
		if c.plain && (!s.formulas || beginsNoFormula(inside)) && isPlain(inside, s.delimiter) {
			return append(dst, inside...), false
		}
		return s.appendText(dst, cell, c)
	case c.zerofill == 0 && s.null == nil:
		return append(dst, cell...), false // numbers, true and false need no quotes
	}
	start := len(dst)
	return s.quote(zeroFilled(append(dst, cell...), start, c.zerofill), start), false
}

// appendLocal appends a number as the locale writes it.
func (s *style) appendLocal(dst, number []byte, c *column) []byte {
	start := len(dst)
	dst = s.numbers.appendNumber(dst, number, s.thousands && c.zerofill == 0)
	return s.quote(zeroFilled(dst, start, c.zerofill), start)
}

// appendText appends a text, given as JSON, that cannot be copied unchanged.
func (s *style) appendText(dst, cell []byte, c *column) (_ []byte, formula bool) {
	start := len(dst)
	dst = dataset.AppendText(dst, cell)
	if c.dates != nil && c.dates.changes(c.kind) {
		dst = c.dates.rewrite(dst, start, c.kind)
	}
	return s.finish(dst, start, c.kind)
}

// finish escapes the text that begins at start if it is a formula, and quotes it if it needs
// quotes. It tells whether it is a formula.
func (s *style) finish(dst []byte, start int, kind report.Kind) (_ []byte, formula bool) {
	if formula = s.formulas && IsFormula(dst[start:], kind); formula {
		dst = slices.Insert(dst, start, '\'')
	}
	return s.quote(dst, start), formula
}

// quote quotes the text that begins at start if it needs quotes. If NULL has a text, the same text
// and an empty one need them, too.
func (s *style) quote(dst []byte, start int) []byte {
	text := dst[start:]
	if !s.quotes(text) {
		return dst
	}
	// The quoted text is longer, so it is built after the original and then moved.
	end := len(dst)
	dst = append(dst, '"')
	for _, c := range text {
		if c == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, c)
	}
	dst = append(dst, '"')
	return append(dst[:start], dst[end:]...)
}

func (s *style) quotes(text []byte) bool {
	if s.null != nil && (len(text) == 0 || bytes.Equal(text, s.null)) {
		return true
	}
	for _, c := range text {
		if s.quoted[c] {
			return true
		}
	}
	return false
}

// endLine ends the line that begins at start. Many readers skip a blank line, so a line with a
// single empty cell gets quotes.
func (s *style) endLine(dst []byte, start int) []byte {
	if len(dst) == start {
		dst = append(dst, '"', '"')
	}
	return append(dst, s.lineEnd...)
}

var zeros = strings.Repeat("0", 256)

// zeroFilled inserts zeros before the number that begins at start, so that it has at least width
// characters.
func zeroFilled(dst []byte, start, width int) []byte {
	missing := max(0, min(width-(len(dst)-start), len(zeros)))
	return slices.Insert(dst, start, []byte(zeros[:missing])...)
}

// isPlain tells whether the text between the quotes of a JSON string can be copied unchanged: it
// has no delimiter and no escape, and without an escape it has no quote, CR or LF. It checks eight
// bytes at once: a byte of x^pattern is zero where the text has the character, and the expression
// sets the high bit of some byte only if one is zero.
func isPlain(inside []byte, by byte) bool {
	const ones, highest = 0x0101010101010101, 0x8080808080808080
	for len(inside) >= 8 {
		x := binary.LittleEndian.Uint64(inside)
		delimiter, escape := x^(ones*uint64(by)), x^(ones*'\\')
		if ((delimiter-ones)&^delimiter|(escape-ones)&^escape)&highest != 0 {
			return false
		}
		inside = inside[8:]
	}
	for _, c := range inside {
		if c == by || c == '\\' {
			return false
		}
	}
	return true
}

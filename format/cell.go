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
	quoted    [256]bool // bytes for which a text is put in quotes
	null      []byte    // what stands for NULL; nil: nothing does
	formulas  bool      // they are looked for
}

// column says how the cells of a column of the file are written.
type column struct {
	kind     report.Kind
	zerofill int
	moments  *moments // nil: as the source gives them
	plain    bool     // a text that needs no quotes is written as it stands
}

// newStyle reads the options of a CSV.
func newStyle(c *report.CSV) *style {
	s := &style{delimiter: ',', lineEnd: "\r\n", formulas: c.Formulas != report.FormulasOff}
	if c.Delimiter != "" {
		s.delimiter = c.Delimiter[0]
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

// column returns how the cells of a column are written; moments is nil where they stay as the
// source gives them.
func (s *style) column(kind report.Kind, zerofill int, m *moments) column {
	return column{kind, zerofill, m, (m == nil || !m.shows(kind)) && !s.formulas && s.null == nil}
}

// appendCell appends the JSON of a value, as dataset.Chunk.Cell gives it, and tells whether
// it is a formula.
func (s *style) appendCell(dst, cell []byte, c *column) (_ []byte, formula bool) {
	switch {
	case dataset.IsNull(cell):
		return append(dst, s.null...), false
	case cell[0] == '"':
		if inside := cell[1 : len(cell)-1]; c.plain && isPlain(inside, s.delimiter) {
			return append(dst, inside...), false
		}
		return s.appendText(dst, cell, c)
	case c.zerofill == 0 && s.null == nil:
		return append(dst, cell...), false // numbers and words need no quotes
	}
	start := len(dst)
	return s.quote(zeroFilled(append(dst, cell...), start, c.zerofill), start), false
}

// appendText appends the JSON of a text that is not written as it stands.
func (s *style) appendText(dst, cell []byte, c *column) (_ []byte, formula bool) {
	start := len(dst)
	dst = dataset.AppendText(dst, cell)
	if c.moments != nil && c.moments.shows(c.kind) {
		dst = c.moments.rewrite(dst, start, c.kind)
	}
	return s.finish(dst, start, c.kind)
}

// finish guards a text that begins at start, if it is a formula, and puts it in quotes, if
// it needs them. It tells whether it is a formula.
func (s *style) finish(dst []byte, start int, kind report.Kind) (_ []byte, formula bool) {
	if formula = s.formulas && IsFormula(dst[start:], kind); formula {
		dst = slices.Insert(dst, start, '\'')
	}
	return s.quote(dst, start), formula
}

// quote puts quotes around the text that begins at start, where it needs them: also
// where NULL has a text, and this is the same or empty.
func (s *style) quote(dst []byte, start int) []byte {
	text := dst[start:]
	if !s.quotes(text) {
		return dst
	}
	// The quoted text is made behind its place, since quotes make it longer.
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

// endLine ends the line that begins at start. Many readers skip a blank line, so a single
// cell that is empty is written with quotes.
func (s *style) endLine(dst []byte, start int) []byte {
	if len(dst) == start {
		dst = append(dst, '"', '"')
	}
	return append(dst, s.lineEnd...)
}

var zeros = strings.Repeat("0", 256)

// zeroFilled puts zeros before the number that begins at start, so that it has at least
// width characters.
func zeroFilled(dst []byte, start, width int) []byte {
	missing := max(0, min(width-(len(dst)-start), len(zeros)))
	return slices.Insert(dst, start, []byte(zeros[:missing])...)
}

// isPlain tells whether what stands between the quotes of a JSON string is the cell: it
// has no delimiter, and no escape, without which it has no quote, CR or LF either. It checks
// eight bytes at once: a byte of delimiter or escape is zero only where the text has that
// character, and only then the highest bit of its place is set.
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

package format

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// style writes cells and lines as the options of a CSV say. A CSV without options has
// none.
type style struct {
	csv       *report.CSV
	delimiter byte
	lineEnd   string
	quoted    [256]bool // bytes of a text that has to be in quotes
	null      []byte    // what stands for NULL
	found     []int64   // formulas in the lines, for each column of the file
}

// newStyle returns nil where cells and lines are as RFC 4180 has them.
func newStyle(c *report.CSV) *style {
	if c.Delimiter == "" && !c.LF && c.Null == nil && c.TimeZone == "" && c.Date == "" && c.Datetime == "" && c.Formulas == report.FormulasOff {
		return nil
	}
	s := &style{csv: c, delimiter: ',', lineEnd: "\r\n", quoted: inQuotes, found: make([]int64, len(c.Columns))}
	if c.Delimiter != "" {
		s.delimiter = c.Delimiter[0]
		s.quoted[','], s.quoted[s.delimiter] = false, true
	}
	if c.LF {
		s.lineEnd = "\n"
	}
	if c.Null != nil {
		s.null = []byte(*c.Null)
	}
	return s
}

// appendRow appends the cells of a line, and counts the formulas.
func (s *style) appendRow(dst []byte, columns []column, cells, fixed [][]byte) ([]byte, error) {
	for i, cell := range cells {
		if i > 0 {
			dst = append(dst, s.delimiter)
		}
		if fixed[i] != nil {
			dst = append(dst, fixed[i]...)
			continue
		}
		var formula bool
		if dst, formula = s.appendCell(dst, cell, &columns[i]); !formula {
			continue
		}
		if s.csv.Formulas == report.FormulasFail {
			return nil, fmt.Errorf("%w, in column %q: correct the data, or write formulas: escape in the report's csv", ErrFormula, s.csv.Columns[i].Label)
		}
		s.found[i]++
	}
	return dst, nil
}

// appendCell appends the JSON of a value, and tells whether it is a formula.
func (s *style) appendCell(dst, cell []byte, c *column) (_ []byte, formula bool) {
	if dataset.IsNull(cell) {
		return append(dst, s.null...), false
	}
	start := len(dst)
	if cell[0] != '"' {
		dst = zeroFilled(append(dst, cell...), start, c.zerofill)
		return s.quote(dst, start), false
	}
	dst = dataset.AppendText(dst, cell)
	switch {
	case c.kind == report.KindDate && c.moments.date != nil, c.kind == report.KindDatetime && c.moments.shown():
		dst = c.moments.rewrite(dst, start, c.kind)
	}
	if s.csv.Formulas != report.FormulasOff && IsFormula(dst[start:], c.kind) {
		formula = true
		dst = guarded(dst, start)
	}
	return s.quote(dst, start), formula
}

// appendLabel appends a cell of the header.
func (s *style) appendLabel(dst []byte, label string) []byte {
	start := len(dst)
	dst = append(dst, label...)
	if s.csv.Formulas != report.FormulasOff && IsFormula(dst[start:], report.KindText) {
		dst = guarded(dst, start)
	}
	return s.quote(dst, start)
}

// quote puts quotes around the text that begins at start, where it needs them: also
// where NULL has a text, and this is the same or empty.
func (s *style) quote(dst []byte, start int) []byte {
	text := dst[start:]
	if !s.quotes(text) {
		return dst
	}
	end := len(dst)
	dst = appendQuoted(dst, text)
	return append(dst[:start], dst[end:]...)
}

func (s *style) quotes(text []byte) bool {
	if s.csv.Null != nil && (len(text) == 0 || bytes.Equal(text, s.null)) {
		return true
	}
	for _, c := range text {
		if s.quoted[c] {
			return true
		}
	}
	return false
}

// endLine ends the line that begins at start; see the function of that name.
func (s *style) endLine(dst []byte, start int) []byte {
	if len(dst) == start {
		dst = append(dst, '"', '"')
	}
	return append(dst, s.lineEnd...)
}

// ErrFormula is matched by the error of a file that would have a formula, where its
// report forbids that.
var ErrFormula = errors.New("format: a text that a spreadsheet takes for a formula")

// escaped returns how many formulas each column had, by its label.
func (s *style) escaped() map[string]int64 {
	var found map[string]int64
	for i, n := range s.found {
		if n == 0 {
			continue
		}
		if found == nil {
			found = map[string]int64{}
		}
		found[s.csv.Columns[i].Label] = n
	}
	return found
}

package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// style writes cells and lines as the options of a CSV say. A CSV without options
// has none, and is written by appendCSV.
type style struct {
	csv       *report.CSV
	delimiter byte
	lineEnd   string
	quoted    [256]bool // bytes of a text that has to be in quotes
	null      []byte    // what stands for NULL

	// found counts, for each column of the file, the formulas in its lines. Lines are
	// made by several goroutines.
	found []atomic.Int64
	any   atomic.Bool
}

// newStyle is nil where cells and lines are as RFC 4180 has them.
func newStyle(c *report.CSV) *style {
	if c.Delimiter == "" && !c.LF && c.Null == nil && c.TimeZone == "" && c.Date == "" && c.Datetime == "" && c.Formulas == report.FormulasOff {
		return nil
	}
	s := &style{csv: c, delimiter: ',', lineEnd: "\r\n", quoted: quotedInCSV, found: make([]atomic.Int64, len(c.Columns))}
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

// moments says for each column how its dates and datetimes are shown.
func (s *style) moments(columns []dataset.Column) ([]moments, error) {
	all := make([]moments, len(columns))
	for i, c := range columns {
		if same := slices.IndexFunc(columns[:i], func(before dataset.Column) bool { return before.Zone == c.Zone }); same >= 0 {
			all[i] = all[same] // a zone is read from a file
			continue
		}
		var err error
		if all[i], err = newMoments(s.csv, c.Zone); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// appendCell is appendCSV for a value of a column, and tells whether it is a formula.
func (s *style) appendCell(dst, cell []byte, column *dataset.Column, m *moments) (_ []byte, formula bool) {
	if dataset.IsNull(cell) {
		return append(dst, s.null...), false
	}
	start := len(dst)
	if cell[0] != '"' {
		dst = zeroFilled(append(dst, cell...), start, column.Zerofill)
		return s.quote(dst, start), false
	}
	dst = dataset.AppendText(dst, cell)
	switch kind := column.Kind; {
	case kind == report.KindDate && m.date != nil, kind == report.KindDatetime && m.shown():
		dst = m.rewrite(dst, start, kind)
	}
	if s.csv.Formulas != report.FormulasOff && IsFormula(dst[start:], column.Kind) {
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
	dst = appendQuotedCSV(dst, text)
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

// endLine is endCSVLine.
func (s *style) endLine(dst []byte, start int) []byte {
	if len(dst) == start {
		dst = append(dst, '"', '"')
	}
	return append(dst, s.lineEnd...)
}

// appendSegment appends the cells of a row that stand side by side. Behind them it
// says which of them are formulas: the number of each, counted from 0, and how many.
// So those of a row count in each line that the row is in, and in no other.
func (s *style) appendSegment(dst []byte, c *dataset.Chunk, row int, columns []int, m []moments) []byte {
	var found []uint32
	for i, column := range columns {
		if i > 0 {
			dst = append(dst, s.delimiter)
		}
		var formula bool
		if dst, formula = s.appendCell(dst, c.Cell(column, row), &c.Columns()[column], &m[column]); formula {
			found = append(found, uint32(i))
		}
	}
	if s.csv.Formulas == report.FormulasOff {
		return dst
	}
	for _, i := range found {
		dst = binary.LittleEndian.AppendUint32(dst, i)
	}
	return binary.LittleEndian.AppendUint32(dst, uint32(len(found)))
}

// shown returns the cells of a segment that goes into a line, the first of them in
// that column of the file, and counts the formulas.
func (s *style) shown(segment []byte, first int) []byte {
	if s.csv.Formulas == report.FormulasOff {
		return segment
	}
	end := len(segment) - 4
	for n := binary.LittleEndian.Uint32(segment[end:]); n > 0; n-- {
		end -= 4
		s.found[first+int(binary.LittleEndian.Uint32(segment[end:]))].Add(1)
		s.any.Store(true)
	}
	return segment[:end]
}

// blank appends what stands for a cell of a row that is not there: NULL, as in SQL.
func (s *style) blank(dst []byte, first bool) []byte {
	if !first {
		dst = append(dst, s.delimiter)
	}
	return append(dst, s.null...)
}

// ErrFormula is matched by the error of a file that would have a formula, where its
// report forbids that.
var ErrFormula = errors.New("format: a text that a spreadsheet takes for a formula")

// refused is the error of a file that must have no formula, and has one.
func (s *style) refused() error {
	if s.csv.Formulas != report.FormulasFail || !s.any.Load() {
		return nil
	}
	for i := range s.found {
		if s.found[i].Load() > 0 {
			return fmt.Errorf("%w, in column %q: correct the data, or write formulas: escape in the report's csv", ErrFormula, s.csv.Columns[i].Label)
		}
	}
	return nil
}

// escaped returns how many formulas each column had, by its label.
func (s *style) escaped() map[string]int64 {
	var found map[string]int64
	for i := range s.found {
		if n := s.found[i].Load(); n > 0 {
			if found == nil {
				found = map[string]int64{}
			}
			found[s.csv.Columns[i].Label] = n
		}
	}
	return found
}

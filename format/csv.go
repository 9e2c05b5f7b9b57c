package format

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// CSV writes the rows of a file as CSV. The default is RFC 4180, with CRLF line ends and quotes
// only around cells that contain a comma, a quote, CR or LF; the options of a report change it.
// AppendRow is safe for concurrent use; the other methods are used by one goroutine at a time.
//
// It does not use encoding/csv, which with UseCRLF also rewrites line breaks inside cells, and
// takes every cell as a string, which costs an allocation per cell.
type CSV struct {
	csv     *report.CSV
	origins [][]column     // see NewCSV
	fixed   [][]byte       // by column of the file: the text of all its cells; nil: not fixed
	found   []atomic.Int64 // by column of the file: number of formulas
	style   *style
	file    *file
	out     *output
	rows    int64
}

// Made describes a finished file.
type Made struct {
	Rows     int64            // without the header
	Formulas map[string]int64 // escaped formulas, by the label of their column; nil: none
}

// NewCSV begins a file that is written to w, header first. columns has the columns of the file for
// every origin, or nil for an origin that AppendRow is never called with; their number is that of
// the columns of c. The caller must call Close or Abort; w is used by one goroutine at a time, and
// not afterwards.
func NewCSV(c *report.CSV, columns [][]dataset.Column, w io.Writer) (*CSV, error) {
	f := &CSV{csv: c, style: newStyle(c), fixed: make([][]byte, len(c.Columns)), found: make([]atomic.Int64, len(c.Columns))}
	for _, of := range columns {
		if of == nil {
			f.origins = append(f.origins, nil)
			continue
		}
		origin, err := f.origin(of)
		if err != nil {
			return nil, err
		}
		f.origins = append(f.origins, origin)
	}
	for i, cell := range c.Fixed {
		f.fixed[i], _ = f.style.appendCell([]byte{}, []byte(cell), new(f.style.column(report.KindText, 0, nil)))
	}
	f.file = newFile(c, w)
	f.out = newOutput(f.file)
	if c.BOM {
		f.out.lines = append(f.out.lines, "\ufeff"...)
	}
	f.out.lines = f.appendHeader(f.out.lines)
	return f, nil
}

// origin returns how the cells of the rows of an origin are written.
func (f *CSV) origin(of []dataset.Column) ([]column, error) {
	if len(of) != len(f.csv.Columns) {
		return nil, fmt.Errorf("format: %d columns in a file of %d", len(of), len(f.csv.Columns))
	}
	columns := make([]column, len(of))
	zones := map[string]*dateStyle{} // cached, because loading a zone reads a file
	for i, c := range of {
		if zones[c.Zone] == nil && (f.csv.TimeZone != "" || f.csv.Date != "" || f.csv.Datetime != "") {
			s, err := newDateStyle(f.csv, c.Zone)
			if err != nil {
				return nil, err
			}
			zones[c.Zone] = &s
		}
		columns[i] = f.style.column(c.Kind, c.Zerofill, zones[c.Zone])
	}
	return columns, nil
}

// AppendRow appends the line of a row. Every cell is the JSON of a value, or nil for NULL; their
// columns are those of origin. It returns ErrFormula for a formula if csv.formulas is fail. It is
// safe for concurrent use.
func (f *CSV) AppendRow(dst []byte, origin int, cells [][]byte) ([]byte, error) {
	columns, start := f.origins[origin], len(dst)
	for i, cell := range cells {
		if i > 0 {
			dst = append(dst, f.style.delimiter)
		}
		if f.fixed[i] != nil {
			dst = append(dst, f.fixed[i]...)
			continue
		}
		var formula bool
		if dst, formula = f.style.appendCell(dst, cell, &columns[i]); !formula {
			continue
		}
		if f.csv.Formulas == report.FormulasFail {
			return nil, fmt.Errorf("%w (column %q): correct the data, or set csv.formulas: escape", ErrFormula, f.csv.Columns[i].Label)
		}
		f.found[i].Add(1)
	}
	return f.style.endLine(dst, start), nil
}

// WriteRows writes lines that AppendRow returned; count is their number. It keeps the buffer, and
// returns an empty one. It returns ErrTooLarge if the file exceeds csv.max_rows or csv.max_bytes.
// After an error only Abort may be called.
func (f *CSV) WriteRows(lines []byte, count int64) (empty []byte, err error) {
	if f.rows += count; f.csv.MaxRows > 0 && f.rows > f.csv.MaxRows {
		return nil, tooLarge("%d rows (csv.max_rows)", f.csv.MaxRows)
	}
	return f.out.add(lines)
}

// Close writes the remaining lines, and describes the file. It does not close w.
func (f *CSV) Close() (Made, error) {
	defer f.Abort()
	if err := errors.Join(f.out.flush(), f.file.close()); err != nil {
		return Made{}, err
	}
	made := Made{Rows: f.rows}
	for i := range f.found {
		n := f.found[i].Load()
		if n == 0 {
			continue
		}
		if made.Formulas == nil {
			made.Formulas = map[string]int64{}
		}
		made.Formulas[f.csv.Columns[i].Label] = n
	}
	return made, nil
}

// Abort stops writing, and waits until no write to w is running. After Close it does nothing.
func (f *CSV) Abort() {
	if f.out == nil {
		return
	}
	_ = f.out.close() // WriteRows or Close has returned its error
	f.out.release()
	f.file.release()
	f.out = nil
}

// appendHeader appends the labels of the columns.
func (f *CSV) appendHeader(dst []byte) []byte {
	start := len(dst)
	for i, c := range f.csv.Columns {
		if i > 0 {
			dst = append(dst, f.style.delimiter)
		}
		at := len(dst)
		dst, _ = f.style.finish(append(dst, c.Label...), at, report.KindText)
	}
	return f.style.endLine(dst, start)
}

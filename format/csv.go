package format

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// CSV writes the rows of a file as CSV: as RFC 4180 has it, with CRLF line ends and quotes
// only around a cell that holds a comma, a quote, CR or LF; or as the options of a report
// say. AppendRow makes lines; the other methods are used by one goroutine at a time.
//
// encoding/csv is not used: with UseCRLF it also rewrites the line breaks inside of cells,
// and it wants every cell as a string, which is an allocation for each.
type CSV struct {
	csv     *report.CSV
	origins [][]column     // see NewCSV
	fixed   [][]byte       // for each column of the file the text of all its cells; nil: none
	found   []atomic.Int64 // formulas in the lines, for each column of the file
	style   *style
	file    *file
	out     *output
	rows    int64
}

// Made says what a file has become.
type Made struct {
	Rows     int64            // below the header
	Formulas map[string]int64 // cells that were escaped as formulas, by the label of their column; nil: none
}

// NewCSV begins a file and writes its header to w. The columns are those of the file for
// each origin that AppendRow is given, as many as c has; nil for an origin that it is not
// given. The caller calls Close or Abort;
// w is used by one goroutine at a time and by none after that.
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

// origin says how the cells of rows of one origin are written.
func (f *CSV) origin(of []dataset.Column) ([]column, error) {
	if len(of) != len(f.csv.Columns) {
		return nil, fmt.Errorf("format: %d columns in a file of %d", len(of), len(f.csv.Columns))
	}
	columns := make([]column, len(of))
	zones := map[string]*moments{} // a zone is read from a file
	for i, c := range of {
		if zones[c.Zone] == nil && (f.csv.TimeZone != "" || f.csv.Date != "" || f.csv.Datetime != "") {
			m, err := newMoments(f.csv, c.Zone)
			if err != nil {
				return nil, err
			}
			zones[c.Zone] = &m
		}
		columns[i] = f.style.column(c.Kind, c.Zerofill, zones[c.Zone])
	}
	return columns, nil
}

// AppendRow appends the line of a row. Each cell is the JSON of a value, or nil for NULL; origin
// says which columns they have. A formula where there must be none is ErrFormula. It is safe for
// concurrent use.
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
			return nil, fmt.Errorf("%w, in column %q: correct the data, or write formulas: escape in the report's csv", ErrFormula, f.csv.Columns[i].Label)
		}
		f.found[i].Add(1)
	}
	return f.style.endLine(dst, start), nil
}

// WriteRows writes lines, which AppendRow has made, and says how many they are. It keeps them,
// and returns an empty buffer for others. A file beyond csv.max_rows or csv.max_bytes is
// ErrTooLarge. After an error only Abort is called.
func (f *CSV) WriteRows(lines []byte, count int64) (empty []byte, err error) {
	if f.rows += count; f.csv.MaxRows > 0 && f.rows > f.csv.MaxRows {
		return nil, tooLarge("%d rows, which is csv.max_rows", f.csv.MaxRows)
	}
	return f.out.add(lines)
}

// Close writes what is left, and says what the file has become.
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

// Abort waits until the file is not written to any more. After Close it does nothing.
func (f *CSV) Abort() {
	if f.out == nil {
		return
	}
	_ = f.out.close() // its error is the one that WriteRows or Close has returned, if any
	f.out.keep()
	f.file.end()
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

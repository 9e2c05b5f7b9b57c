package format

import (
	"fmt"
	"sync/atomic"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// CSV is the format of comma-separated values. The default is RFC 4180, with CRLF line ends and
// quotes only around cells that contain a comma, a quote, CR or LF; CSVOptions change it.
var CSV = Kind{
	Format: report.Format{
		Name: "csv", Fields: func() any { return new(CSVOptions) }, Check: checkCSV,
		ShowsZone: func(f *report.File) bool { return csvOptions(f).Datetime.showsZone() },
	},
	Extension: ".csv", ContentType: "text/csv; charset=utf-8",
	New: newCSV,
	Lines: func(f *report.File, file []byte) []Line {
		return splitLines(file, csvOptions(f).separator())
	},
}

// csvEncoder encodes rows as CSV. It does not use encoding/csv, which with UseCRLF also rewrites line
// breaks inside cells, and takes every cell as a string, which costs an allocation per cell.
type csvEncoder struct {
	*CSVOptions
	labels  []string
	columns []column
	found   []atomic.Int64 // by column of the file: number of formulas
	style   *style
}

func newCSV(f *report.File, columns []dataset.Column) (Encoder, error) {
	o := csvOptions(f)
	c := &csvEncoder{CSVOptions: o, found: make([]atomic.Int64, len(f.Columns)), style: newStyle(o)}
	for _, column := range f.Columns {
		c.labels = append(c.labels, column.Label)
	}
	zones := map[string]*dateStyle{} // cached, because loading a zone reads a file
	for _, from := range columns {
		if zones[from.Zone] == nil && (f.TimeZone != "" || o.Date != "" || o.Datetime != "") {
			s, err := newDateStyle(o, from.Zone, f.TimeZone)
			if err != nil {
				return nil, err
			}
			zones[from.Zone] = &s
		}
		c.columns = append(c.columns, c.style.column(from.Kind, from.Zerofill, zones[from.Zone]))
	}
	return c, nil
}

// AppendHeader appends the labels of the columns.
func (c *csvEncoder) AppendHeader(dst []byte) []byte {
	if c.marked() {
		dst = append(dst, "\ufeff"...)
	}
	start := len(dst)
	for i, label := range c.labels {
		if i > 0 {
			dst = append(dst, c.style.delimiter)
		}
		at := len(dst)
		dst, _ = c.style.finish(append(dst, label...), at, report.KindText)
	}
	return c.style.endLine(dst, start)
}

// AppendRow appends the line of a row. It returns ErrFormula for a formula if formulas is fail.
func (c *csvEncoder) AppendRow(dst []byte, cells [][]byte) ([]byte, error) {
	start := len(dst)
	for i, cell := range cells {
		if i > 0 {
			dst = append(dst, c.style.delimiter)
		}
		var formula bool
		if dst, formula = c.style.appendCell(dst, cell, &c.columns[i]); !formula {
			continue
		}
		if c.Formulas == FormulasFail {
			return nil, fmt.Errorf("%w (column %q, value %s): correct the data, or set file.formulas: escape", ErrFormula,
				c.labels[i], report.Shorten(string(cell)))
		}
		c.found[i].Add(1)
	}
	return c.style.endLine(dst, start), nil
}

// AppendFooter counts the formulas.
func (c *csvEncoder) AppendFooter(dst []byte, made *Made) []byte {
	for i := range c.found {
		n := c.found[i].Load()
		if n == 0 {
			continue
		}
		if made.Formulas == nil {
			made.Formulas = map[string]int64{}
		}
		made.Formulas[c.labels[i]] = n
	}
	return dst
}

// Package zipped is a format that is a container: a zip archive with the rows as rows.csv, and the types
// of the columns as columns.json.
package zipped

import (
	"archive/zip"
	"encoding/json"
	"io"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// Kind is the format: file: {format: zip}.
var Kind = format.Kind{
	Format: report.Format{
		Name: "zip", MaxRows: 1_000_000,
		Packed: "a zip archive is compressed already",
	},
	Extension: ".zip", ContentType: "application/zip",
	New: newEncoder,
}

// encoder encodes rows as CSV does, and puts them into an archive.
type encoder struct {
	format.Encoder
	columns []Column
}

// Column is an entry of columns.json.
type Column struct {
	Label string      `json:"label"`
	Type  report.Kind `json:"type"`
}

var _ format.Container = (*encoder)(nil)

func newEncoder(f *report.File, columns []dataset.Column) (format.Encoder, error) {
	inside := *f
	inside.Options = &format.CSVOptions{Formulas: format.FormulasOff} // the archive is for programs
	rows, err := format.CSV.New(&inside, columns)
	e := &encoder{Encoder: rows}
	for i, c := range f.Columns {
		e.columns = append(e.columns, Column{c.Label, columns[i].Kind})
	}
	return e, err
}

// Wrap implements format.Container.
func (e *encoder) Wrap(w io.Writer, _ format.Title) (io.WriteCloser, error) {
	archive := zip.NewWriter(w)
	rows, err := archive.Create("rows.csv") // without a time: the same rows become the same bytes
	return &wrapped{rows, archive, e}, err
}

// wrapped writes the rows into the archive.
type wrapped struct {
	io.Writer
	archive *zip.Writer
	of      *encoder
}

// Close adds the types, and writes the directory of the archive.
func (w *wrapped) Close() error {
	types, err := w.archive.Create("columns.json")
	if err != nil {
		return err
	}
	if err := json.NewEncoder(types).Encode(w.of.columns); err != nil {
		return err
	}
	return w.archive.Close()
}

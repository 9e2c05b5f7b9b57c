// Package tsv is the format of tab-separated values. A tab, a line break or a backslash inside a cell
// is written as \t, \n, \r or \\, and NULL as \N.
package tsv

import (
	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// Kind is the format: file: {format: tsv}.
var Kind = format.Kind{
	Format: report.Format{
		Name: "tsv", Fields: func() any { return new(Options) }, Check: check,
	},
	Extension: ".tsv", ContentType: "text/tab-separated-values; charset=utf-8",
	New: func(f *report.File, _ []dataset.Column) (format.Encoder, error) { return encoder{f}, nil },
}

// Options are the own fields of the format.
type Options struct {
	NoHeader bool `yaml:"header" enum:"true,false" default:"true" json:",omitempty" doc:"false leaves out the labels of the columns"`
}

// check refuses what the format does not do.
func check(r *report.Report) (wrong []report.FieldMistake) {
	if r.File.TimeZone != "" {
		wrong = append(wrong, report.FieldMistake{Field: "time_zone", Mistake: report.Mistake{
			Message: "the format tsv writes datetimes as they are", Remedy: "Remove it",
		}})
	}
	return wrong
}

// encoder encodes the rows of a file.
type encoder struct{ *report.File }

func (e encoder) AppendHeader(dst []byte) []byte {
	if o, ok := e.Options.(*Options); ok && o.NoHeader {
		return dst
	}
	for i, c := range e.Columns {
		dst = appendText(dst, []byte(c.Label), i)
	}
	return append(dst, '\n')
}

func (e encoder) AppendRow(dst []byte, cells [][]byte) ([]byte, error) {
	var text []byte
	for i, cell := range cells {
		if dataset.IsNull(cell) {
			dst = append(appendText(dst, nil, i), `\N`...)
			continue
		}
		text = dataset.AppendText(text[:0], cell)
		dst = appendText(dst, text, i)
	}
	return append(dst, '\n'), nil
}

func (e encoder) AppendFooter(dst []byte, _ *format.Made) []byte { return dst }

// appendText appends a cell of a column, escaped.
func appendText(dst, text []byte, column int) []byte {
	if column > 0 {
		dst = append(dst, '\t')
	}
	for _, c := range text {
		switch c {
		case '\t':
			dst = append(dst, `\t`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\\':
			dst = append(dst, `\\`...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

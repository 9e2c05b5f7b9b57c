package jsonl

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// Kind is the format: file: {format: jsonl}.
//
// Its content type is application/x-ndjson: no type is registered, and this is the one that servers and clients of
// streams of JSON use.
var Kind = format.Kind{
	Format: report.Format{
		Name: "jsonl", Fields: func() any { return new(Options) },
		ShowsZone: func(*report.File) bool { return true },
	},
	Extension: ".jsonl", ContentType: "application/x-ndjson",
	New: newEncoder,
}

// Options are the own fields of the format jsonl.
type Options struct {
	// What happens to a NULL: `write` writes `null`, and `omit` leaves the key out
	OmitNulls bool `yaml:"nulls" enum:"write,omit" default:"write" json:",omitempty"`
}

// encoder encodes rows as objects. It is immutable.
type encoder struct {
	columns   []column
	omitNulls bool
}

// column is a column of the file.
type column struct {
	key   []byte // the label in quotes, and a colon
	kind  report.Kind
	zones format.Zones // of a datetime
}

func newEncoder(f *report.File, columns []dataset.Column) (format.Encoder, error) {
	e := &encoder{columns: make([]column, len(columns))}
	if o, ok := f.Options.(*Options); ok {
		e.omitNulls = o.OmitNulls
	}
	for i, from := range columns {
		c := &e.columns[i]
		c.key, c.kind = append(dataset.AppendString(nil, []byte(f.Columns[i].Label)), ':'), from.Kind
		if c.kind != report.KindDatetime {
			continue
		}
		var err error
		if c.zones, err = format.NewZones(from.Zone, f.TimeZone); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// AppendHeader appends nothing: every object has the labels.
func (e *encoder) AppendHeader(dst []byte) []byte { return dst }

// AppendRow appends the object of a row, and a line end.
func (e *encoder) AppendRow(dst []byte, cells [][]byte) ([]byte, error) {
	dst = append(dst, '{')
	empty := len(dst)
	for i, cell := range cells {
		null := dataset.IsNull(cell)
		if null && e.omitNulls {
			continue
		}
		if len(dst) > empty {
			dst = append(dst, ',')
		}
		c := &e.columns[i]
		if dst = append(dst, c.key...); null {
			dst = append(dst, "null"...)
		} else {
			dst = c.appendValue(dst, cell)
		}
	}
	return append(dst, '}', '\n'), nil
}

// AppendFooter appends nothing.
func (e *encoder) AppendFooter(dst []byte, _ *format.Made) []byte { return dst }

// appendValue appends the JSON of a cell that is not NULL.
func (c *column) appendValue(dst, cell []byte) []byte {
	inside, isText := cell, cell[0] == '"'
	if isText {
		inside = cell[1 : len(cell)-1]
	}
	switch c.kind {
	case report.KindInteger, report.KindDecimal, report.KindFloat:
		if isExact(inside, c.kind) {
			return append(dst, inside...)
		}
	case report.KindDatetime:
		if at, fraction, ok := c.zones.Moment(inside, c.kind); ok {
			return appendDatetime(dst, at, fraction)
		}
	case report.KindJSON:
		if isText {
			return appendDocument(dst, cell)
		}
	}
	switch {
	case isText && bytes.IndexByte(inside, '\\') < 0:
		return append(dst, cell...)
	case isText:
		start := len(dst)
		return quoted(dataset.AppendText(dst, cell), start)
	case cell[0] == 't' || cell[0] == 'f' || isExact(cell, report.KindInteger):
		return append(dst, cell...)
	}
	return append(append(append(dst, '"'), cell...), '"')
}

// quoted makes the text that begins at start a JSON string, in the one form that the file has for it.
func quoted(dst []byte, start int) []byte {
	end := len(dst)
	dst = dataset.AppendString(dst, dst[start:])
	return slices.Delete(dst, start, end)
}

// appendDocument appends a JSON document without line breaks; a text that is none as a JSON string.
func appendDocument(dst, cell []byte) []byte {
	start := len(dst)
	dst = dataset.AppendText(dst, cell)
	text := dst[start:]
	switch {
	case !json.Valid(text):
		return quoted(dst, start)
	case !bytes.ContainsAny(text, "\r\n"):
		return dst
	}
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return quoted(dst, start)
	}
	return append(dst[:start], line.Bytes()...)
}

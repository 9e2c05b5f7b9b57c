package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// Kind is the format: file: {format: parquet}.
var Kind = format.Kind{
	Format: report.Format{
		Name: "parquet", Packed: "the columns of a Parquet file are compressed already",
		ShowsZone: func(*report.File) bool { return true },
	},
	Extension: ".parquet", ContentType: "application/vnd.apache.parquet",
	New: newEncoder,
}

// ErrValue matches the error of a value that the type of its column cannot hold.
var ErrValue = errors.New("a value does not fit the type of its column")

// encoder converts the cells of rows. It is immutable.
type encoder struct {
	columns []*column
	limits
}

var _ format.Container = (*encoder)(nil)

func newEncoder(f *report.File, columns []dataset.Column) (format.Encoder, error) {
	if len(columns) > parquet.MaxColumnIndex {
		return nil, fmt.Errorf("%w: %d columns, and a Parquet file has at most %d", format.ErrTooLarge, len(columns),
			parquet.MaxColumnIndex)
	}
	e := &encoder{limits: standard}
	for i, from := range columns {
		c, err := newColumn(f.Columns[i].Label, from, f.TimeZone)
		if err != nil {
			return nil, err
		}
		e.columns = append(e.columns, c)
	}
	return e, nil
}

// AppendHeader appends nothing: the types of the columns are at the end of the file.
func (e *encoder) AppendHeader(dst []byte) []byte { return dst }

// AppendRow appends the length of a row, and its values: each has its length and 1, or 0 for NULL, before its bytes.
func (e *encoder) AppendRow(dst []byte, cells [][]byte) ([]byte, error) {
	const room = binary.MaxVarintLen32
	start := len(dst)
	dst = append(dst, make([]byte, room)...)
	for i, cell := range cells {
		if dataset.IsNull(cell) {
			dst = append(dst, 0)
			continue
		}
		var err error
		if dst, err = e.columns[i].append(dst, cell); err != nil {
			c := e.columns[i]
			return nil, fmt.Errorf("%w: column %q of type %s, value %s (row: %s): %w", ErrValue, c.label, c.name,
				report.Shorten(string(cell)), e.beginning(cells), err)
		}
	}
	setLength(dst[start:start+room], len(dst)-start-room)
	return dst, nil
}

// setLength writes a length as an Uvarint that fills the room, so that what follows need not be moved.
func setLength(room []byte, n int) {
	for i := range room {
		room[i] = byte(n>>(7*i))&0x7f | 0x80
	}
	room[len(room)-1] &^= 0x80
}

// beginning shows the first cells of a row, by which people find it.
func (e *encoder) beginning(cells [][]byte) string {
	var shown []string
	for i, cell := range cells[:min(3, len(cells))] {
		if cell == nil {
			cell = []byte("null")
		}
		shown = append(shown, e.columns[i].label+" "+report.ShortenTo(string(cell), 30))
	}
	return strings.Join(shown, ", ")
}

// AppendFooter appends nothing.
func (e *encoder) AppendFooter(dst []byte, _ *format.Made) []byte { return dst }

// Wrap implements format.Container.
func (e *encoder) Wrap(w io.Writer, _ format.Title) (io.WriteCloser, error) {
	return newWriter(w, e.columns, e.limits), nil
}

// schema returns the schema of a file. A parquet.Group would sort its columns by their names.
func schema(columns []*column) *parquet.Schema {
	root := &root{}
	for _, c := range columns {
		root.fields = append(root.fields, field{parquet.Optional(c.node()), c.label})
	}
	return parquet.NewSchema("row", root)
}

// root is a group whose fields keep their order.
type root struct {
	parquet.Group
	fields []parquet.Field
}

// Fields implements parquet.Node.
func (r *root) Fields() []parquet.Field { return r.fields }

// field is a column.
type field struct {
	parquet.Node
	name string
}

// Name implements parquet.Field.
func (f field) Name() string { return f.name }

// Value implements parquet.Field. Rows come as values of columns, never as structs.
func (f field) Value(reflect.Value) reflect.Value { return reflect.Value{} }

// Package datasettest makes datasets for the tests of other packages.
package datasettest

import (
	"io"
	"strings"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// TB is what testing.TB and rapid.T have in common.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Columns makes columns from pairs of name and kind. A time zone may follow the kind
// after a space.
func Columns(pairs ...string) []dataset.Column {
	var columns []dataset.Column
	for i := 0; i < len(pairs); i += 2 {
		kind, zone, _ := strings.Cut(pairs[i+1], " ")
		columns = append(columns, dataset.Column{Name: pairs[i], Kind: report.Kind(kind), Zone: zone})
	}
	return columns
}

// Memory is a dataset whose chunks are in memory.
type Memory struct {
	Of     []dataset.Column
	Chunks []*dataset.Chunk // not yet read
	Err    error            // of Next after the last chunk; nil: io.EOF
	Calls  int              // of Next
}

// Columns returns the columns.
func (m *Memory) Columns() []dataset.Column { return m.Of }

// Next returns the next chunk.
func (m *Memory) Next() (*dataset.Chunk, error) {
	m.Calls++
	if len(m.Chunks) == 0 {
		if m.Err != nil {
			return nil, m.Err
		}
		return nil, io.EOF
	}
	c := m.Chunks[0]
	m.Chunks = m.Chunks[1:]
	return c, nil
}

// Of encodes rows with a Builder and decodes them, perChunk rows in every chunk. Values
// are as Put takes them.
func Of(t TB, columns []dataset.Column, perChunk int, rows ...[]any) *Memory {
	t.Helper()
	m := &Memory{Of: columns}
	b := dataset.NewBuilder(columns)
	flush := func() {
		m.Chunks = append(m.Chunks, Decode(t, columns, copied(b.Fields())))
		b.Reset()
	}
	for _, row := range rows {
		for col, value := range row {
			Put(b, col, value)
		}
		if err := b.EndRow(); err != nil {
			t.Fatal(err)
		}
		if b.Rows() == perChunk {
			flush()
		}
	}
	if b.Rows() > 0 || len(m.Chunks) == 0 {
		flush()
	}
	return m
}

// Put gives a Builder a value: nil, int, float64, string or []byte.
func Put(b *dataset.Builder, col int, value any) {
	switch v := value.(type) {
	case nil:
		b.Null(col)
	case int:
		b.Int(col, int64(v))
	case float64:
		b.Float(col, v, 64)
	case string:
		b.Text(col, []byte(v))
	case []byte:
		b.Binary(col, v)
	}
}

// Decode is dataset.DecodeChunk of fields that are good.
func Decode(t TB, columns []dataset.Column, fields [][]byte) *dataset.Chunk {
	t.Helper()
	c, err := dataset.DecodeChunk(columns, fields)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// copied returns the fields in memory of their own.
func copied(fields [][]byte) [][]byte {
	all := make([][]byte, len(fields))
	for i, field := range fields {
		all[i] = append([]byte(nil), field...)
	}
	return all
}

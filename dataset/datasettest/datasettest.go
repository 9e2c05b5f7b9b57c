// Package datasettest makes datasets for the tests of other packages.
package datasettest

import (
	"bytes"
	"strings"
	"sync/atomic"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// TB is what testing.TB and rapid.T have in common.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Columns makes columns from pairs of name and kind. A time zone can follow the kind after a space.
func Columns(pairs ...string) []dataset.Column {
	var columns []dataset.Column
	for i := 0; i < len(pairs); i += 2 {
		kind, zone, _ := strings.Cut(pairs[i+1], " ")
		columns = append(columns, dataset.Column{Name: pairs[i], Kind: report.Kind(kind), Zone: zone})
	}
	return columns
}

// Memory is a dataset in memory. It is safe for concurrent use if Err does not change.
type Memory struct {
	Of     []dataset.Column
	Fields [][][]byte // by chunk
	Err    error      // error of an additional last chunk; nil: no such chunk
	Calls  atomic.Int64

	rows int64
}

// Columns returns the columns.
func (m *Memory) Columns() []dataset.Column { return m.Of }

// Rows returns the number of rows.
func (m *Memory) Rows() int64 { return m.rows }

// Chunks returns the number of chunks.
func (m *Memory) Chunks() int64 {
	if m.Err != nil {
		return int64(len(m.Fields)) + 1
	}
	return int64(len(m.Fields))
}

// Chunk decodes a chunk from a copy of its bytes.
func (m *Memory) Chunk(n int64, columns []int) (*dataset.Chunk, error) {
	m.Calls.Add(1)
	if n >= int64(len(m.Fields)) {
		return nil, m.Err
	}
	of, fields := make([]dataset.Column, len(columns)), make([][]byte, len(columns))
	for i, c := range columns {
		of[i], fields[i] = m.Of[c], bytes.Clone(m.Fields[n][c])
	}
	return dataset.DecodeChunk(of, fields)
}

// Of encodes rows with a Builder, perChunk rows per chunk. Put lists the types of values.
func Of(t TB, columns []dataset.Column, perChunk int, rows ...[]any) *Memory {
	t.Helper()
	m := &Memory{Of: columns, rows: int64(len(rows))}
	b := dataset.NewBuilder(columns)
	flush := func() {
		m.Fields = append(m.Fields, copied(b.Fields()))
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
	if b.Rows() > 0 || len(m.Fields) == 0 {
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

// Decode is dataset.DecodeChunk of valid fields.
func Decode(t TB, columns []dataset.Column, fields [][]byte) *dataset.Chunk {
	t.Helper()
	c, err := dataset.DecodeChunk(columns, fields)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// copied returns a copy of the fields.
func copied(fields [][]byte) [][]byte {
	all := make([][]byte, len(fields))
	for i, field := range fields {
		all[i] = bytes.Clone(field)
	}
	return all
}

package report

import (
	"io"
	"strings"
)

// memory is a Dataset of chunks that are there already.
type memory struct {
	columns []Column
	chunks  []*Chunk
	err     error // after the chunks, instead of io.EOF
	calls   int
}

func (m *memory) Columns() []Column { return m.columns }

func (m *memory) Next() (*Chunk, error) {
	m.calls++
	if len(m.chunks) == 0 {
		if m.err != nil {
			return nil, m.err
		}
		return nil, io.EOF
	}
	c := m.chunks[0]
	m.chunks = m.chunks[1:]
	return c, nil
}

// fataler is what testing.T and rapid.T have in common.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// columnsOf makes columns from pairs of name and kind, which a time zone may follow
// after a space.
func columnsOf(pairs ...string) []Column {
	var columns []Column
	for i := 0; i < len(pairs); i += 2 {
		kind, zone, _ := strings.Cut(pairs[i+1], " ")
		columns = append(columns, Column{Name: pairs[i], Kind: Kind(kind), Zone: zone})
	}
	return columns
}

// put gives a Builder a value: nil, int, float64, string or []byte.
func put(b *Builder, col int, value any) {
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

// datasetOf puts rows through Builder and DecodeChunk, a few in each chunk.
func datasetOf(t fataler, columns []Column, perChunk int, rows ...[]any) *memory {
	t.Helper()
	m := &memory{columns: columns}
	b := NewBuilder(columns)
	flush := func() {
		fields := make([][]byte, len(columns))
		for i, field := range b.Fields() {
			fields[i] = append([]byte(nil), field...)
		}
		m.chunks = append(m.chunks, decoded(t, columns, fields))
		b.Reset()
	}
	for _, row := range rows {
		for col, value := range row {
			put(b, col, value)
		}
		if err := b.EndRow(); err != nil {
			t.Fatal(err)
		}
		if b.Rows() == perChunk {
			flush()
		}
	}
	if b.Rows() > 0 || len(m.chunks) == 0 {
		flush()
	}
	return m
}

func decoded(t fataler, columns []Column, fields [][]byte) *Chunk {
	t.Helper()
	c, err := DecodeChunk(columns, fields)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

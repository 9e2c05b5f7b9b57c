package parquet

import (
	"bytes"

	"github.com/parquet-go/parquet-go"
	pq "github.com/parquet-go/parquet-go/format"
)

// unbounded is a type whose columns tell readers no least and greatest value of a page: those of texts can have
// megabytes, and the end of the file has all of them; and the library orders decimals of 128 bits as if they had no
// sign. An index of pages needs bounds, so that they are wider than any value.
type unbounded struct{ parquet.Type }

// NewColumnIndexer implements parquet.Type.
func (t unbounded) NewColumnIndexer(int) parquet.ColumnIndexer {
	i := &widest{}
	switch {
	case t.Kind() == parquet.FixedLenByteArray:
		i.least = append([]byte{0x80}, make([]byte, 15)...)
		i.greatest = append([]byte{0x7f}, bytes.Repeat([]byte{0xff}, 15)...)
	case t.LogicalType() == nil:
		i.greatest = bytes.Repeat([]byte{0xff}, 64)
	default:
		i.greatest = bytes.Repeat([]byte("\U0010ffff"), 16)
	}
	return i
}

// widest is an index of pages with the same bounds each.
type widest struct {
	least, greatest []byte
	index           pq.ColumnIndex
}

// Reset implements parquet.ColumnIndexer.
func (w *widest) Reset() { w.index = pq.ColumnIndex{} }

// IndexPage implements parquet.ColumnIndexer.
func (w *widest) IndexPage(values, nulls int64, _, _ parquet.Value) {
	least, greatest, none := w.least, w.greatest, values == nulls
	if none {
		least, greatest = nil, nil
	}
	w.index.NullPages = append(w.index.NullPages, none)
	w.index.NullCounts = append(w.index.NullCounts, nulls)
	w.index.MinValues = append(w.index.MinValues, least)
	w.index.MaxValues = append(w.index.MaxValues, greatest)
}

// ColumnIndex implements parquet.ColumnIndexer.
func (w *widest) ColumnIndex() pq.ColumnIndex { return w.index }

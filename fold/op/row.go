package op

import (
	"encoding/binary"
	"errors"
)

// Row is the cells of a row; nil is NULL. It is valid until the call that got it returns.
type Row = [][]byte

// Output takes rows.
type Output interface {
	// Add takes a row. After ErrEnough, the caller adds no more and calls End.
	Add(row Row) error
	// End ends the rows. It is called once, unless an Add has failed.
	End() error
}

// ErrEnough says that an Output needs no more rows.
var ErrEnough = errors.New("enough rows")

// appendRow encodes a row: for every cell its length plus 1 as a uvarint, and the cell; 0 for NULL.
func appendRow(dst []byte, row Row) []byte {
	for _, cell := range row {
		if isNull(cell) {
			dst = append(dst, 0)
			continue
		}
		dst = append(binary.AppendUvarint(dst, uint64(len(cell)+1)), cell...)
	}
	return dst
}

func isNull(cell []byte) bool { return len(cell) == 0 || cell[0] == 'n' }

// decodeRow decodes cells into a row, which refers to the bytes.
func decodeRow(row Row, from []byte) {
	for i := range row {
		size, n := binary.Uvarint(from)
		from, row[i] = from[n:], nil
		if size > 0 {
			row[i], from = from[:size-1:size-1], from[size-1:]
		}
	}
}

// record is a key and an encoded row.
type record struct{ key, row []byte }

// appendRecord encodes a record with the sizes of its parts.
func appendRecord(dst []byte, r record) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(r.key)))
	dst = binary.AppendUvarint(dst, uint64(len(r.row)))
	return append(append(dst, r.key...), r.row...)
}

// nextRecord decodes the record at the start, and returns the rest.
func nextRecord(from []byte) (r record, rest []byte) {
	key, n := binary.Uvarint(from)
	row, m := binary.Uvarint(from[n:])
	from = from[n+m:]
	return record{from[:key:key], from[key : key+row : key+row]}, from[key+row:]
}

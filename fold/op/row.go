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

// appendCell encodes a cell: its length plus 1 as a uvarint, and the cell; 0 for NULL.
func appendCell(dst, cell []byte) []byte {
	switch {
	case len(cell) == 0 || cell[0] == 'n':
		return append(dst, 0)
	case len(cell) < 0x7f:
		dst = append(dst, byte(len(cell)+1))
	default:
		dst = binary.AppendUvarint(dst, uint64(len(cell)+1))
	}
	return append(dst, cell...)
}

// nextCell decodes a cell, and returns the rest.
func nextCell(from []byte) (cell, rest []byte) {
	size, n := uint64(from[0]), 1
	if size >= 0x80 {
		size, n = binary.Uvarint(from)
	}
	if from = from[n:]; size == 0 {
		return nil, from
	}
	return from[: size-1 : size-1], from[size-1:]
}

// AppendRow encodes the cells of a row.
func AppendRow(dst []byte, row Row) []byte {
	for _, cell := range row {
		dst = appendCell(dst, cell)
	}
	return dst
}

// DecodeRow decodes cells that AppendRow has encoded into a row, which refers to the bytes.
func DecodeRow(row Row, from []byte) {
	for i := range row {
		row[i], from = nextCell(from)
	}
}

// appendCells encodes some cells of a row.
func appendCells(dst []byte, row Row, columns []int) []byte {
	for _, c := range columns {
		dst = appendCell(dst, row[c])
	}
	return dst
}

// decodeCells decodes what appendCells encoded.
func decodeCells(row Row, columns []int, from []byte) {
	for _, c := range columns {
		row[c], from = nextCell(from)
	}
}

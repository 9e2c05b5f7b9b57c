package fold

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"math/rand/v2"

	"github.com/fanfold/fanfold/dataset"
)

// record is an encoded row, in memory or in a scratch file:
//
//	word  8 bytes  an integer key, or the hash of any other key
//	link  4 bytes  in memory: ref of the next row of the same key or number;
//	               in a run: number of the row that it may match
//	size  4 bytes  size of the whole record, and flags
//	key            length (4 bytes) and key; only if flagTextKey is set
//	row            cells, see appendCells
type record []byte

const (
	recordHead = 16

	flagTextKey = 1 << 31
	flagNoKey   = 1 << 30 // a part of the key is null: it matches no row
	flagMatched = 1 << 29 // a row of an earlier listener matches it
	sizeMask    = flagMatched - 1
)

var errLargeRow = errors.New("a row is larger than 512 MB")

func (r record) word() uint64      { return binary.LittleEndian.Uint64(r) }
func (r record) link() uint32      { return binary.LittleEndian.Uint32(r[8:]) }
func (r record) setLink(to uint32) { binary.LittleEndian.PutUint32(r[8:], to) }
func (r record) flags() uint32     { return binary.LittleEndian.Uint32(r[12:]) }
func (r record) setFlag(f uint32)  { binary.LittleEndian.PutUint32(r[12:], r.flags()|f) }
func (r record) has(f uint32) bool { return r.flags()&f != 0 }
func (r record) size() int         { return int(r.flags() & sizeMask) }
func (r record) key() joinKey      { return joinKey{r.word(), r.text()} }
func (r record) is(k joinKey) bool {
	return r.word() == k.word && string(r.text()) == string(k.text) && r.has(flagTextKey) == (k.text != nil)
}

// text returns the key, or nil if it is an integer.
func (r record) text() []byte {
	if !r.has(flagTextKey) {
		return nil
	}
	return r[recordHead+4 : recordHead+4+binary.LittleEndian.Uint32(r[recordHead:])]
}

// row returns the encoded cells; never nil.
func (r record) row() []byte {
	from := recordHead
	if r.has(flagTextKey) {
		from += 4 + int(binary.LittleEndian.Uint32(r[recordHead:]))
	}
	return r[from:r.size()]
}

// A record of a spilled side has the number of its row before the cells.
const numberBytes = 8

func (r record) number() int64 { return int64(binary.LittleEndian.Uint64(r.row())) }

// cells returns the encoded cells of a record of a spilled side.
func (r record) cells() []byte { return r.row()[numberBytes:] }

// beginRecord appends the head and the key of a record; the caller appends the row.
func beginRecord(dst []byte, k joinKey, hasKey bool) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, k.word)
	dst = append(dst, 0, 0, 0, 0)
	switch {
	case !hasKey:
		return binary.LittleEndian.AppendUint32(dst, flagNoKey)
	case k.text == nil:
		return append(dst, 0, 0, 0, 0)
	}
	dst = binary.LittleEndian.AppendUint32(dst, flagTextKey)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(k.text)))
	return append(dst, k.text...)
}

// endRecord sets the size.
func endRecord(r record) (record, error) {
	if len(r) > sizeMask {
		return nil, errLargeRow
	}
	r.setFlag(uint32(len(r)))
	return r, nil
}

// joinKey is the canonical key of a row: keys are equal if and only if both fields are equal.
type joinKey struct {
	word uint64
	text []byte // nil, not empty: word is the key, an integer
}

// hash spreads the word over 64 bits: adjacent integers get distant hashes, and a user cannot
// choose keys that collide.
func (k joinKey) hash() uint64 {
	x := k.word ^ hashSecret
	x = (x ^ x>>32) * 0x9e3779b97f4a7c15
	x = (x ^ x>>29) * 0xd6e8feb86659fd93
	return x ^ x>>32
}

var (
	hashSecret = rand.Uint64()
	hashSeed   = maphash.MakeSeed()
)

// appendCells encodes the cells of a row that the file shows: for every cell its length plus 1 as
// a uvarint, and the cell; 0 for NULL.
func (in *input) appendCells(dst []byte, c *dataset.Chunk, row int) []byte {
	for _, s := range in.shown {
		cell := c.Cell(s.column, row)
		switch {
		case dataset.IsNull(cell):
			dst = append(dst, 0)
			continue
		case len(cell) < 0x7f:
			dst = append(dst, byte(len(cell)+1))
		default:
			dst = binary.AppendUvarint(dst, uint64(len(cell)+1))
		}
		dst = append(dst, cell...)
	}
	return dst
}

// fill decodes the cells that appendCells encoded into a row of the file.
func (in *input) fill(cells [][]byte, row []byte, origin bool) {
	for i, s := range in.shown {
		var cell []byte
		size, n := uint64(row[0]), 1
		if size >= 0x80 {
			size, n = binary.Uvarint(row)
		}
		row = row[n:]
		if size > 0 {
			cell, row = row[:size-1], row[size-1:]
		}
		if i >= in.shownKeys || origin {
			cells[s.to] = cell
		}
	}
}

// fillFrom sets the cells of a row of the file from a row of a chunk.
func (in *input) fillFrom(cells [][]byte, c *dataset.Chunk, row int, origin bool) {
	for i, s := range in.shown {
		if i >= in.shownKeys || origin {
			cells[s.to] = c.Cell(s.column, row)
		}
	}
}

// clear sets the cells of an input in a row of the file to NULL.
func (in *input) clear(cells [][]byte) {
	for _, s := range in.shown[in.shownKeys:] {
		cells[s.to] = nil
	}
}

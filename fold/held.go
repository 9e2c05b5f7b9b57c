package fold

import (
	"errors"
	"math"
)

// held is a sequence of records in memory, in blocks. There is nothing in it that
// a garbage collector has to look into. Each record begins at a place, which is a
// multiple of placeBytes.
type held struct {
	blocks [][]byte // as far as they are filled; one that is longer than blockBytes is followed by nils
	room   int      // bytes in the last one
	bytes  int64
	rows   int
}

const (
	placeBytes  = 8
	blockPlaces = 1 << 14
	blockBytes  = blockPlaces * placeBytes // 128 KB
	noPlace     = math.MaxUint32

	firstBytes = 2 << 10 // of the first block; most datasets are small
)

var errHeld = errors.New("more rows than there are places for in memory")

// add copies a record to the end.
func (h *held) add(r record) error {
	size := padded(len(r))
	if size > h.room {
		room := max(size, min(firstBytes<<min(len(h.blocks), 16), blockBytes))
		if err := h.adopt(make([]byte, 0, room)); err != nil {
			return err
		}
		h.room = room
	}
	last := len(h.blocks) - blocksOf(size)
	h.blocks[last] = appendPadded(h.blocks[last], r)
	h.room -= size
	h.rows++
	return nil
}

// adopt takes a block with any number of records in it.
func (h *held) adopt(block []byte) error {
	count := blocksOf(cap(block))
	if len(h.blocks)+count > noPlace/blockPlaces {
		return errHeld
	}
	h.blocks = append(append(h.blocks, block), make([][]byte, count-1)...)
	h.bytes += int64(cap(block))
	h.room = 0
	return nil
}

// at returns the record at a place.
func (h *held) at(place uint32) record {
	return h.blocks[place/blockPlaces][place%blockPlaces*placeBytes:]
}

// all calls f with every record and its place, in their order, until there is an
// error.
func (h *held) all(f func(place uint32, r record) error) error {
	for i := 0; i < len(h.blocks); i += blocksOf(cap(h.blocks[i])) {
		block := h.blocks[i]
		for at := 0; at < len(block); {
			r := record(block[at:])
			if err := f(uint32(i*blockPlaces+at/placeBytes), r[:r.size()]); err != nil {
				return err
			}
			at += padded(r.size())
		}
	}
	return nil
}

// used is what the rows take, with the table that they will need.
func (h *held) used() int64 { return h.bytes + tableBytes(h.rows) }

// blocksOf returns how many blocks there are in so many bytes.
func blocksOf(bytes int) int { return max(1, (bytes+blockBytes-1)/blockBytes) }

func padded(bytes int) int { return (bytes + placeBytes - 1) &^ (placeBytes - 1) }

func appendPadded(dst []byte, r record) []byte {
	const zeros = "\x00\x00\x00\x00\x00\x00\x00"
	dst = append(dst, r...)
	return append(dst, zeros[:padded(len(r))-len(r)]...)
}

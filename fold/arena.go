package fold

import (
	"errors"
	"math"
)

// arena is a sequence of records in memory, in blocks. There is nothing in it that
// a garbage collector has to look into. Each record begins at a place, which is a
// multiple of placeBytes.
type arena struct {
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

var errArena = errors.New("more rows than there are places for in memory")

// add copies a record to the end.
func (a *arena) add(r record) error {
	size := padded(len(r))
	if size > a.room {
		room := max(size, min(firstBytes<<min(len(a.blocks), 16), blockBytes))
		if err := a.adopt(make([]byte, 0, room)); err != nil {
			return err
		}
		a.room = room
	}
	last := len(a.blocks) - blocksOf(size)
	a.blocks[last] = appendPadded(a.blocks[last], r)
	a.room -= size
	a.rows++
	return nil
}

// adopt takes a block with any number of records in it.
func (a *arena) adopt(block []byte) error {
	count := blocksOf(cap(block))
	if len(a.blocks)+count > noPlace/blockPlaces {
		return errArena
	}
	a.blocks = append(append(a.blocks, block), make([][]byte, count-1)...)
	a.bytes += int64(cap(block))
	a.room = 0
	return nil
}

// at returns the record at a place.
func (a *arena) at(place uint32) record {
	return a.blocks[place/blockPlaces][place%blockPlaces*placeBytes:]
}

// all calls f with every record and its place, in their order, until there is an
// error.
func (a *arena) all(f func(place uint32, r record) error) error {
	for i := 0; i < len(a.blocks); i += blocksOf(cap(a.blocks[i])) {
		block := a.blocks[i]
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

// used is what the rows take, with the table that they need.
func (a *arena) used() int64 { return a.bytes + tableBytes(a.rows) }

// blocksOf returns the number of blocks in that many bytes.
func blocksOf(bytes int) int { return max(1, (bytes+blockBytes-1)/blockBytes) }

func padded(bytes int) int { return (bytes + placeBytes - 1) &^ (placeBytes - 1) }

func appendPadded(dst []byte, r record) []byte {
	const zeros = "\x00\x00\x00\x00\x00\x00\x00"
	dst = append(dst, r...)
	return append(dst, zeros[:padded(len(r))-len(r)]...)
}

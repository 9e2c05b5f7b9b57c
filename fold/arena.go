package fold

import (
	"errors"
	"math"
	"sync"
)

// arena is a sequence of records in memory, in blocks without pointers, so the garbage
// collector has nothing to scan. A record is found by its ref: where it begins, in units of
// refBytes, if every block had blockBytes.
type arena struct {
	blocks [][]byte // as far as they are filled; one that is longer than blockBytes is followed by nils
	first  *[]byte  // from firstBlocks; nil: none
	free   int      // bytes of the last one
	bytes  int64
	rows   int
}

const (
	refBytes   = 8
	blockRefs  = 1 << 14
	blockBytes = blockRefs * refBytes // 128 KB
	noRef      = math.MaxUint32

	firstBytes = 16 << 10 // of the first block; most datasets are small
)

// firstBlocks are reused: most joins need no other.
var firstBlocks = sync.Pool{New: func() any { return new(make([]byte, 0, firstBytes)) }}

var errArena = errors.New("more rows than can be addressed in memory")

// add copies a record to the end.
func (a *arena) add(r record) error {
	size := padded(len(r))
	if size > a.free {
		block := a.block(size)
		if err := a.adopt(block); err != nil {
			return err
		}
		a.free = cap(block)
	}
	last := len(a.blocks) - blocksOf(size)
	a.blocks[last] = appendPadded(a.blocks[last], r)
	a.free -= size
	a.rows++
	return nil
}

// block makes a block for a record of that size and others.
func (a *arena) block(size int) []byte {
	if len(a.blocks) == 0 && size <= firstBytes {
		a.first = firstBlocks.Get().(*[]byte)
		return (*a.first)[:0]
	}
	return make([]byte, 0, max(size, min(firstBytes<<min(len(a.blocks), 16), blockBytes)))
}

// close gives the first block back. The arena is not used any more.
func (a *arena) close() {
	if a.first != nil {
		firstBlocks.Put(a.first)
		a.first, a.blocks = nil, nil
	}
}

// adopt takes a block with any number of records in it.
func (a *arena) adopt(block []byte) error {
	count := blocksOf(cap(block))
	if len(a.blocks)+count > noRef/blockRefs {
		return errArena
	}
	a.blocks = append(append(a.blocks, block), make([][]byte, count-1)...)
	a.bytes += int64(cap(block))
	a.free = 0
	return nil
}

// at returns the record at a ref.
func (a *arena) at(ref uint32) record {
	return a.blocks[ref/blockRefs][ref%blockRefs*refBytes:]
}

// all yields every record with its ref, in their order.
func (a *arena) all(yield func(ref uint32, r record) bool) {
	for i := 0; i < len(a.blocks); i += blocksOf(cap(a.blocks[i])) {
		block := a.blocks[i]
		for at := 0; at < len(block); {
			r := record(block[at:])
			if !yield(uint32(i*blockRefs+at/refBytes), r[:r.size()]) {
				return
			}
			at += padded(r.size())
		}
	}
}

// link puts the record at a ref behind the last one of a ring; noRef: into one of its own.
// The link of each is the ref of the next, and that of the last one is the ref of the first.
func (a *arena) link(last, ref uint32) {
	first := ref
	if last != noRef {
		first = a.at(last).link()
		a.at(last).setLink(ref)
	}
	a.at(ref).setLink(first)
}

// ring calls f with the records of a ring, whose last one has this ref, until there is an
// error.
func (a *arena) ring(last uint32, f func(r record) error) error {
	for ref := a.at(last).link(); ; {
		r := a.at(ref)
		if err := f(r); err != nil || ref == last {
			return err
		}
		ref = r.link()
	}
}

// used is what the rows take, with the table that they need.
func (a *arena) used() int64 { return a.bytes + tableBytes(a.rows) }

// blocksOf returns the number of blocks in that many bytes.
func blocksOf(bytes int) int { return max(1, (bytes+blockBytes-1)/blockBytes) }

func padded(bytes int) int { return (bytes + refBytes - 1) &^ (refBytes - 1) }

func appendPadded(dst []byte, r record) []byte {
	const zeros = "\x00\x00\x00\x00\x00\x00\x00"
	dst = append(dst, r...)
	return append(dst, zeros[:padded(len(r))-len(r)]...)
}

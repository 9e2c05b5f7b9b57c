package op

import (
	"errors"
	"iter"
	"math"
	"sync"
)

// arena is a sequence of records in memory, in blocks without pointers, so the garbage
// collector has nothing to scan. The ref of a record is its offset in units of refBytes, as if
// every block had blockBytes.
type arena struct {
	blocks [][]byte // filled parts; a block longer than blockBytes is followed by nils
	spare  [][]byte // empty blocks, which are used first
	first  *[]byte  // from firstBlocks; or nil
	free   int      // bytes of the last block
	bytes  int64
	rows   int
}

const (
	refBytes   = 8
	blockRefs  = 1 << 14
	blockBytes = blockRefs * refBytes // 128 KB
	noRef      = math.MaxUint32

	firstBytes = 16 << 10 // size of the first block; most datasets are small
)

// firstBlocks are reused: most joins need no more than one.
var firstBlocks = sync.Pool{New: func() any { return new(make([]byte, 0, firstBytes)) }}

var errArena = errors.New("too many rows to address in memory")

// add copies a record to the end.
func (a *arena) add(r record) error {
	_, err := a.put(r)
	return err
}

// put copies a record to the end, and returns its ref.
func (a *arena) put(r record) (ref uint32, err error) {
	size := padded(len(r))
	if size > a.free {
		block := a.block(size)
		if err := a.adopt(block); err != nil {
			return 0, err
		}
		a.free = cap(block)
	}
	last := len(a.blocks) - blocksOf(size)
	ref = uint32(last*blockRefs + len(a.blocks[last])/refBytes)
	a.blocks[last] = appendPadded(a.blocks[last], r)
	a.free -= size
	a.rows++
	return ref, nil
}

// block allocates a block for at least a record of this size.
func (a *arena) block(size int) []byte {
	if n := len(a.spare) - 1; n >= 0 && size <= cap(a.spare[n]) {
		block := a.spare[n]
		a.spare = a.spare[:n]
		return block
	}
	if len(a.blocks) == 0 && size <= firstBytes {
		a.first = firstBlocks.Get().(*[]byte)
		return (*a.first)[:0]
	}
	return make([]byte, 0, a.nextBlock(size))
}

// nextBlock returns the size of the next block if it is for at least a record of this size.
func (a *arena) nextBlock(size int) int {
	return max(size, min(firstBytes<<min(len(a.blocks), 16), blockBytes))
}

// growth returns the bytes by which a record makes the arena grow.
func (a *arena) growth(r record) int {
	size := padded(len(r))
	if size <= a.free {
		return 0
	}
	return a.nextBlock(size)
}

// reset removes all records, and keeps their blocks for others.
func (a *arena) reset() {
	for _, block := range a.blocks {
		if block != nil && cap(block) <= blockBytes {
			a.spare = append(a.spare, block[:0])
		}
	}
	a.blocks, a.free, a.bytes, a.rows = nil, 0, 0, 0
}

// close returns the first block for reuse. The arena must not be used afterwards.
func (a *arena) close() {
	if a.first != nil {
		firstBlocks.Put(a.first)
		a.first, a.blocks = nil, nil
	}
}

// adopt adds a block that already contains records.
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

// whole returns the record at a ref without what follows it.
func (a *arena) whole(ref uint32) record {
	r := a.at(ref)
	return r[:r.size()]
}

// all yields every record with its ref, in order.
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

// arenaReader reads every record, in order.
type arenaReader struct {
	arena *arena
	block int
	at    int    // of the block
	now   record // nil: none
}

// next reads the next record.
func (a *arenaReader) next() {
	a.now = nil
	for a.block < len(a.arena.blocks) {
		block := a.arena.blocks[a.block]
		if a.at < len(block) {
			r := record(block[a.at:])
			a.now = r[:r.size()]
			a.at += padded(len(a.now))
			return
		}
		a.block += blocksOf(cap(block))
		a.at = 0
	}
}

// link appends the record at ref to the ring that ends with last; if last is noRef, it starts a
// new ring. The link of every record is the ref of the next, and the last links to the first.
func (a *arena) link(last, ref uint32) {
	first := ref
	if last != noRef {
		first = a.at(last).link()
		a.at(last).setLink(ref)
	}
	a.at(ref).setLink(first)
}

// ring yields the records of the ring that ends with last.
func (a *arena) ring(last uint32) iter.Seq[record] {
	return func(yield func(r record) bool) {
		for ref := a.at(last).link(); yield(a.at(ref)) && ref != last; {
			ref = a.at(ref).link()
		}
	}
}

// refs returns a number above all refs.
func (a *arena) refs() int64 {
	if len(a.blocks) == 1 {
		return int64(len(a.blocks[0])) / refBytes
	}
	return int64(len(a.blocks)) * blockRefs
}

// used returns the bytes of the rows and of the hash table that they need.
func (a *arena) used() int64 { return a.bytes + tableBytes(a.rows) }

// blocksOf returns the number of blocks that hold this many bytes.
func blocksOf(bytes int) int { return max(1, (bytes+blockBytes-1)/blockBytes) }

func padded(bytes int) int { return (bytes + refBytes - 1) &^ (refBytes - 1) }

func appendPadded(dst []byte, r record) []byte { return pad(append(dst, r...)) }

// pad appends zeros up to where the next record begins.
func pad(dst []byte) []byte {
	const zeros = "\x00\x00\x00\x00\x00\x00\x00"
	return append(dst, zeros[:padded(len(dst))-len(dst)]...)
}

package fold

import (
	"unsafe"

	"github.com/fanfold/fanfold/dataset"
)

// index finds the numbers of rows by their keys. It holds no key, but 32 bits of its hash:
// what it finds has the key with near certainty, and is compared later.
type index struct {
	slots   slots
	before  []uint32 // for each number the one before it in its slot and 1, or 0; nil: no slot has two
	numbers int      // the maximum

	touched uint32 // of no meaning: it keeps the compiler from leaving reads out
}

// indexBytes are what an index may use at minBytes: a smaller one would have the sides be read
// many times.
const indexBytes = 1 << 20

func newIndex(numbers int) *index {
	return &index{slots: make(slots, slotsFor(numbers)), numbers: numbers}
}

// indexRows returns the number of rows for which an index of that many bytes is made.
func indexRows(bytes int64) int64 { return bytes / int64(unsafe.Sizeof(slot{})) * 3 / 4 }

// bytes is what the index uses.
func (x *index) bytes() int64 {
	return int64(len(x.slots))*int64(unsafe.Sizeof(slot{})) + int64(len(x.before))*int64(unsafe.Sizeof(uint32(0)))
}

// addAll adds the rows of a batch that have a key, the first of which has this number,
// except those that are left out.
func (x *index) addAll(b *batch, number int64, leftOut func(i int) bool) {
	for _, k := range b.keys {
		x.touched |= x.slots[x.slots.start(k.hash())].last // waits for the memory
	}
	for i, k := range b.keys {
		if !b.known[i] || leftOut != nil && leftOut(i) {
			continue
		}
		s, to := x.slots.find(k.hash(), nil, k), uint32(number)+uint32(i)
		if s.last != 0 {
			if x.before == nil {
				x.before = make([]uint32, x.numbers)
			}
			x.before[to] = s.last
		}
		s.tag, s.last = uint32(k.hash()), to+1
	}
}

// findAll finds for each key of a batch the last of its numbers and 1, or 0. It looks at all slots
// first. It is safe for concurrent use.
func (x *index) findAll(b *batch, last *[batchRows]uint32) {
	var slots [batchRows]slot
	for i, k := range b.keys {
		slots[i] = x.slots[x.slots.start(k.hash())]
	}
	for i, k := range b.keys {
		switch s, hash := slots[i], k.hash(); {
		case !b.known[i]:
			last[i] = 0
		case s.last == 0 || s.tag == uint32(hash):
			last[i] = s.last
		default:
			last[i] = x.slots.find(hash, nil, k).last
		}
	}
}

// next returns the number before this one that the key has, and 1, or 0. Both are as findAll
// gives them.
func (x *index) next(last uint32) uint32 {
	if x.before == nil {
		return 0
	}
	return x.before[last-1]
}

// index makes the index of rows of the origin, from a chunk on: as many chunks as there is
// memory for. It returns the chunk behind them and how many rows they have.
func (j *join) index(from int64) (x *index, to, rows int64, err error) {
	in := j.inputs[j.origin]
	columns := make([]int, len(in.keys))
	for i := range columns {
		columns[i] = i
	}
	bytes := max(j.left, j.minBytes, j.plan.indexBytes)
	to = from
	for c, err := range in.chunks(in.keys, from) {
		if err != nil {
			return nil, 0, 0, err
		}
		if x == nil {
			numbers := indexRows(bytes)
			if left := in.dataset.Rows() - j.first; left > 0 {
				numbers = min(numbers, left)
			}
			x = newIndex(int(max(numbers, int64(c.Rows()))))
		} else if rows+int64(c.Rows()) > int64(x.numbers) || x.bytes() > bytes {
			break
		}
		j.indexChunk(x, c, columns, rows)
		rows += int64(c.Rows())
		to++
	}
	return x, to, rows, nil
}

// indexChunk adds the rows of a chunk, the first of which has this number.
func (j *join) indexChunk(x *index, c *dataset.Chunk, keys []int, number int64) {
	var leftOut func(i int) bool
	for from := 0; from < c.Rows(); from += batchRows {
		if j.origin > 0 {
			leftOut = func(i int) bool { return j.sides[j.origin].met.has(j.first + number + int64(from+i)) }
		}
		j.batch.read(j.keyer, c, from, min(from+batchRows, c.Rows()), keys)
		x.addAll(j.batch, number+int64(from), leftOut)
	}
}

// bitset is a set of numbers.
type bitset []uint64

func (b *bitset) set(i int64) {
	for int64(len(*b)) <= i/64 {
		*b = append(*b, 0)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

func (b bitset) has(i int64) bool { return i/64 < int64(len(b)) && b[i/64]&(1<<(i%64)) != 0 }

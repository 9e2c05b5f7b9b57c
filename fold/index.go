package fold

import (
	"slices"
	"unsafe"

	"github.com/fanfold/fanfold/dataset"
)

// index finds the numbers of rows by their keys. It stores only 32 bits of the hash of a key, so
// it can find a row of another key: the join compares the keys later.
type index struct {
	slots   slots
	before  []uint32 // by number: 1 + the previous number in its slot, or 0; nil: no slot has two
	numbers int      // maximum

	touched uint32 // unused: it keeps the compiler from removing reads
}

// indexBytes is the minimum budget of an index: with a smaller one, the sides would be read many
// times.
const indexBytes = 1 << 20

// indexRows returns the number of rows that an index of this size can hold.
func indexRows(bytes int64) int64 { return bytes / int64(unsafe.Sizeof(slot{})) * 3 / 4 }

// bytes returns the size of the index.
func (x *index) bytes() int64 {
	return int64(len(x.slots))*int64(unsafe.Sizeof(slot{})) + int64(len(x.before))*int64(unsafe.Sizeof(uint32(0)))
}

// addAll adds the rows of a batch that have a key, except those that skip selects. The first
// row of the batch has this number.
func (x *index) addAll(b *batch, number int64, skip func(i int) bool) {
	for _, k := range b.keys {
		x.touched |= x.slots[x.slots.start(k.hash())].last // loads the slot into the cache
	}
	for i, k := range b.keys {
		if !b.hasKey[i] || skip != nil && skip(i) {
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

// findAll finds 1 + the last number of every key of a batch, or 0. It reads all slots first. It
// is safe for concurrent use.
func (x *index) findAll(b *batch, last *[batchRows]uint32) {
	var slots [batchRows]slot
	for i, k := range b.keys {
		slots[i] = x.slots[x.slots.start(k.hash())]
	}
	for i, k := range b.keys {
		switch s, hash := slots[i], k.hash(); {
		case !b.hasKey[i]:
			last[i] = 0
		case s.last == 0 || s.tag == uint32(hash):
			last[i] = s.last
		default:
			last[i] = x.slots.find(hash, nil, k).last
		}
	}
}

// next returns 1 + the previous number of the key, or 0; last is a result of findAll or next.
func (x *index) next(last uint32) uint32 {
	if x.before == nil {
		return 0
	}
	return x.before[last-1]
}

// index builds the index of the rows of the origin from a chunk on, for as many chunks as fit
// into the budget. It returns the number of the next chunk and the number of rows.
func (j *join) index(from int64) (x *index, to, rows int64, err error) {
	in := j.inputs[j.origin]
	keys := slices.Clone(in.keys) // of chunks that have only these columns
	for i := range keys {
		keys[i].number = i
	}
	bytes := max(j.left, j.minBytes, j.plan.indexBytes)
	to = from
	for c, err := range in.chunks(in.keyNumbers(), from) {
		if err != nil {
			return nil, 0, 0, err
		}
		if x == nil {
			numbers := indexRows(bytes)
			if left := in.dataset.Rows() - j.first; left > 0 {
				numbers = min(numbers, left)
			}
			x = &index{numbers: max(int(numbers), c.Rows())}
			x.slots = make(slots, slotsFor(x.numbers))
		} else if rows+int64(c.Rows()) > int64(x.numbers) || x.bytes() > bytes {
			break
		}
		j.indexChunk(x, c, keys, rows)
		rows += int64(c.Rows())
		to++
	}
	return x, to, rows, nil
}

// indexChunk adds the rows of a chunk to the index. The first row has this number.
func (j *join) indexChunk(x *index, c *dataset.Chunk, keys []keyColumn, number int64) {
	var skip func(i int) bool
	for from := 0; from < c.Rows(); from += batchRows {
		if j.origin > 0 {
			skip = func(i int) bool { return j.sides[j.origin].matched.has(j.first + number + int64(from+i)) }
		}
		j.batch.read(j.keyer, c, from, min(from+batchRows, c.Rows()), keys)
		x.addAll(j.batch, number+int64(from), skip)
	}
}

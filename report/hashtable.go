package report

import (
	"bytes"
	"errors"
	"hash/maphash"
	"math"
	"math/bits"
)

var (
	errRows = errors.New("more than 2,147,483,647 rows")
	errKeys = errors.New("more than 4 GB of keys")
)

// hashtable finds the rows that have a key. It holds row numbers, and each key
// once, one after the other; there is nothing in it that a garbage collector
// has to look into. It is made for a number of rows and does not grow.
type hashtable struct {
	seed  maphash.Seed
	slots []slot   // open addressing, a power of two, never full
	keys  []byte   // of all groups
	ends  []uint32 // of each group's key in keys
	heads []int32  // first row of each group
	nexts []int32  // next row with the same key, or noRow
}

// slot refers to the rows of one key.
type slot struct {
	hash  uint32 // half of the hash, to see most of the differences here
	group uint32 // number from 1; 0 is an empty slot
}

const noRow int32 = -1

func newHashtable(rows int) (*hashtable, error) {
	if rows > math.MaxInt32 {
		return nil, errRows
	}
	return &hashtable{
		seed:  maphash.MakeSeed(),
		slots: make([]slot, 1<<bits.Len(uint(rows+rows/3))),
		ends:  make([]uint32, 0, rows),
		heads: make([]int32, 0, rows),
		nexts: make([]int32, rows),
	}, nil
}

// prepend puts a row before all others of its key. Rows come from the last to
// the first, so that they are found in their order.
func (t *hashtable) prepend(row int32, key []byte) error {
	hash := maphash.Bytes(t.seed, key)
	s := t.slot(hash, key)
	if s.group == 0 {
		if uint64(len(t.keys)+len(key)) > math.MaxUint32 {
			return errKeys
		}
		t.keys = append(t.keys, key...)
		t.ends = append(t.ends, uint32(len(t.keys)))
		t.heads = append(t.heads, noRow)
		*s = slot{uint32(hash >> 32), uint32(len(t.heads))}
	}
	t.nexts[row] = t.heads[s.group-1]
	t.heads[s.group-1] = row
	return nil
}

// first returns the first row with the key, or noRow.
func (t *hashtable) first(key []byte) int32 {
	s := t.slot(maphash.Bytes(t.seed, key), key)
	if s.group == 0 {
		return noRow
	}
	return t.heads[s.group-1]
}

// next returns the row after this one with the same key, or noRow.
func (t *hashtable) next(row int32) int32 { return t.nexts[row] }

// slot returns the slot of a key, or the empty one where it belongs.
func (t *hashtable) slot(hash uint64, key []byte) *slot {
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.group == 0 || (s.hash == uint32(hash>>32) && bytes.Equal(t.key(s.group), key)) {
			return s
		}
	}
}

func (t *hashtable) key(group uint32) []byte {
	start := uint32(0)
	if group > 1 {
		start = t.ends[group-2]
	}
	return t.keys[start:t.ends[group-1]]
}

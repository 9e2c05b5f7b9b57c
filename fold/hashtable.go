package fold

import (
	"math/bits"
	"unsafe"
)

// hashtable finds the records that have a key. It is made for a number of records
// and does not grow. The records of one key are a ring: the link of each is the
// ref of the next, and that of the last one is the ref of the first.
type hashtable struct {
	arena *arena
	slots []slot // open addressing, never full

	touched uint32 // of no meaning: it keeps the compiler from leaving reads out
}

// slot refers to the records of one key.
type slot struct {
	tag  uint32 // half of the hash, so that most other keys are told apart here
	last uint32 // ref of the last record and 1; 0 is an empty slot
}

// slotsFor returns the number of slots for that many records: a third more.
func slotsFor(rows int) int { return rows + rows/3 + 1 }

// tableBytes is the size of their table.
func tableBytes(rows int) int64 { return int64(slotsFor(rows)) * int64(unsafe.Sizeof(slot{})) }

// batchRows is how many keys are looked up together: a large table is not in the processor's
// cache, and several keys can wait for memory at the same time.
const batchRows = 64

// newHashtable makes the table of all records that have a key.
func newHashtable(a *arena) *hashtable {
	t := &hashtable{arena: a, slots: make([]slot, slotsFor(a.rows))}
	var refs [batchRows]uint32
	var hashes [batchRows]uint64
	count := 0
	add := func() {
		touched := uint32(0)
		for _, hash := range hashes[:count] {
			touched |= t.slots[t.start(hash)].last // waits for the memory
		}
		t.touched |= touched
		for i, ref := range refs[:count] {
			t.add(ref, hashes[i])
		}
		count = 0
	}
	_ = a.all(func(ref uint32, r record) error {
		if !r.has(flagNoKey) {
			refs[count], hashes[count] = ref, r.key().hash()
			if count++; count == batchRows {
				add()
			}
		}
		return nil
	})
	add()
	return t
}

func (t *hashtable) add(ref uint32, hash uint64) {
	r := t.arena.at(ref)
	s := t.slot(hash, r.key())
	if s.last == 0 {
		s.tag = uint32(hash)
		r.setLink(ref)
	} else {
		last := t.arena.at(s.last - 1)
		r.setLink(last.link())
		last.setLink(ref)
	}
	s.last = ref + 1
}

// find returns the ref of the last record with the key, or noRef.
func (t *hashtable) find(k joinKey) uint32 {
	return t.slot(k.hash(), k).last - 1 // 0-1 is noRef
}

// findAll is find for the keys of a batch. It looks at all slots first, and at the
// records then.
func (t *hashtable) findAll(keys []joinKey, known []bool, last []uint32) {
	var slots [batchRows]slot
	var tags [batchRows]uint32
	for i := range keys {
		hash := keys[i].hash()
		slots[i], tags[i] = t.slots[t.start(hash)], uint32(hash)
	}
	for i := range keys {
		switch s := slots[i]; {
		case !known[i]:
			last[i] = noRef
		case s.last == 0 || s.tag == tags[i] && t.arena.at(s.last-1).is(keys[i]):
			last[i] = s.last - 1
		default:
			last[i] = t.find(keys[i])
		}
	}
}

// start returns the number of the slot where the search for a key begins.
func (t *hashtable) start(hash uint64) uint64 {
	i, _ := bits.Mul64(hash, uint64(len(t.slots)))
	return i
}

// slot returns the slot of a key, or the empty one where it belongs.
func (t *hashtable) slot(hash uint64, k joinKey) *slot {
	for i := t.start(hash); ; {
		s := &t.slots[i]
		if s.last == 0 || s.tag == uint32(hash) && t.arena.at(s.last-1).is(k) {
			return s
		}
		if i++; i == uint64(len(t.slots)) {
			i = 0
		}
	}
}

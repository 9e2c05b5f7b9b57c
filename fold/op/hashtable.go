package op

import (
	"math/bits"
	"unsafe"
)

// hashtable finds the records of a key. It is built for a fixed number of records and does not
// grow. The records of one key are a ring.
type hashtable struct {
	arena *arena
	slots slots

	touched uint32 // unused: it keeps the compiler from removing reads
}

// slots are a hash table with open addressing that is never full.
type slots []slot

// slot refers to the records or rows of one key.
type slot struct {
	tag  uint32 // half of the hash: most other keys differ in it
	last uint32 // 1 + ref of the last record or number of the last row; 0: empty slot
}

// start returns the slot where the search for a hash begins.
func (s slots) start(hash uint64) uint64 {
	i, _ := bits.Mul64(hash, uint64(len(s)))
	return i
}

// find returns the slot of a key, or the empty slot where it belongs. With an arena the keys
// are compared; without one the tag is enough.
func (s slots) find(hash uint64, a *arena, k Key) *slot {
	for i := s.start(hash); ; {
		at := &s[i]
		if at.last == 0 || at.tag == uint32(hash) && (a == nil || a.at(at.last-1).is(k)) {
			return at
		}
		if i++; i == uint64(len(s)) {
			i = 0
		}
	}
}

// slotsFor returns the number of slots for this many records: a third more.
func slotsFor(rows int) int { return rows + rows/3 + 1 }

// tableBytes returns the size of the table of this many records.
func tableBytes(rows int) int64 { return int64(slotsFor(rows)) * slotBytes }

const slotBytes = int64(unsafe.Sizeof(slot{}))

// newHashtable builds the table of all records that have a key.
func newHashtable(a *arena) *hashtable {
	t := &hashtable{arena: a, slots: make(slots, slotsFor(a.rows))}
	var refs [batchRows]uint32
	var hashes [batchRows]uint64
	count := 0
	add := func() {
		touched := uint32(0)
		for _, hash := range hashes[:count] {
			touched |= t.slots[t.slots.start(hash)].last // loads the slot into the cache
		}
		t.touched |= touched
		for i, ref := range refs[:count] {
			s := t.slots.find(hashes[i], a, a.at(ref).key())
			a.link(s.last-1, ref) // 0-1 is noRef
			s.tag, s.last = uint32(hashes[i]), ref+1
		}
		count = 0
	}
	for ref, r := range a.all {
		if !r.has(flagNoKey) {
			refs[count], hashes[count] = ref, r.key().hash()
			if count++; count == batchRows {
				add()
			}
		}
	}
	add()
	return t
}

// find returns the ref of the last record of a key, or noRef.
func (t *hashtable) find(k Key) uint32 {
	return t.slots.find(k.hash(), t.arena, k).last - 1 // 0-1 is noRef
}

// findAll is find for the keys of a batch. It reads all slots first, then the records.
func (t *hashtable) findAll(keys []Key, is []keyIs, last *[batchRows]uint32) {
	var slots [batchRows]slot
	var tags [batchRows]uint32
	for i := range keys {
		hash := keys[i].hash()
		slots[i], tags[i] = t.slots[t.slots.start(hash)], uint32(hash)
	}
	for i := range keys {
		switch s := slots[i]; {
		case is[i] != hasKey:
			last[i] = noRef
		case s.last == 0 || s.tag == tags[i] && t.arena.at(s.last-1).is(keys[i]):
			last[i] = s.last - 1
		default:
			last[i] = t.find(keys[i])
		}
	}
}

package report

import "math/bits"

// hashtable finds the records that have a key. It is made for a number of records
// and does not grow. The records of one key are a ring: the link of each is the
// place of the next, and that of the last one is the place of the first.
type hashtable struct {
	held  *held
	slots []slot // open addressing, never full
}

// slot refers to the records of one key.
type slot struct {
	tag  uint32 // half of the hash, to see most of the differences here
	last uint32 // place of the last record and 1; 0 is an empty slot
}

const slotBytes = 8

// slotsFor returns how many slots so many records get: a third more.
func slotsFor(rows int) int { return rows + rows/3 + 1 }

// newHashtable makes the table of all records that have a key.
func newHashtable(h *held) *hashtable {
	t := &hashtable{held: h, slots: make([]slot, slotsFor(h.rows))}
	_ = h.all(func(place uint32, r record) error {
		if !r.has(flagNoKey) {
			t.add(place, r)
		}
		return nil
	})
	return t
}

func (t *hashtable) add(place uint32, r record) {
	k := r.key()
	hash := k.hash()
	s := t.slot(hash, k)
	if s.last == 0 {
		s.tag = uint32(hash)
		r.setLink(place)
	} else {
		last := t.held.at(s.last - 1)
		r.setLink(last.link())
		last.setLink(place)
	}
	s.last = place + 1
}

// find returns the place of the last record with the key, or noPlace.
func (t *hashtable) find(k joinKey) uint32 {
	return t.slot(k.hash(), k).last - 1 // 0-1 is noPlace
}

// slot returns the slot of a key, or the empty one where it belongs.
func (t *hashtable) slot(hash uint64, k joinKey) *slot {
	i, _ := bits.Mul64(hash, uint64(len(t.slots)))
	for {
		s := &t.slots[i]
		if s.last == 0 || s.tag == uint32(hash) && t.held.at(s.last-1).is(k) {
			return s
		}
		if i++; i == uint64(len(t.slots)) {
			i = 0
		}
	}
}

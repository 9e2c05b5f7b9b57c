package op

// keyed is a sequence of records in memory that all have different keys, and finds them by those. Unlike a hashtable,
// it grows.
type keyed struct {
	arena arena
	slots slots
}

// find returns the ref of the record with a key, which has this hash, or noRef.
func (t *keyed) find(hash uint64, k Key) uint32 {
	if len(t.slots) == 0 {
		return noRef
	}
	return t.slots.find(hash, &t.arena, k).last - 1 // 0-1 is noRef
}

// minSlots is the number of slots of the first record.
const minSlots = 64

// isFull tells whether one more record needs more slots: at most three quarters are used.
func (t *keyed) isFull() bool { return t.arena.rows >= len(t.slots)/4*3 }

// growth returns the bytes by which a record makes it grow.
func (t *keyed) growth(r record) int64 {
	bytes := int64(t.arena.growth(r))
	if t.isFull() {
		bytes += max(minSlots, int64(len(t.slots))) * slotBytes
	}
	return bytes
}

// add copies a record, whose key is not there yet and has this hash, and returns its ref.
func (t *keyed) add(hash uint64, r record) (ref uint32, err error) {
	if t.isFull() {
		old := t.slots
		t.slots = make(slots, max(minSlots, 2*len(old)))
		for _, s := range old {
			if s.last != 0 {
				t.insert(t.arena.at(s.last-1).key().hash(), s.last-1)
			}
		}
	}
	if ref, err = t.arena.put(r); err == nil {
		t.insert(hash, ref)
	}
	return ref, err
}

// insert makes a free slot refer to a record.
func (t *keyed) insert(hash uint64, ref uint32) {
	for i := t.slots.start(hash); ; i++ {
		if i == uint64(len(t.slots)) {
			i = 0
		}
		if t.slots[i].last == 0 {
			t.slots[i] = slot{uint32(hash), ref + 1}
			return
		}
	}
}

// touch reads what find needs for some hashes: several reads can wait for memory at the same time.
func (t *keyed) touch(hashes []uint64) (touched uint64) {
	if len(t.slots) == 0 {
		return 0
	}
	var refs [batchRows]uint32
	for i, hash := range hashes {
		refs[i] = t.slots[t.slots.start(hash)].last
	}
	for _, last := range refs[:len(hashes)] {
		if last != 0 {
			touched |= t.arena.at(last - 1).word()
		}
	}
	return touched
}

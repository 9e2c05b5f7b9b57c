package op

// index finds the numbers of rows by their keys. It stores only 32 bits of the hash of a key, so
// it can find a row of another key: the join compares the keys later.
type index struct {
	slots   slots
	before  []uint32 // by number: 1 + the previous number in its slot, or 0; nil: no slot has two
	skips   []uint32 // by number: 1 + the previous number of its slot in an earlier part, or 0; see skipParts
	numbers int      // maximum

	touched uint32 // unused: it keeps the compiler from removing reads
}

// indexBytes is the minimum budget of an index: with a smaller one, the sides would be read many
// times.
const indexBytes = 1 << 20

// addAll adds the rows of a batch that have a key. The first row of the batch has this number.
func (x *index) addAll(keys *keys, number int64) {
	for _, k := range keys.all {
		x.touched |= x.slots[x.slots.start(k.hash())].last // loads the slot into the cache
	}
	for i, k := range keys.all {
		if keys.is[i] != hasKey {
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
func (x *index) findAll(keys *keys, last *[batchRows]uint32) {
	var slots [batchRows]slot
	for i, k := range keys.all {
		slots[i] = x.slots[x.slots.start(k.hash())]
	}
	for i, k := range keys.all {
		switch s, hash := slots[i], k.hash(); {
		case keys.is[i] != hasKey:
			last[i] = 0
		case s.last == 0 || s.tag == uint32(hash):
			last[i] = s.last
		default:
			last[i] = x.slots.find(hash, nil, k).last
		}
	}
}

// bytes returns the size of an index without its slots.
func (x *index) bytes() int64 { return int64(len(x.before)) * 4 }

// skipParts prepares skip for parts of this many numbers.
func (x *index) skipParts(size uint32) {
	if x.before == nil {
		return
	}
	x.skips = make([]uint32, x.numbers)
	for i, last := range x.before {
		if last > 0 && (last-1)/size == uint32(i)/size {
			last = x.skips[last-1]
		}
		x.skips[i] = last
	}
}

// skip returns 1 + the last number of the key in an earlier part, or 0; last is a result of findAll or skip.
func (x *index) skip(last uint32) uint32 {
	if x.skips == nil {
		return 0
	}
	return x.skips[last-1]
}

// next returns 1 + the previous number of the key, or 0; last is a result of findAll or next.
func (x *index) next(last uint32) uint32 {
	if x.before == nil {
		return 0
	}
	return x.before[last-1]
}

// index builds the indexes of the rows of a segment by the keys of its spilled tables, from a block on, for as many
// blocks as fit into the budget. It returns them by the number of the key, with the number of the next block and of
// rows. Errors of the terms are not returned: they come again when the rows are joined.
func (g *segment) index(w *worker, from int64) (all []*index, to, rows int64, err error) {
	all = make([]*index, w.keys)
	left, numbers := make([]keyOf, w.keys), 0
	for _, n := range g.spilled(w.joining) {
		if key := w.sides[n].Key; left[key].terms == nil {
			left[key] = w.left[key]
			numbers++
		}
	}
	bytes := max(w.m.free(spillBytes), min(w.m.budget, indexBytes/16)*16) / int64(numbers)
	limit, ended := int64(0), false
	b := w.batch
	keep := func(i int, row Row) (bool, error) { return g.joins(w.terms, rows+int64(i), row) }
	to = from
	for block, err := range each(g.rows, w.sides[g.origin].KeyColumns, from) {
		switch {
		case err != nil:
			return nil, 0, 0, err
		case rows == 0:
			limit = g.indexRows(bytes, int64(block.rows()))
			for n := range all {
				if left[n].terms != nil {
					all[n] = &index{numbers: int(limit), slots: make(slots, slotsFor(int(limit)))}
				}
			}
		case rows+int64(block.rows()) > limit:
			return all, to, rows, nil
		}
		for start := 0; start < block.rows() && !ended; start += batchRows {
			b.read(block, start, min(start+batchRows, block.rows()), w.row, g.base, keep, left)
			for n, x := range all {
				if x != nil {
					x.addAll(&b.keys[n], rows+int64(start))
				}
			}
			ended = b.err != nil // no row after it is joined
		}
		rows += int64(block.rows())
		to++
	}
	return all, to, rows, nil
}

// indexRows returns the number of rows that an index of this size has for the rest of the segment: at least a block.
func (g *segment) indexRows(bytes, block int64) int64 {
	rows := bytes / 19 // four thirds of a slot, and two previous numbers
	if all, _ := g.rows.size(); all > g.first {
		rows = min(rows, all-g.first)
	}
	return max(rows, block)
}

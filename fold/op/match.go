package op

import "sync/atomic"

// Match counts how the rows of a side meet those of the first table by their keys, whatever the
// other sides do.
type Match struct {
	Listener string
	Matched  int64 // rows of the side that match a row of the first dataset
	Missing  int64 // rows of the first dataset that match no row of the side
}

// count counts the current row of the first table, and the rows of side n that it found, if no
// earlier row has found them: all rows of a key are found together.
func (w *worker) count(n int) error {
	s, c, last := w.sides[n], &w.counts[n], w.last[n][w.i]
	switch {
	case last == noRef:
		c.missing++
	case s.merged != nil:
		if !s.merged.counted {
			s.merged.counted = true
			c.matched += int64(len(s.merged.found))
		}
	case s.spilled:
		if err := w.loaded.parts[n].each(last, w.batch.keys[s.Key].all[w.i], func(r record) error {
			if !s.seen.set(r.number()) {
				return errStop
			}
			c.matched++
			return nil
		}); err != nil && err != errStop {
			return err
		}
	case s.seen.set(int64(last)):
		for range s.arena.ring(last) {
			c.matched++
			if err := w.step(); err != nil {
				return err
			}
		}
	}
	return nil
}

// counts are the rows of a table.
type counts struct {
	matched, missing int64 // see Match
	joined           int64 // with it and those before it, of all origins
}

// flushCounts adds the counts to those of the sides.
func (w *worker) flushCounts() {
	for n, c := range w.counts {
		w.sides[n].matches.Add(c.matched)
		w.sides[n].missing.Add(c.missing)
		w.sides[n].joined.Add(c.joined)
		w.counts[n] = counts{}
	}
}

// counted returns the counts of all sides, in the order of the join.
func (f *joining) counted() []Match {
	if !f.Count {
		return nil
	}
	var all []Match
	for _, s := range f.sides[1:] {
		all = append(all, Match{s.Name, s.matches.Load(), s.missing.Load()})
	}
	return all
}

// marks is a set of numbers. It is safe for concurrent use.
type marks []atomic.Uint32

// newMarks returns an empty set of numbers below n.
func newMarks(n int64) marks { return make(marks, (n+31)/32) }

// set adds a number, and tells whether the set did not have it.
func (m marks) set(i int64) bool {
	word, bit := &m[i/32], uint32(1)<<(i%32)
	return word.Load()&bit == 0 && word.Or(bit)&bit == 0
}

// has tells whether the set has a number; an empty set can be nil.
func (m marks) has(i int64) bool { return m != nil && m[i/32].Load()&(1<<(i%32)) != 0 }

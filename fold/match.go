package fold

import "sync/atomic"

// Match counts how the rows of a side meet those of the first dataset by their keys, whatever the
// other sides do.
type Match struct {
	Listener string
	Matched  int64 // rows of the side that match a row of the first dataset
	Missing  int64 // rows of the first dataset that match no row of the side
}

// count counts the current row of the first dataset, and the rows of side n that it found, if no
// earlier row has found them: all rows of a key are found together.
func (j *join) count(n int) error {
	s, c := j.sides[n], &j.counts[n]
	switch {
	case j.last[n] == noRef:
		c.Missing++
	case s.sorted != nil:
		if !s.sorted.counted {
			s.sorted.counted = true
			c.Matched += int64(len(s.sorted.found))
		}
	case s.spilled:
		if err := j.loaded.parts[n].each(j.last[n], j.key, func(r record) error {
			if !s.seen.set(r.number()) {
				return errStop
			}
			c.Matched++
			return nil
		}); err != nil && err != errStop {
			return err
		}
	case s.seen.set(int64(j.last[n])):
		c.Matched++
		for at := s.arena.at(j.last[n]).link(); at != j.last[n]; at = s.arena.at(at).link() {
			c.Matched++
		}
	}
	return nil
}

// flushCounts adds the counts to those of the sides.
func (j *join) flushCounts() {
	if j.origin > 0 {
		return
	}
	for n := range j.counts {
		if s := j.sides[n]; s != nil {
			s.matches.Add(j.counts[n].Matched)
			s.missing.Add(j.counts[n].Missing)
			j.counts[n] = Match{}
		}
	}
}

// counted returns the counts of all sides, in the order of the join.
func (f *folder) counted() []Match {
	var all []Match
	for _, s := range f.sides[1:] {
		all = append(all, Match{s.in.listener, s.matches.Load(), s.missing.Load()})
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

package op

import (
	"bytes"
	"cmp"
	"container/heap"
	"encoding/binary"
	"slices"
)

// sorter sorts records by keys of bytes. Those of equal keys keep their order. The word of a record is the begin of its
// key, and its text the key.
type sorter struct {
	m      *Memory
	limit  int   // only so many rows are needed; 0: all
	held   int64 // bytes that are reserved
	used   int64 // those of the records in memory
	arena  *arena
	refs   []sortRef
	bound  record   // of the last row needed so far; nil: unknown
	levels [][]*run // sorted runs; those of a level are merged runs of the one before it
}

// maxRuns is the maximum number of runs that are merged at once: each needs a block in memory.
const maxRuns = 64

// add copies a record, which beginSorted has begun.
func (s *sorter) add(r record) error {
	if s.bound != nil && compareRecords(r, s.bound) >= 0 {
		return nil
	}
	if s.limit > 0 && len(s.refs) >= 2*s.limit+batchRows {
		if err := s.shrink(); err != nil {
			return err
		}
	}
	size := int64(padded(len(r)) + refSize)
	if !s.reserve(size) {
		if err := s.makeRoom(size); err != nil {
			return err
		}
	}
	s.used += size
	if s.arena == nil {
		s.arena = &arena{}
	}
	ref, err := s.arena.put(r)
	s.refs = append(s.refs, sortRef{ref: ref})
	return err
}

// reserve reserves bytes for one more record; false: the budget is used up.
func (s *sorter) reserve(size int64) bool {
	more := s.used + size - s.held
	if more > 0 {
		if !s.m.take(more, s.held) {
			return false
		}
		s.held += more
	}
	return true
}

// beginSorted appends the head of a record and its key, which appends it. The caller appends the row.
func beginSorted(dst []byte, key func(dst []byte) ([]byte, error)) ([]byte, error) {
	start := len(dst)
	dst = beginRecord(dst, Key{text: []byte{}}, true)
	from := len(dst)
	dst, err := key(dst)
	if err != nil {
		return dst, err
	}
	binary.LittleEndian.PutUint64(dst[start:], beginOf(dst[from:]))
	binary.LittleEndian.PutUint32(dst[from-4:], uint32(len(dst)-from))
	return dst, nil
}

// makeRoom reserves bytes for one more record: it frees rows that are not needed, or else writes a run.
func (s *sorter) makeRoom(size int64) error {
	if s.limit > 0 && len(s.refs) >= 2*s.limit {
		if err := s.shrink(); err != nil || s.reserve(size) {
			return err
		}
	}
	if err := s.spill(); err != nil {
		return err
	}
	if more := size - s.held; more > 0 { // even a row that exceeds the budget alone
		s.m.give(-more)
		s.held += more
	}
	return nil
}

// compareRecords compares the keys of two records.
func compareRecords(a, b record) int {
	if c := cmp.Compare(a.word(), b.word()); c != 0 {
		return c
	}
	return bytes.Compare(a.text(), b.text())
}

// shrink frees the rows that are not needed.
func (s *sorter) shrink() error {
	refs, from := s.refs, s.arena
	sortRefs(from, refs, 0)
	refs = refs[:min(len(refs), s.limit)]
	s.used, s.refs, s.arena = 0, make([]sortRef, 0, 2*s.limit+batchRows), &arena{}
	for _, r := range refs {
		rec := from.whole(r.ref)
		ref, err := s.arena.put(rec)
		if err != nil {
			return err
		}
		s.refs = append(s.refs, sortRef{ref: ref})
		s.used += int64(padded(len(rec)) + refSize)
	}
	s.m.give(s.held - s.used)
	s.held = s.used
	s.bound = bytes.Clone(from.whole(refs[len(refs)-1].ref))
	return nil
}

// spill writes what is in memory as a sorted run. The memory is used for further records.
func (s *sorter) spill() error {
	if len(s.refs) == 0 {
		return nil
	}
	to := s.m.newRun()
	if err := s.eachInMemory(to.add); err != nil {
		return err
	}
	s.used, s.refs = 0, s.refs[:0]
	s.arena.reset()
	return s.addRun(0, to)
}

// free frees the memory.
func (s *sorter) free() {
	s.m.give(s.held)
	s.held, s.used, s.refs, s.arena = 0, 0, nil, nil
}

// eachInMemory calls f with the records in memory in order.
func (s *sorter) eachInMemory(f func(record) error) error {
	if len(s.refs) == 0 {
		return nil
	}
	pieces, err := sortPieces(s.arena, s.refs)
	if err != nil {
		return err
	}
	for i := range pieces {
		pieces[i].next()
	}
	for n := 0; len(pieces) > 0 && (s.limit == 0 || n < s.limit); n++ {
		first := 0
		for i := 1; i < len(pieces); i++ {
			if compareRecords(pieces[i].now, pieces[first].now) < 0 {
				first = i // of equal keys, those of the earlier piece come first
			}
		}
		if err := f(pieces[first].now); err != nil {
			return err
		}
		if n%1024 == 0 {
			if err := s.m.ended(); err != nil {
				return err
			}
		}
		if pieces[first].next(); pieces[first].now == nil {
			pieces = slices.Delete(pieces, first, first+1)
		}
	}
	return nil
}

// addRun adds a run to a level. A level that is full becomes a run of the next one, so that a row is written once for
// each level.
func (s *sorter) addRun(level int, r *run) error {
	if err := r.flush(); err != nil {
		return err
	}
	if level == len(s.levels) {
		s.levels = append(s.levels, nil)
	}
	if s.levels[level] = append(s.levels[level], r); len(s.levels[level]) < maxRuns {
		return nil
	}
	return s.mergeLevel(level)
}

// mergeLevel makes one run of all of a level.
func (s *sorter) mergeLevel(level int) error {
	runs, to := s.levels[level], s.m.newRun()
	s.levels[level] = nil
	if err := s.merge(runs, to.add); err != nil {
		return err
	}
	return s.addRun(level+1, to)
}

// each calls f with all rows in order, and frees them. A record is valid until f returns.
func (s *sorter) each(f func(record) error) error {
	defer s.free()
	if s.levels == nil {
		return s.eachInMemory(f)
	}
	if err := s.spill(); err != nil {
		return err
	}
	s.free()
	for level := 0; ; level++ {
		var runs []*run
		for _, later := range slices.Backward(s.levels) {
			runs = append(runs, later...) // those of a higher level come earlier
		}
		if len(runs) <= maxRuns {
			return s.merge(runs, f)
		}
		if len(s.levels[level]) > 1 {
			if err := s.mergeLevel(level); err != nil {
				return err
			}
		}
	}
}

// merge calls f with the records of sorted runs, in order, and frees the runs; of equal keys, those of the earlier run
// come first.
func (s *sorter) merge(runs []*run, f func(record) error) error {
	h := &heads{}
	defer h.close()
	for i, r := range runs {
		next := head{cursor: &cursor{run: r, frees: true}, number: i}
		rec, err := next.cursor.record()
		if err != nil {
			return err
		}
		if next.record = rec; rec != nil {
			*h = append(*h, next)
		}
	}
	heap.Init(h)
	for n := 0; len(*h) > 0 && (s.limit == 0 || n < s.limit); n++ {
		if n%1024 == 0 {
			if err := s.m.ended(); err != nil {
				return err
			}
		}
		first := &(*h)[0]
		err := f(first.record)
		if err == nil {
			first.record, err = first.cursor.record()
		}
		switch {
		case err != nil:
			return err
		case first.record == nil:
			heap.Pop(h)
		default:
			heap.Fix(h, 0)
		}
	}
	return nil
}

// heads are the next records of runs, as a heap.
type heads []head

type head struct {
	record
	cursor *cursor
	number int
}

func (h heads) Len() int { return len(h) }
func (h heads) Less(i, j int) bool {
	c := compareRecords(h[i].record, h[j].record)
	return c < 0 || c == 0 && h[i].number < h[j].number
}
func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(any)     {}
func (h *heads) Pop() any {
	*h = (*h)[:len(*h)-1]
	return nil
}

func (h heads) close() {
	for _, next := range h {
		next.cursor.close()
	}
}

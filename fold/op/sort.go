package op

import (
	"bytes"
	"cmp"
	"container/heap"
	"encoding/binary"
	"slices"
)

// sorter sorts rows by keys of bytes. Rows of equal keys keep their order. The word of a record is the begin of its
// key, and its text the key.
type sorter struct {
	m      *Memory
	limit  int // only so many rows are needed; 0: all
	held   int64
	arena  *arena
	refs   []sortRef
	bound  record   // of the last row needed so far; nil: unknown
	levels [][]*run // sorted runs; those of a level are merged runs of the one before it
	record record
}

// sortRef refers to a record in the arena.
type sortRef struct {
	word uint64 // the begin of what its key does not have in common with all others; set by sortAll
	ref  uint32
}

// refSize is what a record takes besides its bytes.
const refSize = 16

// maxRuns is the maximum number of runs that are merged at once: each needs a block in memory.
const maxRuns = 64

// add copies a row.
func (s *sorter) add(key []byte, row func(dst []byte) []byte) (err error) {
	if s.record, err = endRecord(row(beginRecord(s.record[:0], Key{beginOf(key), key}, true))); err != nil {
		return err
	}
	if s.bound != nil && compareRecords(s.record, s.bound) >= 0 {
		return nil
	}
	if s.limit > 0 && len(s.refs) >= 2*s.limit+batchRows {
		if err := s.shrink(); err != nil {
			return err
		}
	}
	size := int64(padded(len(s.record)) + refSize)
	if !s.m.take(size, s.held) {
		if err := s.makeRoom(size); err != nil {
			return err
		}
	}
	s.held += size
	if s.arena == nil {
		s.arena = &arena{}
	}
	ref, err := s.arena.put(s.record)
	s.refs = append(s.refs, sortRef{ref: ref})
	return err
}

// beginOf returns the first bytes of a key, whose order is that of the keys if they differ.
func beginOf(key []byte) uint64 {
	var word [8]byte
	copy(word[:], key)
	return binary.BigEndian.Uint64(word[:])
}

// makeRoom reserves bytes: it frees rows that are not needed, or else writes a run.
func (s *sorter) makeRoom(bytes int64) error {
	if s.limit > 0 && len(s.refs) >= 2*s.limit {
		if err := s.shrink(); err != nil || s.m.take(bytes, s.held) {
			return err
		}
	}
	if err := s.spill(); err != nil {
		return err
	}
	s.m.give(-bytes) // even a row that exceeds the budget alone
	return nil
}

// compareRecords compares the keys of two records.
func compareRecords(a, b record) int {
	if c := cmp.Compare(a.word(), b.word()); c != 0 {
		return c
	}
	return bytes.Compare(a.text(), b.text())
}

// common returns the number of bytes with which all keys in memory begin: small integers differ in their last bytes.
func (s *sorter) common() (n int) {
	if len(s.refs) == 0 {
		return 0
	}
	first := s.arena.at(s.refs[0].ref).text()
	n = len(first)
	for _, r := range s.refs[1:] {
		key, same := s.arena.at(r.ref).text(), 0
		for same < min(n, len(key)) && key[same] == first[same] {
			same++
		}
		n = same
	}
	return n
}

// sortAll sorts the rows in memory, and leaves out those that are not needed.
func (s *sorter) sortAll() {
	common := s.common()
	for i, r := range s.refs {
		s.refs[i].word = beginOf(s.arena.at(r.ref).text()[common:])
	}
	slices.SortFunc(s.refs, func(a, b sortRef) int {
		if c := cmp.Compare(a.word, b.word); c != 0 {
			return c
		}
		if c := bytes.Compare(s.arena.at(a.ref).text()[common:], s.arena.at(b.ref).text()[common:]); c != 0 {
			return c
		}
		return cmp.Compare(a.ref, b.ref)
	})
	if s.limit > 0 && len(s.refs) > s.limit {
		s.refs = s.refs[:s.limit]
	}
}

// shrink frees the rows that are not needed.
func (s *sorter) shrink() error {
	s.sortAll()
	refs, from := s.refs, s.arena
	s.m.give(s.held)
	s.held, s.refs, s.arena = 0, make([]sortRef, 0, 2*s.limit+batchRows), &arena{}
	for _, r := range refs {
		rec := from.whole(r.ref)
		ref, err := s.arena.put(rec)
		if err != nil {
			return err
		}
		s.refs = append(s.refs, sortRef{ref: ref})
		s.held += int64(padded(len(rec)) + refSize)
	}
	s.m.give(-s.held)
	s.bound = bytes.Clone(from.whole(refs[len(refs)-1].ref))
	return nil
}

// spill writes what is in memory as a sorted run.
func (s *sorter) spill() error {
	if len(s.refs) == 0 {
		return nil
	}
	to := s.m.newRun()
	if err := s.eachInMemory(to.add); err != nil {
		return err
	}
	return s.addRun(0, to)
}

// eachInMemory calls f with the rows in memory in order, and frees them.
func (s *sorter) eachInMemory(f func(record) error) error {
	s.sortAll()
	defer func() {
		s.m.give(s.held)
		s.held, s.refs, s.arena = 0, nil, nil
	}()
	for i, r := range s.refs {
		if err := f(s.arena.whole(r.ref)); err != nil {
			return err
		}
		if i%1024 == 0 {
			if err := s.m.ended(); err != nil {
				return err
			}
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
	if s.levels == nil {
		return s.eachInMemory(f)
	}
	if err := s.spill(); err != nil {
		return err
	}
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

// Sort sorts rows by a key; rows of equal keys keep their order.
type Sort struct {
	sorter
	to   Output
	key  func(dst []byte, row Row) ([]byte, error)
	keyB []byte
	row  Row
}

// NewSort returns a Sort. key appends the key of a row, whose order is that of bytes. Only the first rows are needed;
// limit 0: all of them.
func NewSort(m *Memory, to Output, limit int, key func(dst []byte, row Row) ([]byte, error)) *Sort {
	return &Sort{sorter: sorter{m: m, limit: limit}, to: to, key: key}
}

// Add implements Output.
func (s *Sort) Add(row Row) (err error) {
	if s.keyB, err = s.key(s.keyB[:0], row); err != nil {
		return err
	}
	if s.row == nil {
		s.row = make(Row, len(row))
	}
	return s.add(s.keyB, func(dst []byte) []byte { return AppendRow(dst, row) })
}

// End implements Output.
func (s *Sort) End() error {
	err := s.each(func(r record) error {
		DecodeRow(s.row, r.row())
		return s.to.Add(s.row)
	})
	if err != nil && err != ErrEnough {
		return err
	}
	return s.to.End()
}

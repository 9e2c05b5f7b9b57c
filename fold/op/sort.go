package op

import (
	"bytes"
	"container/heap"
	"slices"
)

// sorter sorts records by their keys. Records of equal keys keep their order.
type sorter struct {
	m    *Memory
	held int64
	all  []numbered
	data []byte // the arena of the records of all
	runs []*run
}

// numbered is a record with its place in the input.
type numbered struct {
	record
	number int
}

// recordBytes is what a record takes besides its bytes.
const recordBytes = 56

// arenaBytes is the size of a piece of the arena.
const arenaBytes = 1 << 20

// add copies a record.
func (s *sorter) add(rec record) error {
	size := len(rec.key) + len(rec.row)
	if !s.m.take(int64(size+recordBytes), s.held) {
		if err := s.spill(); err != nil {
			return err
		}
		s.m.give(-int64(size + recordBytes)) // even one that exceeds the budget alone
	}
	s.held += int64(size + recordBytes)
	if cap(s.data)-len(s.data) < size {
		s.data = make([]byte, 0, max(size, min(arenaBytes, 4096<<min(len(s.all)/16, 8))))
	}
	at := len(s.data)
	s.data = append(append(s.data, rec.key...), rec.row...)
	key, end := at+len(rec.key), at+size
	s.all = append(s.all, numbered{record{s.data[at:key:key], s.data[key:end:end]}, len(s.all)})
	return nil
}

func (s *sorter) sortAll() {
	slices.SortFunc(s.all, func(a, b numbered) int {
		if c := bytes.Compare(a.key, b.key); c != 0 {
			return c
		}
		return a.number - b.number
	})
}

// spill writes what is in memory as a sorted run.
func (s *sorter) spill() error {
	if len(s.all) == 0 {
		return nil
	}
	s.sortAll()
	r := s.m.newRun()
	for _, rec := range s.all {
		if err := r.add(rec.record); err != nil {
			return err
		}
	}
	s.runs = append(s.runs, r)
	s.free()
	if len(s.runs) >= maxRuns {
		if err := r.finish(); err != nil {
			return err
		}
		return s.merge()
	}
	return r.finish()
}

// free gives the memory back.
func (s *sorter) free() {
	s.m.give(s.held)
	s.held, s.all, s.data = 0, nil, nil
}

// maxRuns is the maximum number of runs that are merged at once: each needs a block in memory.
const maxRuns = 64

// merge makes one run of all.
func (s *sorter) merge() error {
	to := s.m.newRun()
	if err := mergeRuns(s.runs, to.add); err != nil {
		return err
	}
	s.runs = []*run{to}
	return to.finish()
}

// each calls f with all records in order, and frees them. A record is valid until f returns.
func (s *sorter) each(f func(record) error) error {
	if len(s.runs) == 0 {
		s.sortAll()
		defer s.free()
		for _, rec := range s.all {
			if err := f(rec.record); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.spill(); err != nil {
		return err
	}
	return mergeRuns(s.runs, f)
}

// iterator returns the records one by one; the returned function has no more after false.
func (s *sorter) iterator() (func() (record, bool, error), error) {
	if len(s.runs) == 0 {
		s.sortAll()
		i := 0
		return func() (record, bool, error) {
			if i == len(s.all) {
				s.free()
				return record{}, false, nil
			}
			i++
			return s.all[i-1].record, true, nil
		}, nil
	}
	if err := s.spill(); err != nil {
		return nil, err
	}
	m, err := newMerger(s.runs)
	return m.next, err
}

// merger merges sorted runs; of equal keys, those of the earlier run come first.
type merger struct {
	heads []head
	last  bool // the first head was returned, and must move on
}

type head struct {
	record
	reader *reader
	number int
}

func newMerger(runs []*run) (*merger, error) {
	m := &merger{}
	for i, r := range runs {
		h := head{reader: r.read(), number: i}
		rec, ok, err := h.reader.record()
		if err != nil {
			return m, err
		}
		if ok {
			h.record = rec
			m.heads = append(m.heads, h)
		}
	}
	heap.Init(m)
	return m, nil
}

func (m *merger) Len() int { return len(m.heads) }
func (m *merger) Less(i, j int) bool {
	c := bytes.Compare(m.heads[i].key, m.heads[j].key)
	return c < 0 || c == 0 && m.heads[i].number < m.heads[j].number
}
func (m *merger) Swap(i, j int) { m.heads[i], m.heads[j] = m.heads[j], m.heads[i] }
func (m *merger) Push(any)      {}
func (m *merger) Pop() any {
	m.heads = m.heads[:len(m.heads)-1]
	return nil
}

// next returns the least record.
func (m *merger) next() (record, bool, error) {
	if m.last {
		rec, ok, err := m.heads[0].reader.record()
		switch {
		case err != nil:
			return record{}, false, err
		case ok:
			m.heads[0].record = rec
			heap.Fix(m, 0)
		default:
			heap.Pop(m)
		}
		m.last = false
	}
	if len(m.heads) == 0 {
		return record{}, false, nil
	}
	m.last = true
	return m.heads[0].record, true, nil
}

// mergeRuns calls f with the records of sorted runs, in order.
func mergeRuns(runs []*run, f func(record) error) error {
	m, err := newMerger(runs)
	for err == nil {
		rec, ok, e := m.next()
		if !ok || e != nil {
			return e
		}
		err = f(rec)
	}
	return err
}

// Sort sorts rows by a key; rows of equal keys keep their order.
type Sort struct {
	sorter
	to   Output
	key  func(dst []byte, row Row) ([]byte, error)
	keyB []byte
	rowB []byte
	row  Row
}

// NewSort returns a Sort. key appends the key of a row, whose order is that of bytes.
func NewSort(m *Memory, to Output, key func(dst []byte, row Row) ([]byte, error)) *Sort {
	return &Sort{sorter: sorter{m: m}, to: to, key: key}
}

// Add implements Output.
func (s *Sort) Add(row Row) (err error) {
	if s.keyB, err = s.key(s.keyB[:0], row); err != nil {
		return err
	}
	s.rowB = appendRow(s.rowB[:0], row)
	if s.row == nil {
		s.row = make(Row, len(row))
	}
	return s.add(record{s.keyB, s.rowB})
}

// End implements Output.
func (s *Sort) End() error {
	err := s.each(func(rec record) error {
		decodeRow(s.row, rec.row)
		return s.to.Add(s.row)
	})
	if err != nil && err != ErrEnough {
		return err
	}
	return s.to.End()
}

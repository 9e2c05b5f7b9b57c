package op

import "sync/atomic"

// side is a table of a join that runs. Rows of later tables are looked up in it.
type side struct {
	*Table
	from source // nil: a query that is not stored

	arena *arena // all of its rows, if it is in memory
	table *hashtable

	merged *sameKey // it exceeds the budget, but is sorted

	spilled bool
	matched marks // its rows that have a match; only of a spilled one that keeps others

	// Its rows that match a row of the first table are counted once: seen has the refs of their
	// last rows if it is in memory, and their numbers if it is spilled.
	seen             marks
	matches, missing atomic.Int64 // see Match
	joined           atomic.Int64 // see Ran
}

// readSides reads the rows of all sides into memory. Those that do not fit are merged or spilled.
func (f *joining) readSides(terms Terms) error {
	var large []int
	for n, s := range f.sides {
		if n == 0 {
			continue
		}
		l := &loader{n: n, side: s, m: f.m, terms: terms, row: make(Row, s.Cells), to: &arena{}}
		if err := l.load(); err != nil {
			return err
		}
		if l.full {
			large = append(large, n)
			continue
		}
		s.arena = l.to
		f.m.give(-s.arena.used())
	}
	if len(large) > 0 {
		sorted, err := f.AreSorted(large)
		if err != nil {
			return err
		}
		for _, n := range large {
			if s := f.sides[n]; sorted {
				s.merged = s.merge()
			} else {
				s.spilled = true
			}
		}
	}
	for _, s := range f.sides[1:] {
		if s.arena != nil {
			s.table = newHashtable(s.arena)
			if f.Count {
				s.seen = newMarks(s.arena.refs())
			}
		}
	}
	return nil
}

// loader reads the rows of a side.
type loader struct {
	*side
	n      int
	m      *Memory
	terms  Terms
	row    Row
	record record
	to     *arena
	full   bool // they exceed the budget
	run    *run // of a query whose rows do
}

func (l *loader) load() error {
	if l.Set == nil {
		if err := l.Query(l); err != nil || !l.full {
			return err
		}
		l.from = recordedRun(l.run, l.Kept)
		return nil
	}
	read := int64(0)
	for b, err := range each(l.from, l.Columns, 0) {
		if err != nil {
			return err
		}
		read += int64(b.rows())
		for i := range b.rows() {
			if b.fillKeys(l.row, i); l.Filtered {
				if keep, err := l.terms.Keep(l.n, l.row); err != nil {
					return err
				} else if !keep {
					continue
				}
			}
			needed, err := l.begin(l.row)
			if err == nil && needed {
				l.record = b.appendTo(l.record, i)
				err = l.add()
			}
			if err != nil {
				return err
			}
		}
		if err := l.m.ended(); err != nil {
			return err
		}
		if l.full = l.full || l.exceeds(read); l.full && !l.CanFail {
			return nil // otherwise, all rows are read, because the errors do not depend on the budget
		}
		if l.full {
			l.to = nil
		}
	}
	return nil
}

// exceeds tells whether the rows exceed the budget, or will: a side that is far too large is not read to the end of the
// budget. read is the number of rows so far.
func (l *loader) exceeds(read int64) bool {
	used, left := l.to.used(), l.m.left.Load()
	rows, _ := l.from.size()
	sure := read >= rows/8 && float64(used)*float64(rows) > 1.05*float64(left)*float64(read)
	return used > left || sure && used > left/16
}

// begin begins the record of a row, of which it needs only the cells of the key. False means that no record is needed.
func (l *loader) begin(row Row) (bool, error) {
	k, hasKey, err := l.terms.Right(l.n, row)
	switch {
	case err != nil:
		return false, err
	case !hasKey && !l.Kind.Right:
		return false, nil // without a key, it matches nothing
	case l.to == nil && l.run == nil:
		return false, nil
	}
	l.record = beginRecord(l.record[:0], k, hasKey)
	return true, nil
}

// add adds the record, to which the caller has appended the cells of the row.
func (l *loader) add() (err error) {
	l.record, err = endRecord(l.record)
	switch {
	case err != nil:
	case l.run != nil:
		err = l.run.add(l.record)
	default:
		err = l.to.add(l.record)
	}
	if err != nil {
		return l.failed(err)
	}
	return nil
}

// Add implements Output: it takes a row of a query.
func (l *loader) Add(row Row) error {
	needed, err := l.begin(row)
	if err == nil && needed {
		l.record = appendCells(l.record, row, l.Kept)
		err = l.add()
	}
	if err != nil || l.full || l.to.used() <= l.m.left.Load() {
		return err
	}
	l.full, l.run = true, l.m.newRun()
	for _, r := range l.to.all {
		if err := l.run.add(r); err != nil {
			return err
		}
	}
	l.to.close()
	l.to = nil
	return nil
}

// End implements Output.
func (l *loader) End() error { return nil }

package op

// segment is rows that are joined with the tables from one on.
type segment struct {
	rows   source // nil: a query
	origin int    // the first table that has cells in the rows
	base   int    // the first cell of the rows
	from   int    // the first table that they are joined with
	cut    int    // joined rows are stored before this table; the number of tables: they are passed on
	stored *run   // the rows before the cut
	keep   bool   // they must be filtered
	skip   marks  // rows that have been joined before
	first  int64  // row that has number 0
	parts  *partition
	pool   *pool[*worker] // joins blocks in parallel; nil: one worker does all
}

// origin returns the rows of a table that no earlier table has matched.
func (s *side) origin(n int, at []int) *segment {
	g := &segment{rows: s.from, origin: n, base: at[n], from: n + 1, keep: s.Filtered, skip: s.matched}
	if s.arena != nil {
		g.rows, g.keep = recordedArena(s.arena, s.Kept), false
	}
	return g
}

// join joins the rows of a segment, and those that it stores.
func (f *joining) join(w *worker, g *segment) error {
	for g.cut = g.from; g.cut < len(f.sides); g.cut++ {
		if s := f.sides[g.cut]; s.spilled && s.Needs >= g.from {
			g.stored = f.m.newRun()
			break
		}
	}
	err := f.addSegment(w, g)
	if g.stored == nil {
		return err
	}
	next := &segment{rows: recordedRun(g.stored, upTo(f.at[g.cut])), origin: g.origin, from: g.cut}
	if err := f.join(w, next); err != nil {
		return err
	}
	g.stored.free()
	return err // of a row after those that are stored
}

// upTo returns the numbers below n.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// addSegment joins the rows of a segment.
func (f *joining) addSegment(w *worker, g *segment) (err error) {
	w.begin(g)
	if g.rows == nil {
		if g.spilled(f) == nil {
			p := &pushed{w: w}
			err := f.sides[g.origin].Query(p)
			if first := p.End(); first != nil {
				err = first
			}
			return w.terms.Flush(err)
		}
		all := f.m.newRun()
		defer all.free()
		var r record
		last := f.sides[g.origin].Query(rowsTo(func(row Row) error {
			r, err = endRecord(AppendRow(beginRecord(r[:0], Key{}, true), row))
			if err == nil {
				err = all.add(r)
			}
			return err
		}))
		g.rows = recordedRun(all, upTo(f.sides[g.origin].Cells))
		if err := f.addSegment(w, g); err != nil {
			return err
		}
		return last
	}
	if g.spilled(f) != nil {
		return w.terms.Flush(f.addSpilled(w))
	}
	_, blocks := g.rows.size()
	return w.terms.Flush(w.addBlocks(0, blocks))
}

// spilled returns the numbers of the spilled tables that are looked up before the cut.
func (g *segment) spilled(f *joining) (all []int) {
	for n := g.from; n < g.cut; n++ {
		if f.sides[n].spilled {
			all = append(all, n)
		}
	}
	return all
}

// rowsTo is an Output that is a function.
type rowsTo func(row Row) error

func (f rowsTo) Add(row Row) error { return f(row) }
func (f rowsTo) End() error        { return nil }

// joins tells whether a row of the segment is joined.
func (g *segment) joins(terms Terms, number int64, row Row) (bool, error) {
	switch {
	case g.skip.has(g.first + number):
		return false, nil
	case g.keep:
		return terms.Keep(g.origin, row[g.base:])
	}
	return true, nil
}

// pushed joins the rows that a query gives, some at a time.
type pushed struct {
	w    *worker
	rows []byte
	n    int
	r    record
	err  error
}

// Add implements Output.
func (p *pushed) Add(row Row) (err error) {
	p.r, err = endRecord(AppendRow(beginRecord(p.r[:0], Key{}, true), row))
	if err != nil {
		return err
	}
	p.rows = appendPadded(p.rows, p.r)
	if p.n++; p.n < batchRows {
		return nil
	}
	return p.End()
}

// End implements Output.
func (p *pushed) End() error {
	b := newRecordBlock(p.rows, upTo(p.w.sides[p.w.origin].Cells))
	p.rows, p.n = p.rows[:0], 0
	if p.err == nil {
		p.err = p.w.addRows(b, 0, b.rows(), 0)
	}
	return p.err
}

package op

// worker joins rows. It is used by one goroutine.
type worker struct {
	*joining
	*segment
	terms  Terms
	row    Row
	filled []bool // by table: it has cells in the row
	batch  *batch
	i      int                 // row of the batch
	last   [][batchRows]uint32 // by table: the last row that may match, or noRef
	loaded *loaded             // rows of the spilled sides that the current rows can match
	counts []counts            // by table, not yet added to it
	left   []keyOf             // by number: the keys that the rows have before they are joined
	steps  int
	record record // see store
}

func (f *joining) newWorker(terms Terms) *worker {
	n := len(f.sides)
	return &worker{
		joining: f, terms: terms, row: make(Row, f.at[n]), filled: make([]bool, n), last: make([][batchRows]uint32, n),
		counts: make([]counts, n), batch: newBatch(f.keys),
	}
}

// begin prepares for the rows of a segment.
func (w *worker) begin(g *segment) {
	w.segment, w.loaded, w.left = g, nil, make([]keyOf, w.keys)
	clear(w.row)
	clear(w.filled)
	for n := g.from; n < g.cut; n++ {
		if w.isDirect(n) {
			w.left[w.sides[n].Key] = keyOf{w.terms, g.origin, n}
		}
	}
}

// isDirect tells whether the rows of the segment have the key of a table before they are joined.
func (w *worker) isDirect(n int) bool { return w.sides[n].merged == nil && w.sides[n].Needs < w.from }

// step returns an error when the query has been cancelled. It looks now and then.
func (w *worker) step() error {
	if w.steps++; w.steps%1024 != 0 {
		return nil
	}
	return w.m.ended()
}

// addRows joins the rows [from, end) of a block. The first row of the block has this number.
func (w *worker) addRows(b block, from, end int, number int64) error {
	defer w.flushCounts()
	var keep func(i int, row Row) (bool, error)
	if w.keep || w.skip != nil {
		keep = func(i int, row Row) (bool, error) { return w.joins(w.terms, number+int64(i), row) }
	}
	for from < end {
		to := min(from+batchRows, end)
		w.batch.read(b, from, to, w.row, w.base, keep, w.left)
		w.find()
		for w.i = range w.batch.rows() {
			if w.batch.skipped[w.i] {
				continue
			}
			b.fill(w.row[w.base:], from+w.i)
			if err := w.addRow(); err != nil {
				return err
			}
		}
		if w.batch.err != nil {
			return w.batch.err
		}
		from = to
	}
	return nil
}

// find looks up the keys of the batch.
func (w *worker) find() {
	for n := w.from; n < w.cut; n++ {
		switch s := w.sides[n]; {
		case !w.isDirect(n):
		case s.spilled:
			w.loaded.parts[n].findAll(&w.batch.keys[s.Key], &w.last[n])
		default:
			s.table.findAll(w.batch.keys[s.Key].all, w.batch.keys[s.Key].is, &w.last[n])
		}
	}
}

// addRow joins row i of the batch. Its cells are filled.
func (w *worker) addRow() error {
	for n := w.from; n < w.cut; n++ {
		if s := w.sides[n]; s.merged != nil {
			found, err := s.merged.find(w.row[s.Sorted[0]])
			if err != nil {
				return err
			}
			if w.last[n][w.i] = noRef; found {
				w.last[n][w.i] = 0
			}
		}
		if w.Count && w.origin == 0 {
			if err := w.count(n); err != nil {
				return err
			}
		}
	}
	return w.product(w.from)
}

// lookUp returns the last row of table n that may match the current row, or noRef, and the key.
func (w *worker) lookUp(n int) (last uint32, k Key, err error) {
	s := w.sides[n]
	is := noKey
	switch {
	case s.merged != nil:
		return w.last[n][w.i], k, nil
	case w.isDirect(n):
		keys := &w.batch.keys[s.Key]
		if is = keys.is[w.i]; is != failedKey {
			return w.last[n][w.i], keys.all[w.i], nil
		}
	}
	k, ok, err := w.terms.Left(w.origin, n, w.row)
	if !ok || err != nil {
		return noRef, k, err
	}
	return s.table.find(k), k, nil
}

// product passes on every combination of the current row with rows of the tables from n on.
func (w *worker) product(n int) error {
	if n == w.cut && w.stored != nil {
		return w.store()
	}
	if w.counts[n-1].joined++; n == w.cut {
		return w.terms.Add(w.row)
	}
	s, cells := w.sides[n], w.row[w.at[n]:w.at[n+1]]
	last, key, err := w.lookUp(n)
	if err != nil {
		return err
	}
	found := false
	if last != noRef {
		w.filled[n] = true
		switch {
		case s.merged != nil:
			for _, at := range s.merged.found {
				at.chunk.fill(cells, at.row)
				ok, err := w.pair(n)
				if err != nil {
					return err
				}
				found = found || ok
			}
		case s.spilled:
			err = w.loaded.parts[n].each(last, key, func(r record) error {
				decodeCells(cells, s.Kept, r.cells())
				ok, err := w.pair(n)
				if found = found || ok; ok && s.Kind.Right {
					s.matched.set(r.number())
				}
				return err
			})
		default:
			for r := range s.arena.ring(last) {
				decodeCells(cells, s.Kept, r.row())
				ok, err := w.pair(n)
				if err != nil {
					return err
				}
				if found = found || ok; ok && s.Kind.Right {
					r.setFlag(flagMatched)
				}
			}
		}
	}
	if err != nil || found || !s.Kind.Left {
		return err
	}
	if w.filled[n] {
		clear(cells)
		w.filled[n] = false
	}
	return w.product(n + 1)
}

// pair passes the current row on with a row of table n, if it fulfils all conditions.
func (w *worker) pair(n int) (matched bool, err error) {
	if err := w.step(); err != nil {
		return false, err
	}
	if w.sides[n].Conditional {
		if ok, err := w.terms.Matches(n, w.row); err != nil || !ok {
			return false, err
		}
	}
	return true, w.product(n + 1)
}

// store stores the current row. It is passed on when it is joined with the rest.
func (w *worker) store() error {
	r, err := endRecord(AppendRow(beginRecord(w.record[:0], Key{}, true), w.row[:w.at[w.cut]]))
	if err != nil {
		return err
	}
	w.record = r
	return w.stored.add(r)
}

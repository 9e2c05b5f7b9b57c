package op

import (
	"slices"
	"sync/atomic"
)

// Join joins tables in the order written, each with the rows of all before it. The rows are in the order of the first
// table, and for one row of it in that of the second, and so on. Rows of a table without a match follow all others, if
// its kind keeps them.
type Join struct {
	Tables []*Table
	// Terms returns the terms for one more goroutine.
	Terms  func() Terms
	Count  bool // the matches of all tables, whose keys then use the first table alone
	Serial bool // one goroutine is enough
}

// JoinKind says which rows a join has besides those that match.
type JoinKind struct {
	Left  bool // rows before it without a match, with NULLs
	Right bool // its own rows without a match, after all others
}

// Table is a dataset or a query that is joined.
type Table struct {
	Name  string // of the listener, in errors
	Set   Dataset
	Query func(to Output) error // instead of a Set; it has been filtered
	Kind  JoinKind
	Cells int // of a row
	// Columns are those to read, Kept those that joined rows have, and KeyColumns those that keys and the filter use.
	Columns, Kept, KeyColumns []int

	Key         int  // tables with the same number are looked up by the same key
	Needs       int  // the last table that the key uses
	Filtered    bool // its Set is filtered
	Conditional bool // there are conditions besides the key
	CanFail     bool // Right or Keep can return errors
	// Sorted are a column of the first table and one of this one, both integers and the whole key; nil: the key is
	// another.
	Sorted *[2]int
}

// Terms are the expressions of a Join and what becomes of its rows. They are used by one goroutine at a time. A row
// has the cells of all tables, one after the other; those of tables that are not joined yet are undefined.
type Terms interface {
	// Left returns the key by which a row looks up table n; false: a part of it is NULL, which matches nothing.
	// origin is the first table with a row. The key is valid until the next call of the same n.
	Left(origin, n int, row Row) (Key, bool, error)
	// Right returns the key of a row of table n, which has the cells of that table alone.
	Right(n int, row Row) (Key, bool, error)
	// Keep tells whether a row of a filtered table is joined.
	Keep(n int, row Row) (bool, error)
	// Matches tells whether a row fulfils the conditions of table n besides the key.
	Matches(n int, row Row) (bool, error)
	// Lane takes the joined rows.
	Lane
}

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
}

// joining is one run of a Join.
type joining struct {
	*Join
	m     *Memory
	sides []*side // the first one has rows that are looked up
	at    []int   // by table: its first cell; then the number of all cells
	keys  int     // number of keys
}

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

// Run joins the tables. It reads all but the first into memory. Those that exceed the budget are merged if they and
// the first one are sorted by the key; otherwise their rows go through the scratch file. The first error of a dataset,
// the scratch file or the terms ends it. The errors of the terms for the rows of the first table are returned after
// all rows before. It returns a Match for every table after the first if they are counted.
func (j *Join) Run(m *Memory) ([]Match, error) {
	f := &joining{Join: j, m: m, at: []int{0}}
	for _, t := range j.Tables {
		s := &side{Table: t}
		if t.Set != nil {
			s.from = t
		}
		f.sides = append(f.sides, s)
		f.at = append(f.at, f.at[len(f.at)-1]+t.Cells)
		f.keys = max(f.keys, t.Key+1)
	}
	defer f.close()
	w := f.newWorker(j.Terms())
	if err := f.readSides(w.terms); err != nil {
		return nil, err
	}
	for n, s := range f.sides {
		if n > 0 && !s.Kind.Right {
			continue
		}
		if err := f.join(w, s.origin(n, f.at)); err != nil {
			return nil, err
		}
	}
	return f.counted(), nil
}

func (f *joining) close() {
	for _, s := range f.sides {
		if s.merged != nil {
			s.merged.rows.close()
		}
		if s.arena != nil {
			f.m.give(s.arena.used())
			s.arena.close()
		}
	}
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
		w.batch = newBatch(f.at[g.from], f.keys)
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
			r, err = endRecord(appendRow(beginRecord(r[:0], Key{}, true), row))
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
	w.batch = newBatch(f.at[g.from], f.keys)
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

// fewBlocks are joined by one goroutine: most datasets have one chunk.
const fewBlocks = 2

// isParallel tells whether blocks can be joined in parallel: no side is merged, no side records which of its rows have
// a match, and no rows are stored.
func (f *joining) isParallel(g *segment, blocks int64) bool {
	return blocks > fewBlocks && !f.Serial && g.stored == nil && !slices.ContainsFunc(f.sides[1:],
		func(s *side) bool { return s.merged != nil || s.Kind.Right })
}

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
	counts []Match             // by table, not yet added to it
	left   []func(row Row) (Key, bool, error)
	steps  int
	record record // see emit
}

func (f *joining) newWorker(terms Terms) *worker {
	n := len(f.sides)
	return &worker{
		joining: f, terms: terms, row: make(Row, f.at[n]), filled: make([]bool, n), last: make([][batchRows]uint32, n),
		counts: make([]Match, n),
	}
}

// begin prepares for the rows of a segment.
func (w *worker) begin(g *segment) {
	w.segment, w.loaded, w.left = g, nil, make([]func(row Row) (Key, bool, error), w.keys)
	clear(w.row)
	clear(w.filled)
	for n := g.from; n < g.cut; n++ {
		if w.isDirect(n) {
			w.left[w.sides[n].Key] = func(row Row) (Key, bool, error) { return w.terms.Left(g.origin, n, row) }
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

// addBlocks joins the rows of the blocks [from, to) of the segment. It numbers the rows from 0.
func (w *worker) addBlocks(from, to int64) (err error) {
	g := w.segment
	if g.pool == nil && w.isParallel(g, to-from) {
		if err := w.terms.Flush(nil); err != nil {
			return err
		}
		g.pool = newPool(func() *worker {
			other := w.newWorker(w.Terms())
			other.begin(g)
			other.batch = newBatch(w.at[g.from], w.keys)
			return other
		})
	}
	if g.pool != nil {
		defer func() {
			if first := g.pool.wait(); first != nil {
				err = first
			}
		}()
	}
	number := int64(0)
	for b, err := range each(g.rows, w.sides[g.origin].Columns, from) {
		if err != nil {
			return err
		}
		if more, err := w.addBlock(b, number); !more || err != nil {
			return err
		}
		number += int64(b.rows())
		if from++; from == to {
			break
		}
	}
	return nil
}

// addBlock joins the rows of a block. The first row has this number. False means that the pool
// has failed.
func (w *worker) addBlock(b block, number int64) (more bool, err error) {
	for from := 0; from < b.rows(); {
		to := b.rows()
		if w.parts != nil {
			rows, err := w.parts.load(w, number+int64(from))
			if err != nil {
				return false, err
			}
			to = from + int(min(int64(to-from), rows))
		}
		if w.pool == nil {
			if err := w.addRows(b, from, to, number); err != nil {
				return false, err
			}
		} else if !w.addParallel(b, from, to, number) {
			return false, nil
		}
		from = to
	}
	return true, nil
}

// addParallel joins rows of a block in the pool.
func (w *worker) addParallel(b block, from, to int, number int64) bool {
	loaded := w.loaded
	loaded.begin()
	return w.pool.do(func(o *worker, turn func() error) error {
		defer loaded.end()
		o.loaded = loaded
		o.terms.Begin(turn)
		return o.terms.Flush(o.addRows(b, from, to, number))
	})
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
		w.batch.read(b, from, to, w.base, keep, w.left)
		w.find()
		for w.i = range w.batch.rows() {
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

// addRow joins row i of the batch.
func (w *worker) addRow() error {
	if w.batch.skipped[w.i] {
		return nil
	}
	copy(w.row[w.base:], w.batch.row(w.i)[w.base:])
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
	if n == w.cut {
		return w.emit()
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
			err = s.arena.ring(last, func(r record) error {
				decodeCells(cells, s.Kept, r.row())
				ok, err := w.pair(n)
				if found = found || ok; ok && s.Kind.Right {
					r.setFlag(flagMatched)
				}
				return err
			})
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

// emit passes the current row on, or stores it.
func (w *worker) emit() error {
	if w.stored == nil {
		return w.terms.Add(w.row)
	}
	r, err := endRecord(appendRow(beginRecord(w.record[:0], Key{}, true), w.row[:w.at[w.cut]]))
	if err != nil {
		return err
	}
	w.record = r
	return w.stored.add(r)
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
	p.r, err = endRecord(appendRow(beginRecord(p.r[:0], Key{}, true), row))
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

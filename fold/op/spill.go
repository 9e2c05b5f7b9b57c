package op

import (
	"encoding/binary"
	"maps"
	"slices"
	"sync"
)

// splitParts is the number of parts that rows are partitioned into. Every part has a buffer of
// blockBytes per side.
const splitParts = 64

// spillBytes is the minimum budget of a spilled join, even if others have used more of the budget. It is at most the
// whole budget.
const spillBytes = 4 << 20

// addSpilled joins the rows of a segment with sides that do not fit into memory. It numbers the
// rows and indexes their keys. The rows of the sides that the index finds go to the scratch file,
// once for each part of the numbers that has a row that they match. Then it reads the rows of the segment again,
// part by part, and joins them with the rows of the sides. So the rows are in order, and the
// scratch file is read once.
//
// If the index of a segment exceeds the budget, the segment is joined in several passes, and every
// pass reads the sides.
func (f *joining) addSpilled(w *worker) error {
	for from := int64(0); ; {
		indexes, to, rows, err := w.segment.index(w, from)
		if rows == 0 || err != nil {
			return err
		}
		if w.parts, err = newPartition(w, indexes, rows); err != nil {
			return err
		}
		err = w.addBlocks(from, to)
		w.parts.close()
		if err != nil {
			return err
		}
		from, w.first = to, w.first+rows
	}
}

// partition holds the rows of the spilled sides that can match the rows of one pass.
type partition struct {
	*joining
	spilled   []int        // tables
	indexes   []*index     // by number of the key: of their rows, without the slots
	stored    []storedPart // parts not yet in memory, in reverse order
	end       int64        // number after those whose rows are in memory
	now, last *loaded      // loaded, and loaded before
}

// loaded holds the parts of the sides that some rows of the origin can match. Goroutines may use
// it while the next one is loaded.
type loaded struct {
	parts []*part // by table; nil: not spilled
	bytes int64   // of the budget
	users sync.WaitGroup
}

func (l *loaded) begin() {
	if l != nil {
		l.users.Add(1)
	}
}

func (l *loaded) end() {
	if l != nil {
		l.users.Done()
	}
}

// storedPart holds the rows in the scratch file that can match the rows [from, to) of the
// origin.
type storedPart struct {
	from, to int64
	runs     []*run                 // by table; nil: not spilled
	frequent []map[frequentKey]*run // by table: rows of frequent keys
}

// newPartition partitions the rows of the sides that the indexes find.
func newPartition(w *worker, indexes []*index, rows int64) (*partition, error) {
	p := &partition{joining: w.joining, spilled: w.spilled(w.joining), indexes: indexes}
	parts := p.split(storedPart{from: 0, to: rows, frequent: make([]map[frequentKey]*run, len(p.sides))})
	size := uint32(parts[0].to)
	for _, x := range indexes {
		if x != nil {
			x.skipParts(size)
		}
	}
	for _, n := range p.spilled {
		if err := p.partitionSide(n, indexes[w.sides[n].Key],
			func(number uint32) *run { return parts[number/size].runs[n] }); err != nil {
			return nil, err
		}
	}
	for _, x := range indexes {
		if x != nil {
			x.slots, x.skips = nil, nil
			p.m.give(-x.bytes())
		}
	}
	p.push(parts)
	return p, nil
}

// close frees the memory of the last parts and of the indexes.
func (p *partition) close() {
	for _, x := range p.indexes {
		if x != nil {
			p.m.give(x.bytes())
		}
	}
	for _, l := range []*loaded{p.last, p.now} {
		p.release(l)
	}
}

// release frees the memory of parts, when nothing uses them any more.
func (p *partition) release(l *loaded) {
	if l != nil {
		l.users.Wait()
		p.m.give(l.bytes)
		l.bytes = 0
	}
}

// partitionSide adds the rows of a side to the runs of their numbers. It looks up the rows of
// several blocks in parallel, and adds them in order.
func (p *partition) partitionSide(n int, x *index, to func(number uint32) *run) error {
	s, number, failed := p.sides[n], int64(0), error(nil)
	probers := newPool(func() *prober {
		l := &prober{n: n, side: s, index: x, terms: p.Terms(), row: make(Row, s.Cells), batch: newBatch(1)}
		l.key = []keyOf{{l.terms, -1, n}}
		return l
	})
	for b, err := range each(s.from, s.Columns, 0) {
		first := number
		if failed = err; failed == nil {
			failed = p.m.ended()
		}
		if failed != nil || !probers.do(func(l *prober, turn func() error) error {
			if err := l.probe(b, first); err != nil {
				return err
			}
			if err := turn(); err != nil {
				return err
			}
			return eachRecord(l.found, func(r record) error {
				for at := r.link() + 1; at != 0; at = x.skip(at) {
					r.setLink(at - 1)
					if err := to(at - 1).add(r); err != nil {
						return err
					}
				}
				return nil
			})
		}) {
			break
		}
		number += int64(b.rows())
	}
	if err := probers.wait(); err != nil {
		return err
	}
	if p.Count && s.seen == nil {
		s.seen = newMarks(number)
	}
	if s.Kind.Right && s.matched == nil {
		s.matched = newMarks(number)
	}
	return failed
}

// prober looks up rows of a side in an index.
type prober struct {
	*side
	n     int
	index *index
	terms Terms
	row   Row
	batch *batch
	key   []keyOf
	found []byte // records of the rows that the index finds, linked to the last of their numbers
}

// probe looks up the rows of a block. The first row has this number.
func (l *prober) probe(b block, number int64) error {
	var last [batchRows]uint32
	var r record
	var keep func(i int, row Row) (bool, error)
	if l.Filtered {
		keep = func(_ int, row Row) (bool, error) { return l.terms.Keep(l.n, row) }
	}
	l.found = l.found[:0]
	for from := 0; from < b.rows(); from += batchRows {
		l.batch.read(b, from, min(from+batchRows, b.rows()), l.row, 0, keep, l.key)
		if l.batch.err != nil {
			return l.batch.err
		}
		keys := &l.batch.keys[0]
		l.index.findAll(keys, &last)
		for i, k := range keys.all {
			if last[i] == 0 {
				continue
			}
			r = binary.LittleEndian.AppendUint64(beginRecord(r[:0], k, true), uint64(number+int64(from+i)))
			var err error
			if r, err = endRecord(b.appendTo(r, from+i)); err != nil {
				return l.failed(err)
			}
			r.setLink(last[i] - 1)
			l.found = appendPadded(l.found, r)
		}
	}
	return nil
}

// split splits the range of a part into empty parts.
func (p *partition) split(r storedPart) []storedPart {
	var parts []storedPart
	size := (r.to - r.from + splitParts - 1) / splitParts
	for from := r.from; from < r.to; from += size {
		part := storedPart{from: from, to: min(from+size, r.to), runs: make([]*run, len(p.sides)), frequent: r.frequent}
		for _, n := range p.spilled {
			part.runs[n] = p.m.newRun()
		}
		parts = append(parts, part)
	}
	return parts
}

// push puts parts before the other stored parts.
func (p *partition) push(parts []storedPart) {
	for i := range parts {
		p.stored = append(p.stored, parts[len(parts)-1-i])
	}
}

// load loads the rows that can match the row of this number. It returns the number of rows, from
// this one on, whose matches are loaded.
func (p *partition) load(w *worker, number int64) (int64, error) {
	for number >= p.end {
		next := p.stored[len(p.stored)-1]
		p.stored = p.stored[:len(p.stored)-1]
		if !p.fits(next) {
			var err error
			if next, err = p.divideKeys(next); err != nil {
				return 0, err
			}
		}
		if !p.fits(next) && next.to-next.from > 1 {
			parts, err := p.splitAgain(next)
			if err != nil {
				return 0, err
			}
			p.push(parts)
			continue
		}
		if err := p.loadSides(next); err != nil {
			return 0, err
		}
		w.loaded, p.end = p.now, next.to
	}
	return p.end - number, nil
}

// share returns the budget of a loaded part: half of the memory, because the previous part may
// still be in use.
func (p *partition) share() int64 {
	held := int64(0)
	for _, l := range []*loaded{p.last, p.now} {
		if l != nil {
			held += l.bytes
		}
	}
	return max(p.m.left.Load()+held, min(p.m.budget, spillBytes)) / 2
}

// fits tells whether the rows of a part fit into the budget.
func (p *partition) fits(r storedPart) bool {
	bytes := int64(0)
	for _, run := range r.runs {
		if run != nil {
			bytes += run.bytes + tableBytes(run.rows)
		}
	}
	return bytes <= p.share()
}

// divideKeys takes the rows of frequent keys out of a part that has many more rows than it has numbers: to split it
// would only copy them.
func (p *partition) divideKeys(r storedPart) (storedPart, error) {
	r.frequent = slices.Clone(r.frequent)
	for _, n := range p.spilled {
		if int64(r.runs[n].rows) <= 4*(r.to-r.from) {
			continue
		}
		others, frequent, err := p.m.divideKeys(r.runs[n])
		if err != nil {
			return r, err
		}
		maps.Copy(frequent, r.frequent[n])
		r.runs[n], r.frequent[n] = others, frequent
	}
	return r, nil
}

// splitAgain partitions the rows of a part once more.
func (p *partition) splitAgain(r storedPart) ([]storedPart, error) {
	parts := p.split(r)
	size := parts[0].to - parts[0].from
	for _, n := range p.spilled {
		from, x := r.runs[n], p.indexes[p.sides[n].Key]
		if err := from.all(func(next record) error {
			last := int64(-1)
			for at := next.link() + 1; at != 0 && int64(at) > r.from; at = x.next(at) {
				part := (int64(at-1) - r.from) / size
				if part == last {
					continue
				}
				last = part
				next.setLink(at - 1)
				if err := parts[part].runs[n].add(next); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return nil, err
		}
		from.free()
	}
	return parts, p.m.ended()
}

// loadSides reads the rows of a part into memory, except those of frequent keys.
func (p *partition) loadSides(r storedPart) (err error) {
	p.release(p.last)
	p.last, p.now = p.now, &loaded{parts: make([]*part, len(r.runs))}
	for _, n := range p.spilled {
		part := &part{frequent: r.frequent[n]}
		if part.arena, err = r.runs[n].load(p.sides[n].Table); err != nil {
			return err
		}
		part.table = newHashtable(part.arena)
		p.now.parts[n] = part
		p.now.bytes += part.arena.used()
	}
	p.m.give(-p.now.bytes)
	return nil
}

package fold

import (
	"slices"
	"sync/atomic"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// side is a dataset in which a join looks rows up. It is in memory, sorted or spilled.
type side struct {
	in *input

	arena *arena // all of its rows, if it is in memory
	table *hashtable

	sorted *group

	spilled bool
	matched marks // its rows that have a match; only of a full side

	// Its rows that match a row of the first dataset are counted once: seen has the refs of their
	// last rows if it is in memory, and their numbers if it is spilled.
	seen             marks
	matches, missing atomic.Int64 // see Match
}

// join combines rows as A JOIN B USING (keys) JOIN C USING (keys) … does. It takes the rows of
// one input, the origin, one by one. The inputs after it are its sides.
type join struct {
	*folder
	inputs []*input
	origin int
	keyer  *keyer
	out    *out
	cells  [][]byte // of the current row of the file
	filled []bool   // by side: it has cells in that row
	last   []uint32 // by side: the last row that may match the current row, or noRef
	key    joinKey  // of the current row
	batch  *batch
	first  int64        // row of the origin that has number 0
	parts  *partition   // of the spilled sides; nil: none
	loaded *loaded      // rows of the spilled sides that the current rows can match
	counts []Match      // by side, not yet added to it
	pool   *pool[*join] // joins chunks in parallel; nil: this join does all
}

func (f *folder) newJoin(origin int) *join {
	n := len(f.plan.inputs)
	cells := make([][]byte, len(f.plan.columns[0]))
	for i, cell := range f.plan.fixed {
		cells[i] = cell // no input shows a column there
	}
	return &join{
		folder: f, inputs: f.plan.inputs, origin: origin, keyer: newKeyer(f.plan.comparisons), out: &out{w: f.w},
		cells: cells, filled: make([]bool, n), last: make([]uint32, n), batch: newBatch(n), counts: make([]Match, n),
	}
}

// fewChunks are joined by one goroutine: most datasets have one chunk.
const fewChunks = 2

// isParallel tells whether chunks can be joined in parallel: no side is merged, and no side
// records which of its rows have a match.
func (j *join) isParallel(chunks int64) bool {
	return chunks > fewChunks && !j.plan.hasFull() &&
		!slices.ContainsFunc(j.sides[1:], func(s *side) bool { return s.sorted != nil })
}

// addChunks joins the rows of the chunks [from, to) of the origin. It numbers the rows from 0.
func (j *join) addChunks(from, to int64) (err error) {
	if j.pool == nil && j.isParallel(to-from) {
		if err := j.out.write(); err != nil {
			return err
		}
		j.pool = newPool(func() *join { return j.newJoin(j.origin) })
	}
	if j.pool != nil {
		defer func() {
			if first := j.pool.wait(); first != nil {
				err = first
			}
		}()
	}
	in, number := j.inputs[j.origin], int64(0)
	for c, err := range in.chunks(in.all, from) {
		if err != nil {
			return err
		}
		if more, err := j.addChunk(c, number); !more || err != nil {
			return err
		}
		number += int64(c.Rows())
		if from++; from == to {
			break
		}
	}
	return nil
}

// addChunk joins the rows of a chunk. The first row has this number. False means that the pool
// has failed.
func (j *join) addChunk(c *dataset.Chunk, number int64) (more bool, err error) {
	for from := 0; from < c.Rows(); {
		to := c.Rows()
		if j.parts != nil {
			rows, err := j.parts.load(number + int64(from))
			if err != nil {
				return false, err
			}
			to = from + int(min(int64(to-from), rows))
		}
		if j.pool == nil {
			if err := j.addRows(c, from, to, number); err != nil {
				return false, err
			}
		} else if !j.addParallel(c, from, to, number) {
			return false, nil
		}
		from = to
	}
	return true, nil
}

// addParallel joins rows of a chunk in the pool.
func (j *join) addParallel(c *dataset.Chunk, from, to int, number int64) bool {
	loaded := j.loaded
	loaded.begin()
	return j.pool.do(func(w *join, turn func() error) error {
		defer loaded.end()
		w.loaded, w.out.turn = loaded, turn
		return w.out.flush(w.addRows(c, from, to, number))
	})
}

// addRows joins the rows [from, end) of a chunk. The first row of the chunk has this number.
func (j *join) addRows(c *dataset.Chunk, from, end int, number int64) error {
	defer j.flushCounts()
	in, b := j.inputs[j.origin], j.batch
	for from < end {
		to := min(from+batchRows, end)
		if len(j.inputs) > 1 {
			b.read(j.keyer, c, from, to, in.keys)
			if err := j.find(number + int64(from)); err != nil {
				return err
			}
		}
		for row := from; row < to; row++ {
			if j.origin > 0 && j.sides[j.origin].matched.has(j.first+number+int64(row)) {
				continue
			}
			in.fillFrom(j.cells, c, row, true)
			if err := j.addRow(c, row, row-from); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}

// addRow joins row i of the batch. Its cells are filled.
func (j *join) addRow(c *dataset.Chunk, row, i int) error {
	if len(j.inputs) == 1 {
		return j.out.add(0, j.cells)
	}
	j.key = j.batch.keys[i]
	for n := j.origin + 1; n < len(j.inputs); n++ {
		s := j.sides[n]
		j.last[n] = j.batch.last[n][i]
		if s.sorted != nil {
			found, err := s.sorted.find(c.Cell(j.inputs[0].keys[0].number, row))
			if err != nil {
				return err
			}
			if j.last[n] = noRef; found {
				j.last[n] = 0
			}
		}
		if j.origin == 0 {
			if err := j.count(n); err != nil {
				return err
			}
		}
	}
	for n := j.origin + 1; n < len(j.inputs); n++ {
		if drop, err := j.match(n); drop || err != nil {
			return err
		}
	}
	return j.product(j.origin + 1)
}

// addRest joins the rows of a full side that have no match. They can match rows of the sides
// after it.
func (j *join) addRest(a *arena) error {
	in := j.inputs[j.origin]
rows:
	for _, r := range a.all {
		if r.has(flagMatched) {
			continue
		}
		in.fill(j.cells, r.row(), true)
		j.key = r.key()
		for n := j.origin + 1; n < len(j.inputs); n++ {
			if j.last[n] = noRef; !r.has(flagNoKey) {
				j.last[n] = j.sides[n].table.find(j.key)
			}
			if drop, err := j.match(n); err != nil {
				return err
			} else if drop {
				continue rows
			}
		}
		if err := j.product(j.origin + 1); err != nil {
			return err
		}
	}
	return nil
}

// match records that the rows of side n that the current row found have a match. It tells
// whether the current row is dropped because an inner side has no match for it.
func (j *join) match(n int) (drop bool, err error) {
	s := j.sides[n]
	switch {
	case j.last[n] == noRef:
		return s.in.kind == report.Inner, nil
	case s.in.kind != report.Full:
	case s.spilled:
		return false, j.loaded.parts[n].each(j.last[n], j.key, func(r record) error {
			s.matched.set(r.number())
			return nil
		})
	default:
		for r := s.arena.at(j.last[n]); !r.has(flagMatched); r = s.arena.at(r.link()) {
			r.setFlag(flagMatched)
		}
	}
	return false, nil
}

// product writes every combination of the rows that the current row found in the sides from n
// on.
func (j *join) product(n int) error {
	for ; n < len(j.inputs) && j.last[n] == noRef; n++ {
		if j.filled[n] {
			j.inputs[n].clear(j.cells)
			j.filled[n] = false
		}
	}
	if n == len(j.inputs) {
		return j.out.add(j.origin, j.cells)
	}
	j.filled[n] = true
	switch s := j.sides[n]; {
	case s.sorted != nil:
		for _, at := range s.sorted.found {
			s.in.fillFrom(j.cells, at.chunk, at.row, false)
			if err := j.product(n + 1); err != nil {
				return err
			}
		}
		return nil
	case s.spilled:
		return j.loaded.parts[n].each(j.last[n], j.key, func(r record) error {
			s.in.fill(j.cells, r.cells(), false)
			return j.product(n + 1)
		})
	default:
		return s.arena.ring(j.last[n], func(r record) error {
			s.in.fill(j.cells, r.row(), false)
			return j.product(n + 1)
		})
	}
}

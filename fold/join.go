package fold

import (
	"slices"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// side is a dataset in which a join looks rows up. It is held in memory, sorted or spilled.
type side struct {
	in *input

	arena *arena // held: all of its rows
	table *hashtable

	sorted *group

	spilled bool
	met     bitset // which of its rows have met one; only of a full one
}

// join puts rows together as A JOIN B USING (keys) JOIN C USING (keys) … does. It is given
// the rows of one input, the origin, one by one. The inputs after it are its sides.
type join struct {
	*folder
	inputs []*input
	origin int
	keyer  *keyer
	out    *out
	cells  [][]byte // of the current row of the file
	filled []bool   // which sides have cells in it
	last   []uint32 // for each side, its last row that may meet the current one, or noRef
	key    joinKey  // of the current row
	batch  *batch
	first  int64        // row of the origin: number 0
	parts  *partition   // of the sides that are spilled; nil: none is
	loaded *loaded      // of them, what the current rows can meet
	crew   *crew[*join] // joins chunks side by side; nil: this one does
}

// batch has the keys of some rows of the origin, and what they find.
type batch struct {
	keys  []joinKey // up to batchRows
	known []bool
	texts []byte     // of the keys, never nil
	last  [][]uint32 // for each side
}

func newBatch(sides int) *batch {
	b := &batch{
		keys: make([]joinKey, 0, batchRows), known: make([]bool, 0, batchRows), texts: []byte{}, last: make([][]uint32, sides),
	}
	for n := range b.last {
		b.last[n] = make([]uint32, batchRows)
	}
	return b
}

func (b *batch) reset() { b.keys, b.known, b.texts = b.keys[:0], b.known[:0], b.texts[:0] }

func (b *batch) add(k joinKey, known bool) {
	if k.text != nil {
		at := len(b.texts)
		b.texts = append(b.texts, k.text...)
		k.text = b.texts[at:]
	}
	b.keys, b.known = append(b.keys, k), append(b.known, known)
}

// read puts the keys of rows of a chunk into the batch.
func (b *batch) read(k *keyer, c *dataset.Chunk, from, to int, keys []int) {
	b.reset()
	for row := from; row < to; row++ {
		b.add(k.find(c, row, keys))
	}
}

func (f *folder) newJoin(origin int) *join {
	n := len(f.plan.inputs)
	return &join{
		folder: f, inputs: f.plan.inputs, origin: origin, keyer: newKeyer(f.plan.comparisons), out: newOut(f.w),
		cells: make([][]byte, len(f.plan.columns[0])), filled: make([]bool, n), last: make([]uint32, n), batch: newBatch(n),
	}
}

// fewChunks are joined by one goroutine: most datasets have one.
const fewChunks = 2

// sideBySide tells whether chunks can be joined at the same time: no side is merged, and none
// notes which of its rows have met one.
func (j *join) sideBySide(chunks int64) bool {
	return chunks > fewChunks && !j.plan.hasFull() && !slices.ContainsFunc(j.sides[1:], func(s *side) bool { return s.sorted != nil })
}

// addChunks joins the rows of chunks of the origin, from one up to another. Their numbers
// count from 0.
func (j *join) addChunks(from, to int64) (err error) {
	if j.crew == nil && j.sideBySide(to-from) {
		if err := j.out.write(); err != nil {
			return err
		}
		j.crew = newCrew(func() *join { return j.newJoin(j.origin) })
	}
	if j.crew != nil {
		defer func() {
			if first := j.crew.wait(); first != nil {
				err = first
			}
		}()
	}
	in, number := j.inputs[j.origin], int64(0)
	for c, err := range in.chunks(in.all, from) {
		if err != nil {
			return err
		}
		if goOn, err := j.addChunk(c, number); !goOn || err != nil {
			return err
		}
		number += int64(c.Rows())
		if from++; from == to {
			break
		}
	}
	return nil
}

// addChunk joins the rows of a chunk, the first of which has this number. False means that the
// crew has failed.
func (j *join) addChunk(c *dataset.Chunk, number int64) (goOn bool, err error) {
	for from := 0; from < c.Rows(); {
		to := c.Rows()
		if j.parts != nil {
			rows, err := j.parts.load(number + int64(from))
			if err != nil {
				return false, err
			}
			to = from + int(min(int64(to-from), rows))
		}
		if j.crew == nil {
			if err := j.addRows(c, from, to, number); err != nil {
				return false, err
			}
		} else if !j.addBeside(c, from, to, number) {
			return false, nil
		}
		from = to
	}
	return true, nil
}

// addBeside has the crew join rows of a chunk.
func (j *join) addBeside(c *dataset.Chunk, from, to int, number int64) bool {
	loaded := j.loaded
	loaded.begin()
	return j.crew.do(func(w *join, turn func() error) error {
		defer loaded.end()
		w.loaded, w.out.turn = loaded, turn
		return w.out.flush(w.addRows(c, from, to, number))
	})
}

// addRows joins some rows of a chunk, the first of which has this number.
func (j *join) addRows(c *dataset.Chunk, from, end int, number int64) error {
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
			if j.origin > 0 && j.sides[j.origin].met.has(j.first+number+int64(row)) {
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

// find looks the keys of the batch up, whose first row has this number.
func (j *join) find(number int64) error {
	b := j.batch
	for n := j.origin + 1; n < len(j.inputs); n++ {
		switch s := j.sides[n]; {
		case s.table != nil:
			s.table.findAll(b.keys, b.known, b.last[n])
		case s.spilled:
			if err := j.loaded.parts[n].findAll(b, number, b.last[n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// addRow joins row i of the batch, whose cells are filled.
func (j *join) addRow(c *dataset.Chunk, row, i int) error {
	if len(j.inputs) == 1 {
		return j.out.add(0, j.cells)
	}
	j.key = j.batch.keys[i]
	for n := j.origin + 1; n < len(j.inputs); n++ {
		s := j.sides[n]
		j.last[n] = j.batch.last[n][i]
		if s.sorted != nil {
			found, err := s.sorted.find(c.Cell(j.inputs[0].keys[0], row))
			if err != nil {
				return err
			}
			if j.last[n] = noRef; found {
				j.last[n] = 0
			}
		}
		if drop, err := j.met(n); drop || err != nil {
			return err
		}
	}
	return j.product(j.origin + 1)
}

// addRest joins the rows of a full side that have met none. They can meet rows of the sides
// after it.
func (j *join) addRest(a *arena) error {
	in := j.inputs[j.origin]
rows:
	for _, r := range a.all {
		if r.has(flagMet) {
			continue
		}
		in.fill(j.cells, r.row(), true)
		j.key = r.key()
		for n := j.origin + 1; n < len(j.inputs); n++ {
			if j.last[n] = noRef; !r.has(flagNoKey) {
				j.last[n] = j.sides[n].table.find(j.key)
			}
			if drop, err := j.met(n); err != nil {
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

// met notes that the rows of a side that the current one has found have met one, and tells
// whether the current one is dropped because it has found none.
func (j *join) met(n int) (drop bool, err error) {
	s := j.sides[n]
	switch {
	case j.last[n] == noRef:
		return s.in.kind == report.Inner, nil
	case s.in.kind != report.Full:
	case s.spilled:
		return false, j.loaded.parts[n].each(j.last[n], j.key, func(r record) error {
			s.met.set(r.number())
			return nil
		})
	default:
		for r := s.arena.at(j.last[n]); !r.has(flagMet); r = s.arena.at(r.link()) {
			r.setFlag(flagMet)
		}
	}
	return false, nil
}

// product writes every combination of the rows of the sides from n on that the current row
// has found.
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
			s.in.fill(j.cells, r.cells(s.in), false)
			return j.product(n + 1)
		})
	default:
		return s.arena.ring(j.last[n], func(r record) error {
			s.in.fill(j.cells, r.row(), false)
			return j.product(n + 1)
		})
	}
}

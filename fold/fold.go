package fold

import (
	"math"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// Dataset is the result of one listener. It is safe for concurrent use.
type Dataset interface {
	// Columns returns the columns of every chunk.
	Columns() []dataset.Column
	// Rows returns the number of rows in all chunks. It may be an estimate.
	Rows() int64
	// Chunks returns the number of chunks.
	Chunks() int64
	// Chunk reads chunk n, counted from 0, with only these columns, in this order. The chunk
	// stays valid.
	Chunk(n int64, columns []int) (*dataset.Chunk, error)
}

// Writer writes the file. An error ends the fold.
type Writer interface {
	// AppendRow appends a row in the format of the file. It takes one cell for every column of
	// the file: the JSON of a value of Plan.Columns()[origin], or nil for NULL. The cells are
	// valid until it returns. It is safe for concurrent use.
	AppendRow(dst []byte, origin int, cells [][]byte) ([]byte, error)
	// Buffer returns an empty buffer for AppendRow. It is safe for concurrent use.
	Buffer() []byte
	// WriteRows writes rows that AppendRow returned, in the order of the file; count is their
	// number. It keeps the buffer, and returns an empty one or nil. It is used by one goroutine
	// at a time.
	WriteRows(rows []byte, count int64) (empty []byte, err error)
}

// Budget limits the memory of a fold.
type Budget struct {
	// Maximum bytes of rows in memory, of all datasets together; 0 is no limit. A fold uses a
	// few MB more, and a row is never split.
	Bytes int64
	// Scratch creates a file. It is called at most once, if Bytes is not enough; the fold
	// closes the file.
	Scratch func() (Scratch, error)
}

// spillBytes is the minimum budget of a spilled join, even if the datasets in memory have used
// more of the budget.
const spillBytes = 4 << 20

// Fold joins the datasets and passes the rows to w. It reads all datasets but the first of the
// join into memory. Those that exceed the budget are merged if they and the first one are
// sorted by the key; otherwise their rows go through a scratch file. The first error of a
// dataset, of the scratch file or of w ends the fold and is returned, wrapped. It returns a Match for
// every dataset after the first; the budget does not change them.
func (p *Plan) Fold(w Writer, b Budget) ([]Match, error) {
	if p.query != nil {
		return nil, p.rowsOfSelect(w, b)
	}
	if b.Bytes == 0 {
		b.Bytes = math.MaxInt64
	}
	f := &folder{
		plan: p, w: w, left: b.Bytes, minBytes: min(b.Bytes, spillBytes),
		scratch: &scratch{create: b.Scratch}, sides: make([]*side, len(p.inputs)), keyer: newKeyer(p.comparisons),
	}
	defer f.close()
	if err := f.readSides(); err != nil {
		return nil, err
	}
	for n, in := range p.inputs {
		if !in.isOrigin(n) {
			continue
		}
		if err := f.addRowsOf(n); err != nil {
			return nil, err
		}
	}
	return f.counted(), nil
}

// folder is one run of Fold.
type folder struct {
	plan     *Plan
	w        Writer
	left     int64 // of the budget
	minBytes int64 // budget of a spilled join
	scratch  *scratch
	sides    []*side // by input; the first one is nil
	keyer    *keyer
	buffer   record
}

func (f *folder) close() {
	for _, s := range f.sides {
		switch {
		case s == nil:
		case s.sorted != nil:
			s.sorted.rows.close()
		case s.arena != nil:
			s.arena.close()
		}
	}
	f.scratch.Close()
}

// readSides reads the datasets of all sides into memory. Those that do not fit are sorted or
// spilled.
func (f *folder) readSides() error {
	var large []int
	for n, in := range f.plan.inputs {
		if n == 0 {
			continue
		}
		f.sides[n] = &side{in: in, arena: &arena{}}
		all, err := f.readSide(f.sides[n])
		if err != nil {
			return err
		}
		if all {
			f.left -= f.sides[n].arena.used()
		} else {
			f.sides[n].arena = nil
			large = append(large, n)
		}
	}
	if len(large) > 0 {
		sorted, err := f.areSorted(large)
		if err != nil {
			return err
		}
		for n, s := range f.sides {
			switch {
			case n == 0:
			case s.arena == nil && sorted:
				s.sorted = &group{in: s.in, rows: s.in.read(s.in.all, 0)}
			case s.arena == nil:
				s.spilled = true
			case s.in.kind == report.Full:
				// Its rows without a match are joined with the spilled sides, too.
				f.left += s.arena.used()
				s.arena, s.spilled = nil, true
			}
		}
	}
	for _, s := range f.sides[1:] {
		if s.arena != nil {
			s.table, s.seen = newHashtable(s.arena), newMarks(s.arena.refs())
		}
	}
	return nil
}

// readSide reads a dataset into memory. It returns false as soon as the rows exceed the rest of
// the budget.
func (f *folder) readSide(s *side) (bool, error) {
	for c, err := range s.in.chunks(s.in.all, 0) {
		if err != nil {
			return false, err
		}
		for row := range c.Rows() {
			k, hasKey := f.keyer.find(c, row, s.in.keys)
			if !hasKey && s.in.kind != report.Full {
				continue // it matches no row
			}
			f.buffer = s.in.appendCells(beginRecord(f.buffer[:0], k, hasKey), c, row)
			if f.buffer, err = endRecord(f.buffer); err == nil {
				err = s.arena.add(f.buffer)
			}
			if err != nil {
				return false, s.in.failed(err)
			}
		}
		if s.arena.used() > f.left {
			return false, nil
		}
	}
	return true, nil
}

// addRowsOf joins the rows of an input with those of the inputs after it: all rows of the
// first input, and those without a match of any other.
func (f *folder) addRowsOf(origin int) error {
	j := f.newJoin(origin)
	if origin > 0 && f.sides[origin].arena != nil {
		return j.out.flush(j.addRest(f.sides[origin].arena))
	}
	for _, s := range f.sides[origin+1:] {
		if s.spilled {
			return j.out.flush(f.addSpilled(j))
		}
	}
	return j.out.flush(j.addChunks(0, f.plan.inputs[origin].dataset.Chunks()))
}

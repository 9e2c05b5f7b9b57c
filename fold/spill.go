package fold

import (
	"encoding/binary"
	"sync"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// ways is how many parts rows are divided into. Each of them has a buffer of blockBytes for
// every side.
const ways = 64

// addSpilled joins the rows of an origin with sides that do not fit into memory. It numbers
// the rows of the origin and makes an index of their keys. Of each side the rows that
// the index knows go to a scratch file, in parts: by the number of the row that they meet.
// Then the rows of the origin are read again, part by part, and meet those of the sides. So
// the rows of the file come in their order, and what is in the scratch file is read once.
//
// An origin for whose index there is no memory is joined in several passes, each of which
// reads the sides.
func (f *folder) addSpilled(j *join) error {
	for from := int64(0); ; {
		x, to, rows, err := j.index(from)
		if rows == 0 || err != nil {
			return err
		}
		if j.parts, err = j.divide(x, rows); err != nil {
			return err
		}
		if err := j.addChunks(from, to); err != nil {
			return err
		}
		from, j.first = to, j.first+rows
	}
}

// partition is the rows of the spilled sides that can meet some rows of the origin.
type partition struct {
	j    *join
	left []numbered // not yet in memory, in reverse order
	end  int64      // the number behind those whose rows are in memory
	last *loaded    // before those
}

// loaded is the parts of the sides that some rows of the origin can meet. Goroutines may use it
// while the next one is loaded.
type loaded struct {
	parts []*part // by input; nil where it is not spilled
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

// numbered is the rows that can meet rows with some numbers: for each input a run, nil where
// it is not spilled.
type numbered struct {
	from, to int64
	runs     []*run
}

// divide divides the rows of the sides that the index knows.
func (j *join) divide(x *index, rows int64) (*partition, error) {
	p := &partition{j: j}
	parts := p.split(numbered{from: 0, to: rows})
	size := parts[0].to
	for n := j.origin + 1; n < len(j.inputs); n++ {
		if !j.sides[n].spilled {
			continue
		}
		if err := p.divideSide(n, x, func(number uint32) *run { return parts[int64(number)/size].runs[n] }); err != nil {
			return nil, err
		}
	}
	p.push(parts)
	return p, nil
}

// divideSide gives the rows of a side to the runs of their numbers. Rows of several chunks are
// looked up side by side, and added in order.
func (p *partition) divideSide(n int, x *index, to func(number uint32) *run) error {
	in, number, failed := p.j.inputs[n], int64(0), error(nil)
	lookers := newCrew(func() *looker { return &looker{in, x, newKeyer(p.j.plan.comparisons), newBatch(0), nil} })
	for c, err := range in.chunks(in.all, 0) {
		first := number
		if failed = err; failed != nil || !lookers.do(func(l *looker, turn func() error) error {
			if err := l.look(c, first); err != nil {
				return err
			}
			if err := turn(); err != nil {
				return err
			}
			return eachRecord(l.found, func(r record) error {
				for at := r.link() + 1; at != 0; at = x.next(at) {
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
		number += int64(c.Rows())
	}
	if err := lookers.wait(); err != nil {
		return err
	}
	return failed
}

// looker looks rows of a side up in an index.
type looker struct {
	in    *input
	index *index
	keyer *keyer
	batch *batch
	found []byte // records of the rows that were found, each linked to the last of its numbers
}

// look finds rows of a chunk, the first of which has this number.
func (l *looker) look(c *dataset.Chunk, number int64) error {
	var last [batchRows]uint32
	var r record
	l.found = l.found[:0]
	for from := 0; from < c.Rows(); from += batchRows {
		l.batch.read(l.keyer, c, from, min(from+batchRows, c.Rows()), l.in.keys)
		l.index.findAll(l.batch, &last)
		for i, k := range l.batch.keys {
			if last[i] == 0 {
				continue
			}
			r = beginRecord(r[:0], k, true)
			if l.in.kind == report.Full {
				r = binary.LittleEndian.AppendUint64(r, uint64(number+int64(from+i)))
			}
			var err error
			if r, err = endRecord(l.in.appendCells(r, c, from+i)); err != nil {
				return l.in.failed(err)
			}
			r.setLink(last[i] - 1)
			l.found = appendPadded(l.found, r)
		}
	}
	return nil
}

// split returns the parts of a range of numbers, without rows.
func (p *partition) split(r numbered) []numbered {
	j := p.j
	var parts []numbered
	size := (r.to - r.from + ways - 1) / ways
	for from := r.from; from < r.to; from += size {
		part := numbered{from: from, to: min(from+size, r.to), runs: make([]*run, len(j.inputs))}
		for n := j.origin + 1; n < len(j.inputs); n++ {
			if j.sides[n].spilled {
				part.runs[n] = &run{scratch: j.scratch}
			}
		}
		parts = append(parts, part)
	}
	return parts
}

// push puts parts before those that are left.
func (p *partition) push(parts []numbered) {
	for i := range parts {
		p.left = append(p.left, parts[len(parts)-1-i])
	}
}

// load makes the rows available that can meet the row of this number, and returns for how
// many rows from this one on that is so.
func (p *partition) load(number int64) (int64, error) {
	for number >= p.end {
		next := p.left[len(p.left)-1]
		p.left = p.left[:len(p.left)-1]
		if !p.fits(next) && next.to-next.from > 1 {
			parts, err := p.divideAgain(next)
			if err != nil {
				return 0, err
			}
			p.push(parts)
			continue
		}
		if err := p.loadSides(next); err != nil {
			return 0, err
		}
		p.end = next.to
	}
	return p.end - number, nil
}

// share is the memory for what is loaded: half, since the rows that were loaded before may be
// in use.
func (p *partition) share() int64 { return max(p.j.left, p.j.minBytes) / 2 }

// fits tells whether there is memory for the rows of a part.
func (p *partition) fits(r numbered) bool {
	bytes := int64(0)
	for _, run := range r.runs {
		if run != nil {
			bytes += run.bytes + 4*(r.to-r.from)
		}
	}
	return bytes <= p.share()
}

// divideAgain divides the rows of a part once more.
func (p *partition) divideAgain(r numbered) ([]numbered, error) {
	parts := p.split(r)
	size := parts[0].to - parts[0].from
	for n, from := range r.runs {
		if from == nil {
			continue
		}
		if err := from.all(func(next record) error {
			return parts[(int64(next.link())-r.from)/size].runs[n].add(next)
		}); err != nil {
			return nil, err
		}
		from.free()
	}
	return parts, nil
}

// loadSides reads the rows of a part into memory. Those of one number for which there is
// no memory stay in the scratch file.
func (p *partition) loadSides(r numbered) error {
	j, share := p.j, p.share()
	if !p.fits(r) {
		share /= int64(len(r.runs))
	}
	if p.last != nil {
		p.last.users.Wait()
	}
	p.last, j.loaded = j.loaded, &loaded{parts: make([]*part, len(r.runs))}
	for n, run := range r.runs {
		if run == nil {
			continue
		}
		part := &part{from: r.from, run: run}
		j.loaded.parts[n] = part
		if run.bytes > share {
			continue
		}
		var err error
		if part.arena, err = run.load(j.sides[n].in); err != nil {
			return err
		}
		part.run = nil
		part.link(int(r.to - r.from))
	}
	return nil
}

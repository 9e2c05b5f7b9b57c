package fold

import (
	"encoding/binary"
	"sync"

	"github.com/fanfold/fanfold/dataset"
)

// splitParts is the number of parts that rows are partitioned into. Every part has a buffer of
// blockBytes per side.
const splitParts = 64

// addSpilled joins the rows of an origin with sides that do not fit into memory. It numbers the
// rows of the origin and indexes their keys. The rows of the sides that the index finds go to a
// scratch file, partitioned by the number of the row that they match. Then it reads the rows of
// the origin again, part by part, and joins them with the rows of the sides. So the rows of the
// file are in order, and the scratch file is read once.
//
// If the index of an origin exceeds the budget, the origin is joined in several passes, and every
// pass reads the sides.
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

// partition holds the rows of the spilled sides that can match the rows of one pass.
type partition struct {
	j      *join
	stored []storedPart // parts not yet in memory, in reverse order
	end    int64        // number after those whose rows are in memory
	last   *loaded      // loaded before those
}

// loaded holds the parts of the sides that some rows of the origin can match. Goroutines may use
// it while the next one is loaded.
type loaded struct {
	parts []*part // by input; nil: not spilled
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
	runs     []*run // by input; nil: not spilled
}

// divide partitions the rows of the sides that the index finds.
func (j *join) divide(x *index, rows int64) (*partition, error) {
	p := &partition{j: j}
	parts := p.split(storedPart{from: 0, to: rows})
	size := parts[0].to
	for n := j.origin + 1; n < len(j.inputs); n++ {
		if !j.sides[n].spilled {
			continue
		}
		if err := p.partitionSide(n, x,
			func(number uint32) *run { return parts[int64(number)/size].runs[n] }); err != nil {
			return nil, err
		}
	}
	p.push(parts)
	return p, nil
}

// partitionSide adds the rows of a side to the runs of their numbers. It looks up the rows of
// several chunks in parallel, and adds them in order.
func (p *partition) partitionSide(n int, x *index, to func(number uint32) *run) error {
	in, number, failed := p.j.inputs[n], int64(0), error(nil)
	probers := newPool(func() *prober { return &prober{in, x, newKeyer(p.j.plan.comparisons), newBatch(0), nil} })
	for c, err := range in.chunks(in.all, 0) {
		first := number
		if failed = err; failed != nil || !probers.do(func(l *prober, turn func() error) error {
			if err := l.probe(c, first); err != nil {
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
	if err := probers.wait(); err != nil {
		return err
	}
	if s := p.j.sides[n]; s.seen == nil {
		if s.seen = newMarks(number); in.isOrigin(n) {
			s.matched = newMarks(number)
		}
	}
	return failed
}

// prober looks up rows of a side in an index.
type prober struct {
	in    *input
	index *index
	keyer *keyer
	batch *batch
	found []byte // records of the rows that the index finds, linked to the last of their numbers
}

// probe looks up the rows of a chunk. The first row has this number.
func (l *prober) probe(c *dataset.Chunk, number int64) error {
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
			r = binary.LittleEndian.AppendUint64(beginRecord(r[:0], k, true), uint64(number+int64(from+i)))
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

// split splits the range of a part into empty parts.
func (p *partition) split(r storedPart) []storedPart {
	j := p.j
	var parts []storedPart
	size := (r.to - r.from + splitParts - 1) / splitParts
	for from := r.from; from < r.to; from += size {
		part := storedPart{from: from, to: min(from+size, r.to), runs: make([]*run, len(j.inputs))}
		for n := j.origin + 1; n < len(j.inputs); n++ {
			if j.sides[n].spilled {
				part.runs[n] = &run{scratch: j.scratch}
			}
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
func (p *partition) load(number int64) (int64, error) {
	for number >= p.end {
		next := p.stored[len(p.stored)-1]
		p.stored = p.stored[:len(p.stored)-1]
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
		p.end = next.to
	}
	return p.end - number, nil
}

// share returns the budget of a loaded part: half of the memory, because the previous part may
// still be in use.
func (p *partition) share() int64 { return max(p.j.left, p.j.minBytes) / 2 }

// fits tells whether the rows of a part fit into the budget.
func (p *partition) fits(r storedPart) bool {
	bytes := int64(0)
	for _, run := range r.runs {
		if run != nil {
			bytes += run.bytes + 4*(r.to-r.from)
		}
	}
	return bytes <= p.share()
}

// splitAgain partitions the rows of a part once more.
func (p *partition) splitAgain(r storedPart) ([]storedPart, error) {
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

// loadSides reads the rows of a part into memory. If too many rows can match a single row, they
// stay in the scratch file.
func (p *partition) loadSides(r storedPart) error {
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

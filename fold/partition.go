package fold

import "math"

// partition is the rows of the spilled sides that can meet some rows of the origin.
type partition struct {
	left []numbered // in reverse order
	end  int64      // the number behind those whose rows are in memory
}

// numbered is the rows that can meet rows with some numbers: for each input a run, nil where
// it is not spilled.
type numbered struct {
	from, to int64
	runs     []*run
}

// split returns the parts of a range of numbers, without rows.
func (j *join) split(r numbered) []numbered {
	var parts []numbered
	size := (r.to - r.from + ways - 1) / ways
	for from := r.from; from < r.to; from += size {
		p := numbered{from: from, to: min(from+size, r.to), runs: make([]*run, len(j.inputs))}
		for n := j.origin + 1; n < len(j.inputs); n++ {
			if j.sides[n].spilled {
				p.runs[n] = &run{scratch: j.scratch}
			}
		}
		parts = append(parts, p)
	}
	return parts
}

func newPartition(parts []numbered) partition {
	p := partition{}
	for i := range parts {
		p.left = append(p.left, parts[len(parts)-1-i])
	}
	return p
}

// load makes the rows available that can meet the row of this number, and returns for how
// many rows from this one on that is so.
func (p *partition) load(j *join, number int64) (int64, error) {
	if p.left == nil && p.end == 0 {
		return math.MaxInt64, nil // nothing is spilled
	}
	for number >= p.end {
		next := p.left[len(p.left)-1]
		p.left = p.left[:len(p.left)-1]
		if !j.fits(next) && next.to-next.from > 1 {
			parts, err := j.divideAgain(next)
			if err != nil {
				return 0, err
			}
			p.left = append(p.left, newPartition(parts).left...)
			continue
		}
		if err := j.loadSides(next); err != nil {
			return 0, err
		}
		p.end = next.to
	}
	return p.end - number, nil
}

// fits tells whether there is memory for the rows of a part.
func (j *join) fits(r numbered) bool {
	bytes := int64(0)
	for _, run := range r.runs {
		if run != nil {
			bytes += run.bytes + 4*(r.to-r.from)
		}
	}
	return bytes <= max(j.left, j.minBytes)
}

// divideAgain divides the rows of a part once more.
func (j *join) divideAgain(r numbered) ([]numbered, error) {
	parts := j.split(r)
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
func (j *join) loadSides(r numbered) error {
	share := max(j.left, j.minBytes)
	if !j.fits(r) {
		share /= int64(len(r.runs))
	}
	for n, run := range r.runs {
		if run == nil {
			continue
		}
		s := j.sides[n]
		if s.part != nil && s.part.run != nil {
			s.part.run.free()
		}
		s.part = &part{from: r.from, run: run}
		if run.bytes > share {
			continue
		}
		var err error
		if s.part.arena, err = run.load(s.in); err != nil {
			return err
		}
		s.part.run = nil
		s.part.link(int(r.to - r.from))
	}
	return nil
}

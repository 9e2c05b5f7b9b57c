package fold

import (
	"io"
	"math"

	"github.com/fanfold/fanfold/report"
)

// divider divides rows into parts.
type divider struct {
	*spill
	level int
	rows  []int              // that were read, for each listener
	parts [ways][]*runWriter // for each part and listener
	alone []*runWriter       // the lines of rows without a key, for each listener
	join  *join              // makes them
}

func (s *spill) divide(level int) *divider {
	d := &divider{spill: s, level: level, rows: make([]int, len(s.inputs))}
	for i := range d.parts {
		for range s.inputs {
			d.parts[i] = append(d.parts[i], newRun(s.parts))
		}
	}
	sides := make([]*side, len(s.inputs))
	for n, in := range s.inputs {
		sides[n] = &side{kind: in.Kind}
		d.alone = append(d.alone, newRun(s.lines))
	}
	d.join = newJoin(sides, s.lineWriter(func(j *join) *runWriter { return d.alone[j.origin] }))
	return d
}

// read divides what is held of a listener, and then the rest of its dataset.
func (d *divider) read(n int, m *maker, in *input, h *held) error {
	add := func(r record) error {
		if d.rows[n] == math.MaxUint32 {
			return in.failed(errNumbers)
		}
		r.setLink(uint32(d.rows[n]))
		d.rows[n]++
		return d.add(n, r)
	}
	if h != nil {
		if err := h.all(func(_ uint32, r record) error { return add(r) }); err != nil {
			return err
		}
	}
	for {
		c, err := in.next()
		if err == io.EOF {
			return d.endOf(n)
		}
		if err != nil {
			return err
		}
		for row := range c.Rows() {
			r, err := m.record(n, in, c, row)
			if err != nil {
				return in.failed(err)
			}
			if err := add(r); err != nil {
				return err
			}
		}
	}
}

func (d *divider) add(n int, r record) error {
	k := r.key()
	if !r.has(flagNoKey) {
		return d.parts[k.hashAt(d.level)%ways][n].add(r)
	}
	if n > 0 && d.inputs[n].Kind != report.Full {
		return nil
	}
	return d.join.add(n, r.link(), r.row(), k, false)
}

// endOf ends the rows of a listener.
func (d *divider) endOf(n int) error {
	for _, p := range d.parts {
		if err := p[n].flush(); err != nil {
			return err
		}
	}
	return d.alone[n].flush()
}

// end returns the parts, and the lines that there are already.
func (d *divider) end() (parts []part, lines []*run) {
	for _, writers := range d.parts {
		p, rows := make(part, len(writers)), 0
		for n, w := range writers {
			p[n] = w.run
			rows += w.rows
		}
		if rows > 0 {
			parts = append(parts, p)
		}
	}
	for _, w := range d.alone {
		lines = append(lines, w.run)
	}
	return parts, lines
}

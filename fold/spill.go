package fold

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
	"golang.org/x/sync/errgroup"
)

// Room is what a Fold may use for datasets that are too large for its memory.
type Room struct {
	// Bytes that are held at once, of all datasets together; 0 is no limit. A fold
	// uses some MB more, and a row is never divided.
	Bytes int64
	// Scratch makes a file. It is called where Bytes are not enough; the fold closes
	// what it has got.
	Scratch func() (Scratch, error)
}

func (r Room) bytes() int64 {
	if r.Bytes == 0 {
		return math.MaxInt64
	}
	return r.Bytes
}

const (
	// ways is how many parts the rows are divided into. Each of them takes a buffer
	// of blockBytes.
	ways = 32
	// deepest is how often a part is divided. Only different texts with the same hash
	// of 64 bits would be together still.
	deepest = 12
)

// spill is a join of more rows than can be held: a Grace hash join. All rows, also
// those of the first listener, are divided by the hash of their key into parts that
// are joined one by one. So each line is made from the rows of one part. The lines
// have the number of the row that they come from, by which they are put in order in
// the end.
type spill struct {
	ctx    context.Context // ends with the first error
	layout *format.Layout
	inputs []*input
	bytes  int64    // that one part may hold
	parts  *scratch // of rows
	lines  *scratch
}

// part is a part of the rows: for each listener a run.
type part []*run

// spill joins what is held of the sides, and all that can still be read.
func (f *fold) spill(m *maker, inputs []*input, sides []*held, room Room) error {
	workers := min(2, runtime.GOMAXPROCS(0)) // parts that are joined at once
	group, ctx := errgroup.WithContext(context.Background())
	group.SetLimit(workers)
	s := &spill{ctx: ctx, layout: f.layout, inputs: inputs, bytes: room.Bytes / int64(workers)}
	for _, to := range []**scratch{&s.parts, &s.lines} {
		file, err := room.Scratch()
		if err != nil {
			return fmt.Errorf("fold: rows that are too many for memory: %w", err)
		}
		*to = &scratch{Scratch: file}
		defer (*to).Close()
	}
	d := s.divide(0)
	for i := range inputs {
		n := (i + 1) % len(inputs) // the first comes last, as it does without spilling
		if err := d.read(n, m, inputs[n], sides[n]); err != nil {
			return err
		}
		sides[n] = nil
	}
	parts, lines := d.end()
	var mutex sync.Mutex
	for _, p := range parts {
		group.Go(func() error {
			l, err := s.join(p, 1)
			mutex.Lock()
			defer mutex.Unlock()
			lines = append(lines, l)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	s.parts.Close() // its bytes are not needed any more
	return inOrder(lines, func(line record) error {
		f.out.Lines = append(f.out.Lines, line.row()...)
		return f.ended()
	})
}

// lineWriter makes an emit.
func (s *spill) lineWriter(to func(*join) *runWriter) func(*join) error {
	var line record
	return func(j *join) (err error) {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		line = beginRecord(line[:0], joinKey{word: uint64(j.origin)<<32 | uint64(j.number)}, true)
		line = s.layout.AppendLine(line, j.origin, j.rows)
		if line, err = endRecord(line); err != nil {
			return fmt.Errorf("fold: CSV output: %w", err)
		}
		return to(j).add(line)
	}
}

// join returns the lines of a part, in order.
func (s *spill) join(p part, level int) (*run, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	sides, ok := s.sides(p)
	if !ok {
		return s.joinDivided(p, level)
	}
	out := newRun(s.lines)
	for n, side := range sides[1:] {
		if err := side.load(s.inputs[n+1], p[n+1]); err != nil {
			return nil, err
		}
	}
	j := newJoin(sides, s.lineWriter(func(*join) *runWriter { return out }))
	if err := j.addAll(p[0]); err != nil {
		return nil, err
	}
	if err := j.finish(); err != nil {
		return nil, err
	}
	return out.run, out.flush()
}

// sides decides which runs of a part are held, and which are read again and again
// because all of their rows have the same key. False: the part must be divided.
func (s *spill) sides(p part) ([]*side, bool) {
	sides, bytes := make([]*side, len(p)), int64(0)
	for n, r := range p[1:] {
		sides[n+1] = &side{kind: s.inputs[n+1].Kind}
		if size := r.heldBytes(s.inputs[n+1].Kind); r.several || size <= s.bytes/int64(len(p)) {
			bytes += size
		} else {
			sides[n+1].run = r
		}
	}
	return sides, bytes <= s.bytes
}

// heldBytes is what a run takes in memory, with its table, and the numbers of its rows
// where the join is full.
func (r *run) heldBytes(kind report.JoinType) int64 {
	if r.rows == 0 {
		return 0
	}
	bytes := r.bytes + tableBytes(r.rows)
	if kind == report.Full {
		bytes += 4 * int64(r.rows)
	}
	return bytes
}

// load reads the rows that are to be held.
func (s *side) load(in *input, r *run) (err error) {
	if s.run != nil {
		return nil
	}
	if s.held, err = r.load(in); err != nil {
		return err
	}
	if s.kind == report.Full {
		s.numbers = make([]uint32, 0, r.rows)
		_ = s.held.all(func(_ uint32, r record) error {
			s.numbers = append(s.numbers, r.link())
			return nil
		})
	}
	s.table = newHashtable(s.held)
	return nil
}

// addAll joins the rows of a run of the first listener.
func (j *join) addAll(r *run) error {
	b := newBatch(len(j.sides))
	rows := make([]record, 0, batchRows)
	for c := r.cursor(); ; {
		if len(c.block) == 0 {
			if ok, err := c.more(); !ok {
				return err
			}
		}
		b.reset()
		for rows = rows[:0]; len(rows) < batchRows && len(c.block) > 0; {
			r, _ := c.next() // from this block
			rows = append(rows, r)
			b.add(r.key(), true)
		}
		j.find(b)
		for i, r := range rows {
			if err := j.addNext(b, i, r.link(), r.row()); err != nil {
				c.close()
				return err
			}
		}
	}
}

// joinDivided divides a part once more.
func (s *spill) joinDivided(p part, level int) (*run, error) {
	if level > deepest {
		return nil, fmt.Errorf("fold: rows of different keys that cannot be divided, and are more than %d bytes: raise limits.fold_bytes", s.bytes)
	}
	d := s.divide(level)
	for n, r := range p {
		if err := r.all(func(r record) error { return d.add(n, r) }); err != nil {
			return nil, err
		}
		if err := d.endOf(n); err != nil {
			return nil, err
		}
	}
	parts, lines := d.end()
	for _, p := range parts {
		l, err := s.join(p, level+1)
		if err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	out := newRun(s.lines)
	if err := inOrder(lines, out.add); err != nil {
		return nil, err
	}
	return out.run, out.flush()
}

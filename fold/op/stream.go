package op

import "slices"

// Lane takes the rows of one goroutine of a Join. Its End is not called.
type Lane interface {
	Output
	// Begin says that Add may keep rows until turn returns, which waits for those before them. Nil: it may not.
	Begin(turn func() error)
	// Flush passes on what Add has kept, and returns the first error: err belongs to a later row.
	Flush(err error) error
}

// Forker is an Output whose work several goroutines can share.
type Forker interface {
	Output
	// Fork returns a Lane for one more goroutine; nil: the work cannot be shared. It is called by one goroutine.
	Fork() Lane
}

// NewLane returns a Lane of an Output for one more goroutine. shared tells whether the Output is a Forker; otherwise,
// the rows of all lanes wait for their turn.
func NewLane(to Output) (lane Lane, shared bool) {
	if f, ok := to.(Forker); ok {
		if lane := f.Fork(); lane != nil {
			return lane, true
		}
	}
	return &Ordered{Output: to}, false
}

// forked returns a Lane whose rows pass an operator, which more returns for one more goroutine, before they reach a
// Lane of to.
func forked(to Output, more func(to Output) Output) Lane {
	lane, shared := NewLane(to)
	if !shared {
		return nil
	}
	return behind{more(lane), lane}
}

// behind is a Lane whose rows pass an operator first.
type behind struct {
	Output
	lane Lane
}

func (b behind) Begin(turn func() error) { b.lane.Begin(turn) }
func (b behind) Flush(err error) error   { return b.lane.Flush(err) }

// Filter passes the rows on for which a condition is true.
type Filter struct {
	Output
	keep   func() func(row Row) (bool, error)
	here   func(row Row) (bool, error) // nil before the first row
	passed int64
	lanes  []*Filter
}

// NewFilter returns a Filter. keep returns the condition for one more goroutine.
func NewFilter(to Output, keep func() func(row Row) (bool, error)) *Filter {
	return &Filter{Output: to, keep: keep}
}

// Add implements Output.
func (f *Filter) Add(row Row) error {
	if f.here == nil {
		f.here = f.keep()
	}
	keep, err := f.here(row)
	if err != nil || !keep {
		return err
	}
	f.passed++
	return f.Output.Add(row)
}

// Rows returns the number of rows that it and its lanes have passed on. No goroutine may use them.
func (f *Filter) Rows() int64 {
	rows := f.passed
	for _, lane := range f.lanes {
		rows += lane.Rows()
	}
	return rows
}

// Fork implements Forker.
func (f *Filter) Fork() Lane {
	return forked(f.Output, func(to Output) Output {
		lane := &Filter{Output: to, keep: f.keep, here: f.keep()}
		f.lanes = append(f.lanes, lane)
		return lane
	})
}

// Project makes other rows of rows.
type Project struct {
	Output
	cells func() func(into, row Row) error
	here  func(into, row Row) error // nil before the first row
	into  Row
}

// NewProject returns a Project whose rows have n cells. cells returns, for one more goroutine, what sets them.
func NewProject(to Output, n int, cells func() func(into, row Row) error) *Project {
	return &Project{Output: to, cells: cells, into: make(Row, n)}
}

// Add implements Output.
func (p *Project) Add(row Row) error {
	if p.here == nil {
		p.here = p.cells()
	}
	if err := p.here(p.into, row); err != nil {
		return err
	}
	return p.Output.Add(p.into)
}

// Fork implements Forker.
func (p *Project) Fork() Lane {
	return forked(p.Output, func(to Output) Output {
		return &Project{Output: to, cells: p.cells, here: p.cells(), into: make(Row, len(p.into))}
	})
}

// Limit passes a part of the rows on.
type Limit struct {
	To            Output
	Offset, Count int64
}

// Add implements Output.
func (l *Limit) Add(row Row) error {
	switch {
	case l.Count == 0:
		return ErrEnough
	case l.Offset > 0:
		l.Offset--
		return nil
	}
	if err := l.To.Add(row); err != nil {
		return err
	}
	if l.Count--; l.Count == 0 {
		return ErrEnough
	}
	return nil
}

// End implements Output.
func (l *Limit) End() error { return l.To.End() }

// Part is an input of a union: its end does not end the output.
type Part struct {
	Output
	Enough bool // the output needs no more
}

// Add implements Output.
func (p *Part) Add(row Row) error {
	err := p.Output.Add(row)
	p.Enough = p.Enough || err == ErrEnough
	return err
}

// End implements Output.
func (p *Part) End() error { return nil }

// Fork implements Forker. A Forker needs all rows.
func (p *Part) Fork() Lane {
	lane, shared := NewLane(p.Output)
	if !shared {
		return nil
	}
	return lane
}

// Ordered is a Lane that passes rows on, in the order of turns if several goroutines have one each.
type Ordered struct {
	Output
	turn func() error
	rows []byte
	row  Row
}

// waitingBytes is the maximum size of rows that wait for their turn.
const waitingBytes = 1 << 20

// Begin implements Lane.
func (o *Ordered) Begin(turn func() error) { o.turn = turn }

// Add takes a row.
func (o *Ordered) Add(row Row) error {
	if o.turn == nil {
		return o.Output.Add(row)
	}
	o.row = slices.Grow(o.row[:0], len(row))[:len(row)]
	if o.rows = AppendRow(o.rows, row); len(o.rows) < waitingBytes {
		return nil
	}
	return o.Flush(nil)
}

// Flush implements Lane.
func (o *Ordered) Flush(err error) error {
	if o.turn == nil {
		return err
	}
	if first := o.turn(); first != nil {
		return first
	}
	for rest := o.rows; len(rest) > 0; {
		for i := range o.row {
			o.row[i], rest = nextCell(rest)
		}
		if first := o.Output.Add(o.row); first != nil {
			return first
		}
	}
	o.rows = o.rows[:0]
	return err
}

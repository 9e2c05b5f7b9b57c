package op

import "slices"

// Filter passes the rows on for which a condition is true.
type Filter struct {
	To   Output
	Keep func(row Row) (bool, error)
}

// Add implements Output.
func (f *Filter) Add(row Row) error {
	keep, err := f.Keep(row)
	if err != nil || !keep {
		return err
	}
	return f.To.Add(row)
}

// End implements Output.
func (f *Filter) End() error { return f.To.End() }

// Project makes other rows of rows.
type Project struct {
	To Output
	// Make sets the cells of the new row.
	Make func(into, row Row) error
	into Row
}

// NewProject returns a Project whose rows have so many cells.
func NewProject(to Output, cells int, make_ func(into, row Row) error) *Project {
	return &Project{to, make_, make(Row, cells)}
}

// Add implements Output.
func (p *Project) Add(row Row) error {
	if err := p.Make(p.into, row); err != nil {
		return err
	}
	return p.To.Add(p.into)
}

// End implements Output.
func (p *Project) End() error { return p.To.End() }

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

// Ordered passes rows on, in the order of turns if several goroutines have one each.
type Ordered struct {
	To   Output
	turn func() error
	rows []byte
	row  Row
}

// waitingBytes is the maximum size of rows that wait for their turn.
const waitingBytes = 1 << 20

// Begin says that rows may be kept until turn returns.
func (o *Ordered) Begin(turn func() error) { o.turn = turn }

// Add takes a row.
func (o *Ordered) Add(row Row) error {
	if o.turn == nil {
		return o.To.Add(row)
	}
	o.row = slices.Grow(o.row[:0], len(row))[:len(row)]
	if o.rows = appendRow(o.rows, row); len(o.rows) < waitingBytes {
		return nil
	}
	return o.Flush(nil)
}

// Flush passes on the rows that were kept, and returns the first error: err belongs to a later row.
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
		if first := o.To.Add(o.row); first != nil {
			return first
		}
	}
	o.rows = o.rows[:0]
	return err
}

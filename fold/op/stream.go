package op

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
type Part struct{ Output }

// End implements Output.
func (Part) End() error { return nil }

// One makes one row of all rows, even of none.
type One struct {
	To    Output
	State State
}

// Add implements Output.
func (o *One) Add(row Row) error { return o.State.Add(row) }

// End implements Output.
func (o *One) End() error {
	row, err := o.State.Row()
	if err == nil {
		err = o.To.Add(row)
	}
	if err != nil && err != ErrEnough {
		return err
	}
	return o.To.End()
}

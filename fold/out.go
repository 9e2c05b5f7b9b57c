package fold

import "github.com/fanfold/fanfold/fold/op"

// out passes the rows of one goroutine on to the file, when they are worth a write and it is their turn.
type out struct {
	plan  *Plan
	w     Writer
	first *out         // its rows are written before those of this one; nil: it is the first
	cells [][]byte     // of a row of the file, if it is no row of the query
	turn  func() error // waits until rows can be written; nil: at once
	rows  []byte       // in the format of the file, not yet written; nil: no buffer
	ends  []int        // of the rows
}

var (
	_ op.Forker = (*out)(nil)
	_ op.Lane   = (*out)(nil)
)

const (
	outBytes     = 64 << 10 // size of a write
	waitingBytes = 1 << 20  // maximum bytes that wait for their turn
)

func (p *Plan) newOut(w Writer, first *out) *out {
	o := &out{plan: p, w: w, first: first}
	if p.shown != nil {
		o.cells = make([][]byte, len(p.columns))
	}
	for i, cell := range p.fixed {
		o.cells[i] = cell
	}
	return o
}

// Fork implements op.Forker.
func (o *out) Fork() op.Lane { return o.plan.newOut(o.w, o) }

// Begin implements op.Lane.
func (o *out) Begin(turn func() error) { o.turn = turn }

// Add implements op.Output.
func (o *out) Add(row op.Row) error {
	if o.plan.shown != nil {
		for i, from := range o.plan.shown {
			if from >= 0 {
				o.cells[i] = row[from]
			}
		}
		row = o.cells
	}
	if o.rows == nil {
		o.rows = o.w.Buffer()
	}
	rows, err := o.w.AppendRow(o.rows, row)
	if err != nil {
		return err
	}
	o.rows = rows
	o.ends = append(o.ends, len(rows))
	if len(rows) < outBytes || o.turn != nil && len(rows) < waitingBytes {
		return nil
	}
	return o.write()
}

// write writes the rows.
func (o *out) write() (err error) {
	if o.turn != nil {
		if err := o.turn(); err != nil {
			return err
		}
	}
	if o.first != nil && len(o.first.ends) > 0 {
		if err := o.first.write(); err != nil {
			return err
		}
	}
	o.rows, err = o.w.WriteRows(o.rows, o.ends)
	o.ends = o.ends[:0]
	return err
}

// Flush implements op.Lane.
func (o *out) Flush(err error) error {
	if first := o.write(); first != nil {
		return first
	}
	return err
}

// End implements op.Output.
func (o *out) End() error { return o.Flush(nil) }

package fold

import "github.com/fanfold/fanfold/fold/op"

// out has the rows that one goroutine makes until they are worth a write and it is their turn.
type out struct {
	plan  *Plan
	w     Writer
	cells [][]byte     // of a row of the file
	turn  func() error // waits until rows can be written; nil: at once
	rows  []byte       // in the format of the file, not yet written; nil: no buffer
	count int64
}

const (
	outBytes     = 64 << 10 // size of a write
	waitingBytes = 1 << 20  // maximum bytes that wait for their turn
)

func (p *Plan) newOut(w Writer) *out {
	o := &out{plan: p, w: w, cells: make([][]byte, len(p.columns[0]))}
	for i, cell := range p.fixed {
		o.cells[i] = cell
	}
	return o
}

// Begin implements op.Terms.
func (o *out) Begin(turn func() error) { o.turn = turn }

// Add implements op.Terms: it adds a row.
func (o *out) Add(origin int, row op.Row) error {
	for i, from := range o.plan.shown[origin] {
		if from >= 0 {
			o.cells[i] = row[from]
		}
	}
	if o.rows == nil {
		o.rows = o.w.Buffer()
	}
	rows, err := o.w.AppendRow(o.rows, origin, o.cells)
	if err != nil {
		return err
	}
	o.rows = rows
	o.count++
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
	o.rows, err = o.w.WriteRows(o.rows, o.count)
	o.count = 0
	return err
}

// Flush writes the buffered rows and returns the first error: err belongs to a later row.
func (o *out) Flush(err error) error {
	if first := o.write(); first != nil {
		return first
	}
	return err
}

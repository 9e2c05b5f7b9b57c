package fold

import "sync"

// out is the rows that one goroutine makes.
type out struct {
	w     Writer
	turn  func() error // waits until they can be written; nil: now
	rows  []byte       // as the file has them, not yet written
	count int64
}

const (
	outBytes     = 64 << 10 // are written at once
	waitingBytes = 1 << 20  // are the maximum of those that wait for their turn
)

var outBuffers = sync.Pool{New: func() any { return new(make([]byte, 0, outBytes+4<<10)) }}

func newOut(w Writer) *out { return &out{w: w, rows: *outBuffers.Get().(*[]byte)} }

// add adds a row.
func (o *out) add(origin int, cells [][]byte) error {
	rows, err := o.w.AppendRow(o.rows, origin, cells)
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

// flush writes the rows before an error, or all of them, and returns the first error.
func (o *out) flush(err error) error {
	if first := o.write(); first != nil {
		return first
	}
	return err
}

// end is flush, after which nothing is added.
func (o *out) end(err error) error {
	err = o.flush(err)
	if size := cap(o.rows); size >= outBytes && size <= 2*outBytes { // not what one long row has made
		outBuffers.Put(new(o.rows[:0]))
	}
	return err
}

package fold

// out has the rows that one goroutine makes until they are worth a write and it is their turn.
type out struct {
	w     Writer
	turn  func() error // waits until rows can be written; nil: at once
	rows  []byte       // in the format of the file, not yet written; nil: no buffer
	count int64
}

const (
	outBytes     = 64 << 10 // size of a write
	waitingBytes = 1 << 20  // maximum bytes that wait for their turn
)

// add adds a row.
func (o *out) add(origin int, cells [][]byte) error {
	if o.rows == nil {
		o.rows = o.w.Buffer()
	}
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

// flush writes the buffered rows and returns the first error: err belongs to a later row.
func (o *out) flush(err error) error {
	if first := o.write(); first != nil {
		return first
	}
	return err
}

package op

// Distinct passes the first row of every key on, at once or, if there are too many keys, at the end.
type Distinct struct {
	m       *Memory
	to      Output
	key     func(dst []byte, row Row) ([]byte, error)
	seen    map[string]struct{}
	held    int64
	further *Group // the first rows of keys beyond the budget
	buffer  []byte
}

// keyBytes is what a key takes in a map besides its own bytes.
const keyBytes = 48

// NewDistinct returns a Distinct.
func NewDistinct(m *Memory, to Output, key func(dst []byte, row Row) ([]byte, error)) *Distinct {
	return &Distinct{m: m, to: to, key: key, seen: map[string]struct{}{}}
}

// Add implements Output.
func (d *Distinct) Add(row Row) (err error) {
	if d.buffer, err = d.key(d.buffer[:0], row); err != nil {
		return err
	}
	return d.addKeyed(row)
}

// addKeyed adds a row whose key is in the buffer.
func (d *Distinct) addKeyed(row Row) error {
	if _, seen := d.seen[string(d.buffer)]; seen {
		return nil
	}
	if size := int64(len(d.buffer) + keyBytes); d.further == nil && d.m.take(size, d.held) {
		d.held += size
		d.seen[string(d.buffer)] = struct{}{}
		return d.to.Add(row)
	}
	if d.further == nil {
		key := func(Row) (Key, error) { return TextKey(d.buffer), nil }
		d.further = NewGroup(d.m, d.to, Grouping{
			Key:     func() func(row Row) (Key, error) { return key },
			States:  func() States { return firstRows(len(row)) },
			Columns: upTo(len(row)),
		})
	}
	return d.further.Add(row)
}

// End implements Output.
func (d *Distinct) End() error {
	d.m.give(d.held)
	d.seen, d.held = nil, 0
	if d.further != nil {
		return d.further.End()
	}
	return d.to.End()
}

// firstRows are the states of groups of which only the first row counts: its number of cells.
type firstRows int

// Bytes implements States.
func (firstRows) Bytes() int { return 0 }

// Begin implements States.
func (firstRows) Begin(dst []byte, first Row) ([]byte, error) { return AppendRow(dst, first), nil }

// Add implements States.
func (firstRows) Add([]byte, Row, func(int, []byte) error) (int, error) { return 0, nil }

// AddLater implements States.
func (firstRows) AddLater([]byte, int, Row) error { return nil }

// Rows implements States.
func (f firstRows) Rows() func(first, state []byte) (Row, error) {
	row := make(Row, f)
	return func(first, _ []byte) (Row, error) {
		DecodeRow(row, first)
		return row, nil
	}
}

package op

// Sort sorts rows by a key; rows of equal keys keep their order.
type Sort struct {
	sorter
	to     Output
	key    func() func(dst []byte, row Row) ([]byte, error)
	direct *sortLane // of the rows that Add takes; nil: not yet
	cells  int       // of a row
}

// NewSort returns a Sort. key returns, for one more goroutine, what appends the key of a row, whose order is that of
// bytes. Only the first rows are needed; limit 0: all of them.
func NewSort(m *Memory, to Output, limit int, key func() func(dst []byte, row Row) ([]byte, error)) *Sort {
	return &Sort{sorter: sorter{m: m, limit: limit}, to: to, key: key}
}

// Add implements Output.
func (s *Sort) Add(row Row) error {
	if s.direct == nil {
		s.direct = &sortLane{s: s, key: s.key()}
	}
	return s.direct.Add(row)
}

// Fork implements Forker.
func (s *Sort) Fork() Lane { return &sortLane{s: s, key: s.key()} }

// End implements Output.
func (s *Sort) End() error {
	err := passAll(s.to, s.rows, s.each)
	if err != nil && err != ErrEnough {
		return err
	}
	return s.to.End()
}

// rows returns what makes rows of the sorted records.
func (s *Sort) rows() func(r record) (Row, error) {
	row := make(Row, s.cells)
	return func(r record) (Row, error) {
		DecodeRow(row, r.row())
		return row, nil
	}
}

// sortLane makes records of some rows, with their keys.
type sortLane struct {
	s     *Sort
	key   func(dst []byte, row Row) ([]byte, error)
	turn  func() error // nil: rows are sorted at once
	rows  []byte       // records that wait for their turn
	cells int
}

// Begin implements Lane.
func (l *sortLane) Begin(turn func() error) { l.turn = turn }

// End implements Output.
func (l *sortLane) End() error { return nil }

// Add implements Output.
func (l *sortLane) Add(row Row) error {
	start := len(l.rows)
	rows, err := beginSorted(l.rows, func(dst []byte) ([]byte, error) { return l.key(dst, row) })
	if err != nil {
		return err
	}
	rows = AppendRow(rows, row)
	if _, err := endRecord(rows[start:]); err != nil {
		return err
	}
	l.rows, l.cells = pad(rows), len(row)
	if l.turn != nil && len(l.rows) < waitingBytes {
		return nil
	}
	return l.Flush(nil)
}

// Flush implements Lane.
func (l *sortLane) Flush(err error) error {
	if l.turn != nil {
		if first := l.turn(); first != nil {
			return first
		}
	}
	if len(l.rows) > 0 {
		l.s.cells = l.cells
		if first := eachRecord(l.rows, l.s.add); first != nil {
			return first
		}
		l.rows = l.rows[:0]
	}
	return err
}

package op

import "encoding/binary"

// ending sorts the rows of groups by the number of their first row.
type ending struct {
	sorter
	of     *shard // of the last group
	row    func(first, state []byte) (Row, error)
	cells  int
	record record
}

// add adds a group of a shard.
func (e *ending) add(s *shard, r record) error {
	if e.of != s {
		e.of, e.row = s, s.states.Rows()
	}
	row, err := e.row(s.of(r))
	if err != nil {
		return err
	}
	e.cells = len(row)
	e.record, err = beginSorted(e.record[:0], func(dst []byte) ([]byte, error) {
		return binary.BigEndian.AppendUint64(dst, uint64(r.number())), nil
	})
	if err == nil {
		e.record, err = endRecord(AppendRow(e.record, row))
	}
	if err != nil {
		return err
	}
	return e.sorter.add(e.record)
}

// rows returns what makes rows of the sorted records.
func (e *ending) rows() func(r record) (Row, error) {
	row := make(Row, e.cells)
	return func(r record) (Row, error) {
		DecodeRow(row, r.row())
		return row, nil
	}
}

package report

import (
	"io"
	"sort"
)

// side is a dataset that a join looks into: all of its chunks, and a table of
// its keys.
type side struct {
	kind    JoinType
	chunks  []*Chunk
	offsets []int // number of the first row of each chunk
	rows    int
	table   *hashtable
	found   []uint64 // a bit for each row that met another one; only where kind is Full
}

// newSide reads a dataset to its end. keys are the key's columns in it.
func newSide(kind JoinType, in *input, keyer *keyer) (*side, error) {
	s := &side{kind: kind}
	for {
		c, err := in.next()
		if err == io.EOF { // itself: wrapped, it is a connection that broke
			break
		}
		if err != nil {
			return nil, err
		}
		if c.Rows() > 0 {
			s.chunks = append(s.chunks, c)
			s.offsets = append(s.offsets, s.rows)
			s.rows += c.Rows()
		}
	}
	if kind == Full {
		s.found = make([]uint64, (s.rows+63)/64)
	}
	var err error
	if s.table, err = newHashtable(s.rows); err != nil {
		return nil, err
	}
	var key []byte
	for i := len(s.chunks) - 1; i >= 0; i-- {
		for row := s.chunks[i].Rows() - 1; row >= 0; row-- {
			var ok bool
			if key, ok = keyer.append(key[:0], s.chunks[i], row, in.keys); !ok {
				continue // a key with a null is never found
			}
			if err := s.table.prepend(int32(s.offsets[i]+row), key); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// spot is a row in a chunk. The zero spot is no row: all columns are null.
type spot struct {
	chunk *Chunk
	row   int
}

// at returns the spot of a row.
func (s *side) at(row int32) spot {
	n := int(row)
	i := sort.SearchInts(s.offsets, n+1) - 1
	return spot{s.chunks[i], n - s.offsets[i]}
}

// meet notes that all rows with a key have met one; first is the first of them.
func (s *side) meet(first int32) {
	if s.found == nil || s.met(first) {
		return
	}
	for row := first; row != noRow; row = s.table.next(row) {
		s.found[row/64] |= 1 << (row % 64)
	}
}

func (s *side) met(row int32) bool { return s.found[row/64]&(1<<(row%64)) != 0 }

// join puts rows together as A JOIN B USING (keys) JOIN C USING (keys) … does.
// The first listener's rows are given one by one, the other listeners are sides.
//
// The key of a row is found once: what joins it has the same key, and what it
// lacks has none, so the first value that is not null is always that of the
// listener that the row came from.
type join struct {
	keyer *keyer
	keys  [][]int      // for each listener, the key's columns
	sides []*side      // for each listener; the first one is nil
	rows  []spot       // for each listener, its part of the current row
	first []int32      // for each listener, its first row with the current key
	key   []byte       // of the current row
	emit  func() error // takes what is in rows
}

// add joins a row of one listener with those of the listeners after it. The
// listeners before it have no part in the row.
func (j *join) add(from int, p spot) error {
	clear(j.rows)
	j.rows[from] = p
	known := false
	if from+1 < len(j.sides) {
		j.key, known = j.keyer.append(j.key[:0], p.chunk, p.row, j.keys[from])
	}
	for n := from + 1; n < len(j.sides); n++ {
		j.first[n] = noRow
		if known {
			j.first[n] = j.sides[n].table.first(j.key)
		}
		if j.first[n] != noRow {
			j.sides[n].meet(j.first[n])
		} else if j.sides[n].kind == Inner {
			return nil
		}
	}
	return j.product(from + 1)
}

// product emits every combination of the rows that have the current key.
func (j *join) product(n int) error {
	if n == len(j.sides) {
		return j.emit()
	}
	if j.first[n] == noRow {
		return j.product(n + 1)
	}
	for row := j.first[n]; row != noRow; row = j.sides[n].table.next(row) {
		j.rows[n] = j.sides[n].at(row)
		if err := j.product(n + 1); err != nil {
			return err
		}
	}
	return nil
}

// finish adds the rows of FULL sides that met none. Those of one side can meet
// rows of the sides after it, so the sides take their turn in order.
func (j *join) finish() error {
	for n, s := range j.sides {
		if n == 0 || s.kind != Full {
			continue
		}
		for row := range int32(s.rows) {
			if s.met(row) {
				continue
			}
			if err := j.add(n, s.at(row)); err != nil {
				return err
			}
		}
	}
	return nil
}

package fold

import "github.com/fanfold/fanfold/report"

// side is a dataset that a join looks into.
type side struct {
	kind    report.JoinType
	held    *held
	table   *hashtable
	numbers []uint32 // of the held rows, where they come from a run of a full one
	run     *run
	met     bool // that key has met another; only where kind is Full
}

// find returns the place of the last row with the key, or noPlace.
func (s *side) find(k joinKey) uint32 {
	if s.run == nil {
		return s.table.find(k)
	}
	if s.run.first.is(k) {
		return 0
	}
	return noPlace
}

// findAll is find for the keys of a batch.
func (s *side) findAll(keys []joinKey, known []bool, last []uint32) {
	if s.run == nil {
		s.table.findAll(keys, known, last)
		return
	}
	for i, k := range keys {
		if last[i] = noPlace; known[i] {
			last[i] = s.find(k)
		}
	}
}

// meet notes that all rows with a key have met one; last is the last of them.
func (s *side) meet(last uint32) {
	if s.kind != report.Full {
		return
	}
	if s.run != nil {
		s.met = true
		return
	}
	for r := s.held.at(last); !r.has(flagMet); r = s.held.at(r.link()) {
		r.setFlag(flagMet)
	}
}

// join puts rows together as A JOIN B USING (keys) JOIN C USING (keys) … does.
// The first listener's rows are given one by one, the other listeners are sides.
//
// The key of a row is found once: what joins it has the same key, and what it
// lacks has none, so the first value that is not null is always that of the
// listener that the row came from, its origin.
type join struct {
	sides  []*side  // for each listener; the first one is nil
	rows   [][]byte // for each listener, its part of the current line, or nil
	last   []uint32 // for each listener, its last row with the current key
	origin int
	number uint32 // of the current row among those of its origin
	emit   func(*join) error
}

// batch has the keys of some rows of the first listener, and what they find.
type batch struct {
	keys  []joinKey // up to batchRows
	known []bool
	texts []byte     // of the keys, never nil
	last  [][]uint32 // for each listener
}

func newBatch(listeners int) *batch {
	b := &batch{
		keys: make([]joinKey, 0, batchRows), known: make([]bool, 0, batchRows), texts: []byte{}, last: make([][]uint32, listeners),
	}
	for n := range b.last {
		b.last[n] = make([]uint32, batchRows)
	}
	return b
}

func (b *batch) reset() { b.keys, b.known, b.texts = b.keys[:0], b.known[:0], b.texts[:0] }

func (b *batch) add(k joinKey, known bool) {
	if k.text != nil {
		at := len(b.texts)
		b.texts = append(b.texts, k.text...)
		k.text = b.texts[at:]
	}
	b.keys, b.known = append(b.keys, k), append(b.known, known)
}

// find looks all keys up; addNext then takes the rows one by one.
func (j *join) find(b *batch) {
	for n, s := range j.sides[1:] {
		s.findAll(b.keys, b.known, b.last[n+1])
	}
}

// addNext joins row i of a batch, of the first listener.
func (j *join) addNext(b *batch, i int, number uint32, row []byte) error {
	for n := 1; n < len(j.sides); n++ {
		j.last[n] = b.last[n][i]
	}
	return j.addFound(0, number, row)
}

func newJoin(sides []*side, emit func(*join) error) *join {
	return &join{sides: sides, rows: make([][]byte, len(sides)), last: make([]uint32, len(sides)), emit: emit}
}

// add joins a row of one listener with those of the listeners after it. The
// listeners before it have no part in the line. Without a key, known is false.
func (j *join) add(from int, number uint32, row []byte, k joinKey, known bool) error {
	for n := from + 1; n < len(j.sides); n++ {
		j.last[n] = noPlace
		if known {
			j.last[n] = j.sides[n].find(k)
		}
	}
	return j.addFound(from, number, row)
}

// addFound is add where last is known.
func (j *join) addFound(from int, number uint32, row []byte) error {
	for n := from + 1; n < len(j.sides); n++ {
		if j.last[n] != noPlace {
			j.sides[n].meet(j.last[n])
		} else if j.sides[n].kind == report.Inner {
			return nil
		}
	}
	clear(j.rows)
	j.rows[from], j.origin, j.number = row, from, number
	return j.product(from + 1)
}

// product emits every combination of the rows that have the current key.
func (j *join) product(n int) error {
	for n < len(j.sides) && j.last[n] == noPlace {
		n++
	}
	if n == len(j.sides) {
		return j.emit(j)
	}
	s := j.sides[n]
	if s.run != nil {
		return s.run.all(func(r record) error {
			j.rows[n] = r.row()
			return j.product(n + 1)
		})
	}
	for place := s.held.at(j.last[n]).link(); ; {
		r := s.held.at(place)
		j.rows[n] = r.row()
		if err := j.product(n + 1); err != nil || place == j.last[n] {
			return err
		}
		place = r.link()
	}
}

// finish adds the rows of FULL sides that met none. Those of one side can meet
// rows of the sides after it, so the sides take their turn in order.
func (j *join) finish() error {
	for n, s := range j.sides {
		if n == 0 || s.kind != report.Full {
			continue
		}
		add := func(number uint32, r record) error { return j.add(n, number, r.row(), r.key(), !r.has(flagNoKey)) }
		var err error
		switch i := 0; {
		case s.run != nil && !s.met:
			err = s.run.all(func(r record) error { return add(r.link(), r) })
		case s.run == nil:
			err = s.held.all(func(place uint32, r record) error {
				number := uint32(i)
				if s.numbers != nil {
					number = s.numbers[i]
				}
				i++
				if r.has(flagMet) {
					return nil
				}
				return add(number, r)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

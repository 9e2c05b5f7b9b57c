package op

import (
	"encoding/binary"
	"hash/maphash"
)

// State is what is known of the rows of a group.
type State interface {
	// Add adds a row of the group.
	Add(row Row) error
	// Row returns the row of the group. It is called once.
	Row() (Row, error)
	// Size returns the bytes that the state holds, about.
	Size() int
}

// Group makes a row of all rows that have the same key, in the order of the first row of each key.
type Group struct {
	m      *Memory
	to     Output
	key    func(dst []byte, row Row) ([]byte, error)
	state  func(first Row) State
	groups map[string]*group
	order  []*group
	held   int64
	full   bool   // further groups go to the parts
	parts  []*run // rows of further groups, by a hash of the key
	number int64  // of the row
	depth  int
	ended  *sorter // rows of groups by the number of their first row; nil: none is divided
	buffer []byte
	rowB   []byte
	cells  int
}

type group struct {
	State
	first int64
}

// NewGroup returns a Group. key appends the key of a row, and state begins a group with its first row, which is then
// added to it like all others.
func NewGroup(m *Memory, to Output, key func(dst []byte, row Row) ([]byte, error), state func(first Row) State) *Group {
	return &Group{m: m, to: to, key: key, state: state, groups: map[string]*group{}}
}

// partitions is the number of parts into which the rows of further groups are divided.
const partitions = 16

// maxDepth is how often rows are divided; then the groups of a part are held, whatever their size.
const maxDepth = 8

// groupBytes is what a group takes besides its key and its state.
const groupBytes = 96

var seed = maphash.MakeSeed()

// Add implements Output.
func (g *Group) Add(row Row) (err error) {
	if g.buffer, err = g.key(g.buffer[:0], row); err != nil {
		return err
	}
	g.number++
	g.cells = len(row)
	return g.addKeyed(g.buffer, row, g.number)
}

// addKeyed adds a row with its key and number.
func (g *Group) addKeyed(key []byte, row Row, number int64) error {
	of := g.groups[string(key)]
	if of == nil {
		if g.full && g.depth < maxDepth {
			return g.divide(key, row, number)
		}
		of = &group{g.state(row), number}
		size := int64(len(key)+groupBytes) + int64(of.Size())
		if !g.m.take(size, g.held) && g.depth < maxDepth {
			g.full = true
			return g.divide(key, row, number)
		}
		g.held += size
		g.groups[string(key)] = of
		g.order = append(g.order, of)
	}
	before := of.Size()
	if err := of.Add(row); err != nil {
		return err
	}
	grown := int64(of.Size() - before) // a group in memory stays there
	g.m.left, g.held = g.m.left-grown, g.held+grown
	g.full = g.full || g.m.left < 0 && g.held > minBytes
	return nil
}

// divide writes a row of a group that is not in memory to its part.
func (g *Group) divide(key []byte, row Row, number int64) error {
	if g.parts == nil {
		g.parts = make([]*run, partitions)
	}
	// The order of equal keys stays, and every depth divides by other bits.
	i := maphash.Bytes(seed, key) >> (4 * g.depth) % partitions
	if g.parts[i] == nil {
		g.parts[i] = g.m.newRun()
	}
	g.rowB = binary.BigEndian.AppendUint64(g.rowB[:0], uint64(number))
	g.rowB = appendRow(g.rowB, row)
	return g.parts[i].add(record{key, g.rowB})
}

// End implements Output.
func (g *Group) End() error {
	if g.parts == nil {
		if err := g.finish(func(_ int64, row Row) error { return g.to.Add(row) }); err != nil && err != ErrEnough {
			return err
		}
		return g.to.End()
	}
	g.ended = &sorter{m: g.m}
	cells := 0
	emit := func(first int64, row Row) error {
		cells = len(row)
		g.rowB = appendRow(g.rowB[:0], row)
		return g.ended.add(record{binary.BigEndian.AppendUint64(nil, uint64(first)), g.rowB})
	}
	if err := g.endParts(emit); err != nil {
		return err
	}
	row := make(Row, cells)
	err := g.ended.each(func(rec record) error {
		decodeRow(row, rec.row)
		return g.to.Add(row)
	})
	if err != nil && err != ErrEnough {
		return err
	}
	return g.to.End()
}

// finish passes the groups in memory on, and frees them.
func (g *Group) finish(emit func(first int64, row Row) error) error {
	order := g.order
	defer g.m.give(g.held)
	g.groups, g.order, g.held = nil, nil, 0
	for _, of := range order {
		row, err := of.Row()
		if err == nil {
			err = emit(of.first, row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// endParts passes the groups in memory on, then those of each part.
func (g *Group) endParts(emit func(first int64, row Row) error) error {
	if err := g.finish(emit); err != nil {
		return err
	}
	for _, part := range g.parts {
		if part == nil {
			continue
		}
		if err := part.finish(); err != nil {
			return err
		}
		sub := &Group{m: g.m, to: g.to, key: g.key, state: g.state, groups: map[string]*group{}, depth: g.depth + 1}
		if err := sub.addPart(part, g.cells); err != nil {
			return err
		}
		sub.cells = g.cells
		if err := sub.endParts(emit); err != nil {
			return err
		}
	}
	return nil
}

// addPart adds the rows of a part.
func (g *Group) addPart(part *run, cells int) error {
	row := make(Row, cells)
	for rd := part.read(); ; {
		rec, ok, err := rd.record()
		if err != nil || !ok {
			return err
		}
		decodeRow(row, rec.row[8:])
		if err := g.addKeyed(rec.key, row, int64(binary.BigEndian.Uint64(rec.row))); err != nil {
			return err
		}
	}
}

// Distinct passes the first row of every key on.
type Distinct struct{ *Group }

// NewDistinct returns a Distinct.
func NewDistinct(m *Memory, to Output, key func(dst []byte, row Row) ([]byte, error)) Distinct {
	return Distinct{NewGroup(m, to, key, func(first Row) State {
		return &firstRow{row: appendRow(nil, first),
			cells: len(first)}
	})}
}

// firstRow is the state of a group of which only the first row counts.
type firstRow struct {
	row   []byte
	cells int
}

func (f *firstRow) Add(Row) error { return nil }
func (f *firstRow) Size() int     { return len(f.row) + 48 }
func (f *firstRow) Row() (Row, error) {
	row := make(Row, f.cells)
	decodeRow(row, f.row)
	return row, nil
}

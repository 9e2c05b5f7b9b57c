package op

import "encoding/binary"

// State is what is known of the rows of a group.
type State interface {
	// Add adds a row of the group. If later is not nil, the state must not remember further values: it passes those
	// that it does not know to later, by the number of what remembers them.
	Add(row Row, later func(part int, value []byte) error) error
	// AddLater adds a row that Add has passed to later. It is called once for every value, in the order of the rows.
	AddLater(part int, row Row) error
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
	full   bool      // further groups go to the parts, and further values of the groups to later
	parts  []*run    // rows of further groups, by a hash of the key
	later  *Distinct // rows with further values, and the key of the group
	number int64     // of the row
	depth  int
	ended  *sorter // rows of further groups by the number of their first row
	buffer []byte
	record record
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

// NewOne returns a Group of all rows, even of none.
func NewOne(m *Memory, to Output, state State) *Group {
	g := NewGroup(m, to, func(dst []byte, _ Row) ([]byte, error) { return append(dst, 1), nil }, nil)
	g.order = []*group{{state, 0}}
	g.groups["\x01"] = g.order[0]
	return g
}

// partitions is the number of parts into which the rows of further groups are divided.
const partitions = 16

// maxDepth is how often rows are divided; then the groups of a part are held, whatever their size.
const maxDepth = 8

// groupBytes is what a group takes besides its key and its state.
const groupBytes = 96

// Add implements Output.
func (g *Group) Add(row Row) (err error) {
	if g.buffer, err = g.key(g.buffer[:0], row); err != nil {
		return err
	}
	g.number++
	g.cells = len(row)
	return g.addKeyed(TextKey(g.buffer), row, g.number)
}

// addKeyed adds a row with its key and number.
func (g *Group) addKeyed(key Key, row Row, number int64) error {
	of := g.groups[string(key.text)]
	if of == nil {
		if g.full && g.depth < maxDepth {
			return g.divide(key, row, number)
		}
		of = &group{g.state(row), number}
		size := int64(len(key.text)+groupBytes) + int64(of.Size())
		if !g.m.take(size, g.held) {
			if g.full = true; g.depth < maxDepth {
				return g.divide(key, row, number)
			}
			g.m.give(-size)
		}
		g.held += size
		g.groups[string(key.text)] = of
		g.order = append(g.order, of)
	}
	var later func(part int, value []byte) error
	if g.full {
		later = func(part int, value []byte) error { return g.postpone(key.text, part, value, row) }
	}
	before := of.Size()
	if err := of.Add(row, later); err != nil {
		return err
	}
	if grown := int64(of.Size() - before); grown > 0 { // a group in memory stays there
		if !g.m.take(grown, g.held) {
			g.full = true
			g.m.give(-grown)
		}
		g.held += grown
	}
	return nil
}

// postpone adds a row with a value to those that come later. A row is followed by the key of its group and the part.
func (g *Group) postpone(key []byte, part int, value []byte, row Row) error {
	if g.later == nil {
		g.later = NewDistinct(g.m, rowsTo(func(row Row) error {
			n := len(row) - 2
			return g.groups[string(row[n])].AddLater(int(row[n+1][1]), row[:n])
		}), nil)
	}
	d := g.later
	d.buffer = binary.BigEndian.AppendUint32(d.buffer[:0], uint32(len(key)))
	d.buffer = append(append(append(d.buffer, key...), byte(part)), value...)
	return d.addKeyed(append(append(make(Row, 0, len(row)+2), row...), key, []byte{0, byte(part)}))
}

// divide writes a row of a group that is not in memory to its part.
func (g *Group) divide(key Key, row Row, number int64) (err error) {
	if g.parts == nil {
		g.parts = make([]*run, partitions)
	}
	// The order of equal keys stays, and every depth divides by other bits.
	i := key.word >> (4 * g.depth) % partitions
	if g.parts[i] == nil {
		g.parts[i] = g.m.newRun()
	}
	r := binary.LittleEndian.AppendUint64(beginRecord(g.record[:0], key, true), uint64(number))
	if g.record, err = endRecord(appendRow(r, row)); err != nil {
		return err
	}
	return g.parts[i].add(g.record)
}

// End implements Output.
func (g *Group) End() error {
	err := g.finish(func(_ int64, row Row) error { return g.to.Add(row) })
	if err == nil && g.parts != nil {
		err = g.endFurther()
	}
	if err != nil && err != ErrEnough {
		return err
	}
	return g.to.End()
}

// endFurther passes the groups on that were not in memory, in order. They begin after all that were.
func (g *Group) endFurther() error {
	g.ended = &sorter{m: g.m}
	cells := 0
	if err := g.endParts(func(first int64, row Row) error {
		cells = len(row)
		return g.ended.add(binary.BigEndian.AppendUint64(nil, uint64(first)),
			func(dst []byte) []byte { return appendRow(dst, row) })
	}); err != nil {
		return err
	}
	row := make(Row, cells)
	return g.ended.each(func(r record) error {
		decodeRow(row, r.row())
		return g.to.Add(row)
	})
}

// finish passes the groups in memory on, and frees them.
func (g *Group) finish(emit func(first int64, row Row) error) error {
	if g.later != nil {
		if err := g.later.End(); err != nil {
			return err
		}
	}
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

// endParts passes the groups of each part on.
func (g *Group) endParts(emit func(first int64, row Row) error) error {
	for _, part := range g.parts {
		if part == nil {
			continue
		}
		sub := NewGroup(g.m, nil, g.key, g.state)
		sub.depth, sub.cells = g.depth+1, g.cells
		if err := part.flush(); err != nil {
			return err
		}
		if err := sub.addPart(part); err != nil {
			return err
		}
		if err := sub.finish(emit); err != nil {
			return err
		}
		if err := sub.endParts(emit); err != nil {
			return err
		}
	}
	return nil
}

// addPart adds the rows of a part, and frees its space.
func (g *Group) addPart(part *run) error {
	row := make(Row, g.cells)
	c := cursor{run: part, frees: true}
	defer c.close()
	for n := 0; ; n++ {
		r, err := c.record()
		if err == nil && n%1024 == 0 {
			err = g.m.ended()
		}
		if r == nil || err != nil {
			return err
		}
		decodeRow(row, r.cells())
		if err := g.addKeyed(r.key(), row, r.number()); err != nil {
			return err
		}
	}
}

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
	if size := int64(len(d.buffer) + groupBytes/2); d.further == nil && d.m.take(size, d.held) {
		d.held += size
		d.seen[string(d.buffer)] = struct{}{}
		return d.to.Add(row)
	}
	if d.further == nil {
		key := func(dst []byte, _ Row) ([]byte, error) { return append(dst, d.buffer...), nil }
		d.further = NewGroup(d.m, d.to, key, func(first Row) State {
			return &firstRow{row: appendRow(nil, first), cells: len(first)}
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

// firstRow is the state of a group of which only the first row counts.
type firstRow struct {
	row   []byte
	cells int
}

func (f *firstRow) Add(Row, func(int, []byte) error) error { return nil }
func (f *firstRow) AddLater(int, Row) error                { return nil }
func (f *firstRow) Size() int                              { return len(f.row) + 48 }
func (f *firstRow) Row() (Row, error) {
	row := make(Row, f.cells)
	decodeRow(row, f.row)
	return row, nil
}

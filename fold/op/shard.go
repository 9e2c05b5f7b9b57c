package op

import (
	"encoding/binary"
	"math"
)

// shard has some of the groups, in memory as far as the budget allows.
type shard struct {
	g      *Group
	n      int // number of the shard
	states States
	bytes  int // of a state
	row    Row // with the columns that the states use
	record record

	groups keyed // see begin
	held   int64
	full   bool // further groups go to the parts, and further values of the groups to later

	depth   int    // how often its rows were divided
	parts   []*run // rows of further groups, by a hash of the key
	divided int64  // number of the first row in the parts

	later *Distinct // rows with further values, and their group
	ref   uint32    // the group whose row is added
	added Row       // that row

	blocks   chan rowBlock
	at       int64 // number of the row that is added
	failedAt int64 // number of the row of err
	err      error
	touched  uint64 // unused: it keeps the compiler from removing reads
}

// rowBlock is some rows for a shard: records whose link is added to the number of the first one.
type rowBlock struct {
	first int64
	rows  []byte
}

// partitions is the number of parts into which the rows of further groups are divided.
const partitions = 16

// maxDepth is how often rows are divided; then the groups of a part are held, whatever their size.
const maxDepth = 8

func (g *Group) newShard(n, depth int) *shard {
	width := 0
	for _, c := range g.Columns {
		width = max(width, c+1)
	}
	s := &shard{
		g: g, n: n, depth: depth, states: g.States(), row: make(Row, width), divided: math.MaxInt64,
		failedAt: math.MaxInt64,
	}
	s.bytes = s.states.Bytes()
	return s
}

// run adds the rows of blocks.
func (s *shard) run() {
	for b := range s.blocks {
		s.at = b.first
		if s.err == nil {
			s.err = protected(func() error { return s.addBlock(b) })
		}
		if s.err != nil && s.failedAt == math.MaxInt64 {
			s.failedAt = s.at
			s.g.failed.Store(true)
		}
		s.g.recycle(b.rows)
	}
}

// addBlock adds the rows of a block.
func (s *shard) addBlock(b rowBlock) error {
	var records [batchRows]record
	var hashes [batchRows]uint64
	for rest := b.rows; len(rest) > 0; {
		n := 0
		for ; n < batchRows && len(rest) > 0; n++ {
			r := record(rest)
			records[n] = r[:r.size()]
			hashes[n] = records[n].key().hash()
			rest = rest[padded(len(records[n])):]
		}
		s.touched |= s.groups.touch(hashes[:n])
		for i, r := range records[:n] {
			s.at = b.first + int64(r.link())
			decodeCells(s.row, s.g.Columns, r.row())
			if err := s.add(r.key(), hashes[i], s.at, s.row); err != nil {
				return err
			}
		}
	}
	return s.g.m.ended()
}

// add adds a row with its key, the hash of that, and its number.
func (s *shard) add(k Key, hash uint64, number int64, row Row) (err error) {
	ref := s.groups.find(hash, k)
	if ref == noRef {
		if s.full && s.depth < maxDepth {
			return s.divide(k, hash, number, row)
		}
		if ref, err = s.begin(k, hash, number, row); err != nil {
			return err
		}
		if ref == noRef {
			return s.divide(k, hash, number, row)
		}
	}
	var later func(part int, value []byte) error
	if s.full {
		s.ref, s.added, later = ref, row, s.postpone
	}
	_, state := s.of(s.groups.arena.at(ref))
	held, err := s.states.Add(state, row, later)
	if err != nil || held == 0 {
		return err
	}
	return s.hold(int64(held))
}

// hold reserves bytes for a group that is in memory, which stays there.
func (s *shard) hold(bytes int64) error {
	if !s.take(bytes) {
		s.full = true
		s.g.m.give(-bytes)
	}
	s.held += bytes
	return nil
}

// take reserves bytes. The shards share the minimum of an operator.
func (s *shard) take(bytes int64) bool {
	return s.g.m.take(bytes, s.held*int64(len(s.g.shards)))
}

// begin begins a group in memory, and returns its ref; noRef: the budget is used up. Its record has the number of its
// first row, its state and what is kept of that row; the link is the number of the shard.
func (s *shard) begin(k Key, hash uint64, number int64, row Row) (ref uint32, err error) {
	head := binary.LittleEndian.AppendUint64(beginRecord(s.record[:0], k, true), uint64(number))
	r, err := s.states.Begin(append(head, make([]byte, s.bytes)...), row)
	if err == nil {
		s.record, err = endRecord(r)
	}
	if err != nil {
		return noRef, err
	}
	r = s.record
	s.record.setLink(uint32(s.n))
	bytes := s.groups.growth(r)
	if bytes > 0 && !s.take(bytes) {
		if s.full = true; s.depth < maxDepth {
			return noRef, nil
		}
		s.g.m.give(-bytes)
	}
	s.held += bytes
	return s.groups.add(hash, r)
}

// of returns what the record of a group has: what is kept of its first row, and its state.
func (s *shard) of(r record) (first, state []byte) {
	cells := r.cells()
	return cells[s.bytes:], cells[:s.bytes:s.bytes]
}

// postpone adds the row that is added, with a value, to those that come later. Such a row is followed by the ref of its
// group and the part.
func (s *shard) postpone(part int, value []byte) error {
	width := len(s.row)
	if s.later == nil {
		s.later = NewDistinct(s.g.m, rowsTo(func(row Row) error {
			_, state := s.of(s.groups.arena.at(binary.BigEndian.Uint32(row[width][1:])))
			return s.states.AddLater(state, int(binary.BigEndian.Uint32(row[width][5:])), row[:width])
		}), nil)
	}
	of := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{0}, s.ref), uint32(part))
	row := make(Row, width+1)
	for _, c := range s.g.Columns {
		row[c] = s.added[c]
	}
	row[width] = of
	d := s.later
	d.buffer = append(append(d.buffer[:0], of...), value...)
	return d.addKeyed(row)
}

// divide writes a row of a group that is not in memory to its part.
func (s *shard) divide(k Key, hash uint64, number int64, row Row) (err error) {
	if s.parts == nil {
		s.parts, s.divided = make([]*run, partitions), number
	}
	i := hash >> (4 * s.depth) % partitions // every depth divides by other bits
	if s.parts[i] == nil {
		s.parts[i] = s.g.m.newRun()
	}
	r := binary.LittleEndian.AppendUint64(beginRecord(s.record[:0], k, true), uint64(number))
	if s.record, err = endRecord(appendCells(r, row, s.g.Columns)); err != nil {
		return err
	}
	return s.parts[i].add(s.record)
}

// finish adds the values that came later.
func (s *shard) finish() error {
	if s.later == nil {
		return nil
	}
	return s.later.End()
}

// free frees the groups in memory.
func (s *shard) free() {
	s.g.m.give(s.held)
	s.groups.arena.close()
	s.groups, s.held, s.states = keyed{}, 0, nil
}

// endParts passes the groups of the parts on, in any order.
func (s *shard) endParts(emit func(s *shard, r record) error) error {
	for _, part := range s.parts {
		if part == nil {
			continue
		}
		sub := s.g.newShard(s.n, s.depth+1)
		if err := part.flush(); err != nil {
			return err
		}
		if err := sub.addPart(part); err != nil {
			return err
		}
		if err := sub.finish(); err != nil {
			return err
		}
		for _, r := range sub.groups.arena.all {
			if err := emit(sub, r); err != nil {
				return err
			}
		}
		sub.free()
		if err := sub.endParts(emit); err != nil {
			return err
		}
	}
	s.parts = nil
	return nil
}

// addPart adds the rows of a part, and frees its space.
func (s *shard) addPart(part *run) error {
	c := cursor{run: part, frees: true}
	defer c.close()
	for n := 0; ; n++ {
		r, err := c.record()
		if err == nil && n%1024 == 0 {
			err = s.g.m.ended()
		}
		if r == nil || err != nil {
			return err
		}
		decodeCells(s.row, s.g.Columns, r.cells())
		if err := s.add(r.key(), r.key().hash(), r.number(), s.row); err != nil {
			return err
		}
	}
}

package op

// groupLane computes the keys of some rows.
type groupLane struct {
	g     *Group
	key   func(row Row) (Key, error)
	turn  func() error // nil: rows go to their shards at once
	rows  [][]byte     // by shard: records that wait for their turn; the link of each is its number among them
	count int64        // rows that wait
	bytes int          // of them
}

// Begin implements Lane.
func (l *groupLane) Begin(turn func() error) { l.turn = turn }

// End implements Output.
func (l *groupLane) End() error { return nil }

// Add implements Output.
func (l *groupLane) Add(row Row) error {
	k, err := l.key(row)
	if err != nil {
		return err
	}
	if l.turn == nil {
		return l.g.add(k, row)
	}
	if l.rows == nil {
		l.rows = make([][]byte, len(l.g.shards))
	}
	i := k.hash() % uint64(len(l.rows))
	start := len(l.rows[i])
	rows := appendCells(beginRecord(l.rows[i], k, true), row, l.g.Columns)
	r, err := endRecord(rows[start:])
	if err != nil {
		return err
	}
	r.setLink(uint32(l.count))
	l.rows[i] = pad(rows)
	l.count++
	if l.bytes += len(r); l.bytes < waitingBytes {
		return nil
	}
	return l.Flush(nil)
}

// Flush implements Lane.
func (l *groupLane) Flush(err error) error {
	if l.turn == nil {
		if first := l.g.drain(); first != nil {
			return first
		}
		return err
	}
	if first := l.turn(); first != nil {
		return first
	}
	if l.count > 0 {
		if first := l.g.pass(l.rows, l.count); first != nil {
			return first
		}
		l.count, l.bytes = 0, 0
	}
	if err != nil {
		if first := l.g.drain(); first != nil {
			return first
		}
	}
	return err
}

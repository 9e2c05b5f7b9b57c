package op

import (
	"encoding/binary"
	"math"
)

// JoinKind says which rows a join has besides those that match.
type JoinKind struct {
	Left  bool // rows of the left side without a match, with NULLs
	Right bool // rows of the right side without a match, after all others
}

// Join joins the rows that it takes, the left ones, with those of a right side that was taken before. The rows are in
// the order of the left side, and for one left row in that of the right side.
type Join struct {
	kind JoinKind
	m    *Memory
	to   Output
	// key appends the key of a row; false: a part of it is NULL, which matches nothing.
	leftKey, rightKey func(dst []byte, row Row) ([]byte, bool, error)
	// matches is the condition besides the key, on the joined row. Nil: none.
	matches func(row Row) (bool, error)

	left, right int               // cells
	table       map[string]uint32 // the last row of a key; the rows of a key are a ring
	rows        []rightRow        // in memory
	held        int64
	data        []byte

	leftRows, rightRows *sorter // of a join that exceeds the budget: by key and number
	number              int64   // of the left row
	rightNumber         int64
	joined              Row
	key, row            []byte
	ended               bool // of the left side: to needs no more
}

// rightRow is an encoded row of the right side.
type rightRow struct {
	row     []byte
	next    uint32 // row of the same key, after the last one the first
	matched bool
}

// NewJoin returns a Join of rows with so many cells on each side.
func NewJoin(
	kind JoinKind, m *Memory, to Output, left, right int,
	leftKey, rightKey func(dst []byte, row Row) ([]byte, bool, error), matches func(row Row) (bool, error),
) *Join {
	return &Join{
		kind: kind, m: m, to: to, leftKey: leftKey, rightKey: rightKey, matches: matches, left: left, right: right,
		table: map[string]uint32{}, joined: make(Row, left+right),
	}
}

// joinBytes is what a row of the right side takes besides its bytes.
const joinBytes = 80

// AddRight takes a row of the right side. All of them come before the first left row.
func (j *Join) AddRight(row Row) error {
	key, ok, err := j.rightKey(j.key[:0], row)
	if err != nil {
		return err
	}
	j.key = key
	if !ok && !j.kind.Right {
		return nil // it matches nothing
	}
	j.rightNumber++
	j.row = appendRow(j.row[:0], row)
	if j.rightRows != nil {
		return j.addSorted(j.rightRows, key, ok, j.rightNumber, j.row)
	}
	size := int64(len(key) + len(j.row) + joinBytes)
	if !j.m.take(size, j.held) {
		if err := j.spill(); err != nil {
			return err
		}
		return j.addSorted(j.rightRows, key, ok, j.rightNumber, j.row)
	}
	j.held += size
	if cap(j.data)-len(j.data) < len(j.row) {
		j.data = make([]byte, 0, max(len(j.row), min(arenaBytes, 4096<<min(len(j.rows)/64, 8))))
	}
	at := len(j.data)
	j.data = append(j.data, j.row...)
	number := uint32(len(j.rows))
	j.rows = append(j.rows, rightRow{row: j.data[at:len(j.data):len(j.data)], next: number})
	if last, found := j.table[string(key)]; ok && found {
		j.rows[number].next, j.rows[last].next = j.rows[last].next, number
	}
	if ok {
		j.table[string(key)] = number
	}
	return nil
}

// spill moves the rows of the right side to a sorter.
func (j *Join) spill() error {
	rows := j.rows
	j.m.give(j.held)
	j.rows, j.table, j.data, j.held = nil, nil, nil, 0
	j.rightRows, j.leftRows = &sorter{m: j.m}, &sorter{m: j.m}
	row := make(Row, j.right)
	for i, r := range rows {
		decodeRow(row, r.row)
		key, ok, err := j.rightKey(nil, row)
		if err == nil {
			err = j.addSorted(j.rightRows, key, ok, int64(i+1), r.row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addSorted adds a row with its key and number. Rows without a key come last.
func (j *Join) addSorted(to *sorter, key []byte, hasKey bool, number int64, row []byte) error {
	k := make([]byte, 0, len(key)+9)
	if hasKey {
		k = append(append(k, 0), key...)
	} else {
		k = append(k, 1)
	}
	body := binary.BigEndian.AppendUint64(make([]byte, 0, len(row)+8), uint64(number))
	return to.add(record{k, append(body, row...)})
}

// Add implements Output: it takes a left row.
func (j *Join) Add(row Row) error {
	if j.ended {
		return ErrEnough
	}
	key, ok, err := j.leftKey(j.key[:0], row)
	if err != nil {
		return err
	}
	j.key = key
	j.number++
	if j.leftRows != nil {
		if !ok && !j.kind.Left {
			return nil
		}
		j.row = appendRow(j.row[:0], row)
		return j.addSorted(j.leftRows, key, ok, j.number, j.row)
	}
	copy(j.joined, row)
	found := false
	if last, has := j.table[string(key)]; ok && has {
		for i := j.rows[last].next; ; i = j.rows[i].next {
			r := &j.rows[i]
			matched, err := j.pair(r.row)
			if err != nil {
				return j.enough(err)
			}
			if found, r.matched = found || matched, r.matched || matched; i == last {
				break
			}
		}
	}
	if found || !j.kind.Left {
		return nil
	}
	clear(j.joined[j.left:])
	return j.enough(j.to.Add(j.joined))
}

// enough remembers that the output needs no more. The rows of the right side without a match are not needed either.
func (j *Join) enough(err error) error {
	j.ended = j.ended || err == ErrEnough
	return err
}

// pair joins the current left row with a right row, and passes it on if the condition is true.
func (j *Join) pair(right []byte) (matched bool, err error) {
	decodeRow(j.joined[j.left:], right)
	if j.matches != nil {
		if ok, err := j.matches(j.joined); err != nil || !ok {
			return false, err
		}
	}
	return true, j.to.Add(j.joined)
}

// End implements Output.
func (j *Join) End() error {
	if j.leftRows != nil && !j.ended {
		if err := j.merge(); err != nil && err != ErrEnough {
			return err
		}
		return j.to.End()
	}
	if j.kind.Right && !j.ended {
		clear(j.joined[:j.left])
		for _, r := range j.rows {
			if r.matched {
				continue
			}
			decodeRow(j.joined[j.left:], r.row)
			if err := j.to.Add(j.joined); err == ErrEnough {
				break
			} else if err != nil {
				return err
			}
		}
	}
	j.m.give(j.held)
	j.rows, j.table, j.data = nil, nil, nil
	return j.to.End()
}

// merge joins the sorted sides, and sorts what it finds by the numbers of the left and the right row.
func (j *Join) merge() error {
	out := &sorter{m: j.m}
	nextLeft, err := j.leftRows.iterator()
	if err != nil {
		return err
	}
	nextRight, err := j.rightRows.iterator()
	if err != nil {
		return err
	}
	left, hasLeft, err := nextLeft()
	if err != nil {
		return err
	}
	right, hasRight, err := nextRight()
	for hasLeft || hasRight {
		if err != nil {
			return err
		}
		switch order := compareKeys(left, hasLeft, right, hasRight); {
		case order < 0: // no row of the right side has this key
			if j.kind.Left {
				if err := j.emit(out, left.row, nil); err != nil {
					return err
				}
			}
			left, hasLeft, err = nextLeft()
		case order > 0:
			if j.kind.Right {
				if err := j.emit(out, nil, right.row); err != nil {
					return err
				}
			}
			right, hasRight, err = nextRight()
		default:
			left, hasLeft, right, hasRight, err = j.mergeKey(out, left, right, nextLeft, nextRight)
		}
	}
	if err != nil {
		return err
	}
	return out.each(func(rec record) error {
		decodeRow(j.joined, rec.row)
		return j.to.Add(j.joined)
	})
}

// compareKeys compares the keys of two sides. Rows without a key match nothing: those of the left side come first.
func compareKeys(left record, hasLeft bool, right record, hasRight bool) int {
	switch {
	case !hasRight || hasLeft && left.key[0] == 1 && right.key[0] == 1:
		return -1
	case !hasLeft:
		return 1
	}
	switch a, b := string(left.key), string(right.key); {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// emit adds a joined row to the result. A side that is nil has NULLs.
func (j *Join) emit(out *sorter, left, right []byte) error {
	clear(j.joined)
	key := make([]byte, 0, 16)
	if left != nil {
		key = append(key, left[:8]...)
		decodeRow(j.joined[:j.left], left[8:])
	} else {
		key = binary.BigEndian.AppendUint64(key, math.MaxUint64)
	}
	if right != nil {
		key = append(key, right[:8]...)
		decodeRow(j.joined[j.left:], right[8:])
	}
	j.row = appendRow(j.row[:0], j.joined)
	return out.add(record{key, j.row})
}

// mergeKey joins all rows of a key. The right ones are read again for every left row: from memory, or from a run if
// they are many.
func (j *Join) mergeKey(
	out *sorter, left, right record, nextLeft, nextRight func() (record, bool, error),
) (l record, hasL bool, r record, hasR bool, err error) {
	key := string(left.key)
	rights, n := j.m.newRun(), 0
	j.m.spills-- // it is one only if it is written
	for hasR = true; hasR && string(right.key) == key; n++ {
		if err = rights.add(right); err != nil {
			return
		}
		if right, hasR, err = nextRight(); err != nil {
			return
		}
	}
	r = right
	memory := rights.tail
	if len(rights.blocks) > 0 {
		if err = rights.finish(); err != nil {
			return
		}
		memory = nil
	}
	matched := make([]bool, n)
	l = record{[]byte(key), append([]byte(nil), left.row...)}
	for hasL = true; hasL && string(l.key) == key; {
		if err = j.mergeRow(out, l.row, rights, memory, matched); err != nil {
			return
		}
		if l, hasL, err = nextLeft(); err != nil {
			return
		}
	}
	if j.kind.Right {
		i := 0
		err = eachOf(rights, memory, func(rec record) error {
			i++
			if matched[i-1] {
				return nil
			}
			return j.emit(out, nil, rec.row)
		})
	}
	return
}

// mergeRow joins a left row with all right rows of its key.
func (j *Join) mergeRow(out *sorter, left []byte, rights *run, memory []byte, matched []bool) error {
	found, i := false, 0
	err := eachOf(rights, memory, func(rec record) error {
		i++
		if j.matches != nil {
			decodeRow(j.joined[:j.left], left[8:])
			decodeRow(j.joined[j.left:], rec.row[8:])
			if ok, err := j.matches(j.joined); err != nil || !ok {
				return err
			}
		}
		found, matched[i-1] = true, true
		return j.emit(out, left, rec.row)
	})
	if err != nil || found || !j.kind.Left {
		return err
	}
	return j.emit(out, left, nil)
}

// eachOf calls f with the records of a run that may be in memory.
func eachOf(r *run, memory []byte, f func(record) error) error {
	if len(r.blocks) == 0 {
		for rest := memory; len(rest) > 0; {
			var rec record
			rec, rest = nextRecord(rest)
			if err := f(rec); err != nil {
				return err
			}
		}
		return nil
	}
	for rd := r.read(); ; {
		rec, ok, err := rd.record()
		if err != nil || !ok {
			return err
		}
		if err := f(rec); err != nil {
			return err
		}
	}
}

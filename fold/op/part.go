package op

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// part holds the rows of a side that can match a range of rows of a segment: those of a frequent key in the scratch
// file, all others in memory.
type part struct {
	arena    *arena
	table    *hashtable
	frequent map[frequentKey]*run
}

// frequentKey is a Key as a key of a map.
type frequentKey struct {
	word   uint64
	text   string
	isText bool
}

// frequentBytes is the size of the rows of a frequent key. They are read anew for every row that they match.
const frequentBytes = pageBytes

// inFile is the ref of the rows of a frequent key.
const inFile = noRef - 1

// findAll sets last to the last row of the key of every row of a batch, or to noRef if no row
// has its key.
func (p *part) findAll(keys *keys, last *[batchRows]uint32) {
	p.table.findAll(keys.all, keys.is, last)
	if len(p.frequent) == 0 {
		return
	}
	for i, k := range keys.all {
		if last[i] == noRef && keys.is[i] == hasKey && p.run(k) != nil {
			last[i] = inFile
		}
	}
}

// run returns the rows of a frequent key, or nil.
func (p *part) run(k Key) *run {
	return p.frequent[frequentKey{k.word, string(k.text), k.text != nil}]
}

// each calls f with the rows of a key, in order, until an error; last is what findAll has found.
func (p *part) each(last uint32, k Key, f func(r record) error) error {
	if last == inFile {
		return p.run(k).all(f)
	}
	for r := range p.arena.ring(last) {
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

// divideKeys moves the rows of the frequent keys in a run to runs of their own, and frees it. It returns the other
// rows, which do not keep their order, but those of a key do.
func (m *Memory) divideKeys(from *run) (others *run, frequent map[frequentKey]*run, err error) {
	s, sorted := &sorter{m: m}, record(nil)
	if err := from.all(func(r record) (err error) {
		sorted, err = beginSorted(sorted[:0], func(dst []byte) ([]byte, error) {
			return append(binary.BigEndian.AppendUint64(dst, r.word()), r.text()...), nil
		})
		if err == nil {
			sorted, err = endRecord(append(sorted, r...))
		}
		if err != nil {
			return err
		}
		return s.add(sorted)
	}); err != nil {
		return nil, nil, err
	}
	from.free()
	others, frequent = m.newRun(), map[frequentKey]*run{}
	same, of := m.newRun(), Key{}
	end := func() error {
		if same.bytes >= frequentBytes {
			frequent[frequentKey{of.word, string(of.text), of.text != nil}] = same
			last := same
			same = m.newRun()
			return last.flush()
		}
		err := same.all(others.add)
		same.free()
		same = m.newRun()
		return err
	}
	if err := s.each(func(r record) error {
		next := record(r.row())
		if same.rows > 0 && !next.is(of) {
			if err := end(); err != nil {
				return err
			}
		}
		if same.rows == 0 {
			of = Key{next.word(), bytes.Clone(next.text())}
		}
		return same.add(next)
	}); err != nil {
		return nil, nil, err
	}
	return others, frequent, end()
}

// errStop ends each.
var errStop = errors.New("stop")

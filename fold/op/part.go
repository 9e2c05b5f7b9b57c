package op

import "errors"

// part holds the rows of a side that can match a range of rows of the origin: in memory or, if
// too many can match a single row, in the scratch file.
type part struct {
	from  int64
	arena *arena
	last  []uint32 // by number: ref of its last row; the rows of one number are a ring
	run   *run
}

// link links the rows of every number to a ring.
func (p *part) link(numbers int) {
	p.last = make([]uint32, numbers)
	for i := range p.last {
		p.last[i] = noRef
	}
	for ref, r := range p.arena.all {
		last := &p.last[int64(r.link())-p.from]
		p.arena.link(*last, ref)
		*last = ref
	}
}

// findAll sets last to the last row of the number of every row of a batch, or to noRef if no row
// has its key. The first row of the batch has this number.
func (p *part) findAll(keys *keys, number int64, last *[batchRows]uint32) error {
	for i, k := range keys.all {
		if last[i] = noRef; keys.is[i] != hasKey {
			continue
		}
		if p.run == nil {
			at := p.last[number-p.from+int64(i)]
			if at == noRef {
				continue
			}
			if p.arena.at(at).is(k) {
				last[i] = at
				continue
			}
		}
		if err := p.each(p.lastOf(number+int64(i)), k, noStep, func(record) error {
			last[i] = p.lastOf(number + int64(i))
			return errStop
		}); err != nil && err != errStop {
			return err
		}
	}
	return nil
}

// lastOf returns the ref of the last row of a number, or 0 if the rows are in the scratch file.
func (p *part) lastOf(number int64) uint32 {
	if p.run != nil {
		return 0
	}
	return p.last[number-p.from]
}

// each calls f with the rows of a number that have a key, in order; last is the ref of the last
// row of the number. step is called for other rows.
func (p *part) each(last uint32, key Key, step func() error, f func(r record) error) error {
	same := func(r record) error {
		if !r.is(key) {
			return step()
		}
		return f(r)
	}
	if p.run != nil {
		return p.run.all(same)
	}
	return p.arena.ring(last, same)
}

func noStep() error { return nil }

// errStop ends each.
var errStop = errors.New("stop")

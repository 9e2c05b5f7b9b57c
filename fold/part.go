package fold

import "errors"

// part is the rows of a side that can meet rows of the origin with some numbers: in memory,
// or where there are many for a single number, in the scratch file.
type part struct {
	from  int64
	arena *arena
	last  []uint32 // by number: the ref of the last row; those of one number are a ring
	run   *run
}

// link puts the rows of each number into a ring.
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

// findAll finds for each row of a batch the last row of its number, or noRef where none has
// its key. The first row of the batch has this number.
func (p *part) findAll(b *batch, number int64, last []uint32) error {
	for i, k := range b.keys {
		if last[i] = noRef; !b.known[i] {
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
		if err := p.each(p.lastOf(number+int64(i)), k, func(record) error {
			last[i] = p.lastOf(number + int64(i))
			return errStop
		}); err != nil && err != errStop {
			return err
		}
	}
	return nil
}

// lastOf returns the ref of the last row of a number; of no meaning where rows are in the
// scratch file.
func (p *part) lastOf(number int64) uint32 {
	if p.run != nil {
		return 0
	}
	return p.last[number-p.from]
}

// each calls f with the rows that have a key, in their order, among those of the number whose
// last row is there.
func (p *part) each(last uint32, key joinKey, f func(r record) error) error {
	same := func(r record) error {
		if !r.is(key) {
			return nil
		}
		return f(r)
	}
	if p.run != nil {
		return p.run.all(same)
	}
	return p.arena.ring(last, same)
}

// errStop ends each.
var errStop = errors.New("enough")

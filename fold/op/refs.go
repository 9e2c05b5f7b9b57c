package op

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"sync"
)

// sortRef refers to a record in an arena that is sorted by its key.
type sortRef struct {
	word uint64 // a part of the key; set by sortRefs
	ref  uint32
}

// refSize is what a record takes besides its bytes.
const refSize = 16

// wordBytes is the size of the part of a key in a ref.
const wordBytes = 8

// beginOf returns the first bytes of a key, whose order is that of the keys if they differ.
func beginOf(key []byte) uint64 {
	if len(key) >= wordBytes {
		return binary.BigEndian.Uint64(key)
	}
	var word [wordBytes]byte
	copy(word[:], key)
	return binary.BigEndian.Uint64(word[:])
}

// sortRefs sorts refs by the keys of their records, which begin with the same bytes: so many as from says. Records of
// equal keys keep their order.
//
// It compares 8 bytes of all keys, in the refs alone, and then the next ones of those that do not differ: a record is
// read a few times only.
func sortRefs(a *arena, refs []sortRef, from int) {
	from = commonBytes(a, refs, from)
	ended := false // a key has no more bytes
	for i, r := range refs {
		key := a.at(r.ref).text()[from:]
		ended = ended || len(key) <= wordBytes
		refs[i].word = beginOf(key)
	}
	slices.SortFunc(refs, func(x, y sortRef) int {
		if c := cmp.Compare(x.word, y.word); c != 0 {
			return c
		}
		return cmp.Compare(x.ref, y.ref)
	})
	for start, end := 0, 0; start < len(refs); start = end {
		for end = start + 1; end < len(refs) && refs[end].word == refs[start].word; {
			end++
		}
		switch same := refs[start:end]; {
		case len(same) == 1:
		case !ended:
			sortRefs(a, same, from+wordBytes)
		default: // the zeros after the end of a key can be those of another one
			slices.SortFunc(same, func(x, y sortRef) int {
				if c := bytes.Compare(a.at(x.ref).text()[from:], a.at(y.ref).text()[from:]); c != 0 {
					return c
				}
				return cmp.Compare(x.ref, y.ref)
			})
		}
	}
}

// commonBytes returns with how many same bytes all keys begin, at least from: small integers differ in their last ones.
func commonBytes(a *arena, refs []sortRef, from int) (n int) {
	if len(refs) == 0 {
		return from
	}
	first := a.at(refs[0].ref).text()
	n = len(first)
	for _, r := range refs[1:] {
		if n == from {
			break
		}
		key, same := a.at(r.ref).text(), from
		for same < min(n, len(key)) && key[same] == first[same] {
			same++
		}
		n = same
	}
	return n
}

// fewRefs are sorted by one goroutine.
const fewRefs = 1 << 14

// sortPieces sorts refs in pieces, none of them empty: one for every processor.
func sortPieces(a *arena, refs []sortRef) ([]piece, error) {
	count := 1
	if len(refs) > fewRefs {
		count = min(runtime.GOMAXPROCS(0), maxShards)
	}
	pieces, errs := make([]piece, count), make([]error, count)
	var sorting sync.WaitGroup
	for i := range pieces {
		pieces[i] = piece{arena: a, refs: refs[len(refs)*i/count : len(refs)*(i+1)/count]}
		sorting.Go(func() {
			errs[i] = protected(func() error {
				sortRefs(a, pieces[i].refs, 0)
				return nil
			})
		})
	}
	sorting.Wait()
	return pieces, errors.Join(errs...)
}

// piece reads sorted records.
type piece struct {
	arena   *arena
	refs    []sortRef // of the next records
	now     record    // nil: none
	ahead   int       // records that were touched
	touched uint64    // unused: it keeps the compiler from removing reads
}

// next reads the next record. It touches some at once, so that several reads wait for memory at the same time.
func (p *piece) next() {
	if p.now = nil; len(p.refs) == 0 {
		return
	}
	if p.ahead == 0 {
		p.ahead = min(len(p.refs), batchRows)
		for _, r := range p.refs[:p.ahead] {
			p.touched |= p.arena.at(r.ref).word()
		}
	}
	p.now = p.arena.whole(p.refs[0].ref)
	p.refs = p.refs[1:]
	p.ahead--
}

package op

import "sync"

// batchRows is the number of rows that are looked up together: a large table is not in the CPU
// cache, and several lookups can wait for memory at the same time.
const batchRows = 64

// batch holds the keys of some rows of a block.
type batch struct {
	skipped []bool // by row
	keys    []keys
	err     error // of the row after the last one
}

// keyOf says which key of a row is computed.
type keyOf struct {
	terms  Terms // nil: none
	origin int   // -1: the key by which other rows look up the row of the table
	table  int
}

func (k keyOf) of(row Row) (Key, bool, error) {
	if k.origin < 0 {
		return k.terms.Right(k.table, row)
	}
	return k.terms.Left(k.origin, k.table, row)
}

// keys are one key of every row of a batch.
type keys struct {
	all   []Key
	is    []keyIs
	texts []byte // bytes of the keys, never nil
}

// keyIs says whether a row has a key.
type keyIs uint8

const (
	noKey     keyIs = iota // it is skipped, or a part of its key is NULL
	hasKey                 // it has one
	failedKey              // its key is an error, if it is needed
)

// batches are reused: a batch is as large as all rows of many jobs.
var batches = sync.Pool{New: func() any { return &batch{skipped: make([]bool, 0, batchRows)} }}

// newBatch returns a batch of rows with so many keys.
func newBatch(numbers int) *batch {
	b := batches.Get().(*batch)
	for len(b.keys) < numbers {
		b.keys = append(b.keys, keys{make([]Key, 0, batchRows), make([]keyIs, 0, batchRows), []byte{}})
	}
	b.keys = b.keys[:numbers]
	return b
}

// rows returns the number of rows.
func (b *batch) rows() int { return len(b.skipped) }

func (k *keys) add(key Key, ok bool, err error) {
	is := noKey
	switch {
	case err != nil:
		is = failedKey
	case ok:
		is = hasKey
	}
	if is == hasKey && key.text != nil {
		at := len(k.texts)
		k.texts = append(k.texts, key.text...)
		key.text = k.texts[at:len(k.texts):len(k.texts)]
	}
	k.all, k.is = append(k.all, key), append(k.is, is)
}

// read fills the batch with the keys of rows of a block. row is used for their cells, which begin at base. keep tells
// whether a row is not skipped; nil: none is. The error of keep ends the batch.
func (b *batch) read(
	from block, start, end int, row Row, base int, keep func(i int, row Row) (bool, error), key []keyOf,
) {
	b.skipped, b.err = b.skipped[:0], nil
	for n := range b.keys {
		k := &b.keys[n]
		k.all, k.is, k.texts = k.all[:0], k.is[:0], k.texts[:0]
	}
	for i := start; i < end; i++ {
		from.fillKeys(row[base:], i)
		kept := true
		if keep != nil {
			if kept, b.err = keep(i, row); b.err != nil {
				return
			}
		}
		b.skipped = append(b.skipped, !kept)
		for n := range b.keys {
			switch {
			case key[n].terms == nil:
			case kept:
				b.keys[n].add(key[n].of(row))
			default:
				b.keys[n].add(Key{}, false, nil)
			}
		}
	}
}

package op

// batchRows is the number of rows that are looked up together: a large table is not in the CPU
// cache, and several lookups can wait for memory at the same time.
const batchRows = 64

// batch holds some rows and their keys.
type batch struct {
	width   int // cells of a row
	cells   Row // of all rows
	skipped []bool
	keys    []keys
	err     error // of the row after the last one
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

// newBatch returns a batch of rows with so many cells and keys.
func newBatch(width, numbers int) *batch {
	b := &batch{width: width, cells: make(Row, batchRows*width), skipped: make([]bool, 0, batchRows)}
	for range numbers {
		b.keys = append(b.keys, keys{make([]Key, 0, batchRows), make([]keyIs, 0, batchRows), []byte{}})
	}
	return b
}

// rows returns the number of rows.
func (b *batch) rows() int { return len(b.skipped) }

// row returns the cells of a row.
func (b *batch) row(i int) Row { return b.cells[i*b.width : (i+1)*b.width : (i+1)*b.width] }

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

// read fills the batch with rows of a block, whose cells begin at base. keep tells whether a row is not skipped. key
// returns its keys; nil: no key has this number. The error of keep ends the batch.
func (b *batch) read(
	from block, start, end, base int, keep func(i int, row Row) (bool, error),
	key []func(row Row) (Key, bool, error),
) {
	b.skipped, b.err = b.skipped[:0], nil
	for n := range b.keys {
		k := &b.keys[n]
		k.all, k.is, k.texts = k.all[:0], k.is[:0], k.texts[:0]
	}
	for i := start; i < end; i++ {
		row := b.row(i - start)
		fresh, err := from.fill(row[base:], i), error(nil)
		if fresh && keep != nil {
			if fresh, err = keep(i, row); err != nil {
				b.err = err
				return
			}
		}
		b.skipped = append(b.skipped, !fresh)
		for n := range b.keys {
			switch {
			case key[n] == nil:
			case fresh:
				b.keys[n].add(key[n](row))
			default:
				b.keys[n].add(Key{}, false, nil)
			}
		}
	}
}

package fold

import "github.com/fanfold/fanfold/dataset"

// batch holds the keys of some rows of the origin, and the matches of those rows.
type batch struct {
	keys   []joinKey // at most batchRows
	hasKey []bool
	texts  []byte     // bytes of the keys, never nil
	last   [][]uint32 // by side
}

func newBatch(sides int) *batch {
	b := &batch{
		keys: make([]joinKey, 0, batchRows), hasKey: make([]bool, 0, batchRows), texts: []byte{},
		last: make([][]uint32, sides),
	}
	for n := range b.last {
		b.last[n] = make([]uint32, batchRows)
	}
	return b
}

func (b *batch) add(k joinKey, hasKey bool) {
	if k.text != nil {
		at := len(b.texts)
		b.texts = append(b.texts, k.text...)
		k.text = b.texts[at:]
	}
	b.keys, b.hasKey = append(b.keys, k), append(b.hasKey, hasKey)
}

// read fills the batch with the keys of rows of a chunk.
func (b *batch) read(k *keyer, c *dataset.Chunk, from, to int, keys []keyColumn) {
	b.keys, b.hasKey, b.texts = b.keys[:0], b.hasKey[:0], b.texts[:0]
	for row := from; row < to; row++ {
		b.add(k.find(c, row, keys))
	}
}

// find looks up the keys of the batch. The first row of the batch has this number.
func (j *join) find(number int64) error {
	b := j.batch
	for n := j.origin + 1; n < len(j.inputs); n++ {
		switch s := j.sides[n]; {
		case s.table != nil:
			s.table.findAll(b.keys, b.hasKey, b.last[n])
		case s.spilled:
			if err := j.loaded.parts[n].findAll(b, number, b.last[n]); err != nil {
				return err
			}
		}
	}
	return nil
}

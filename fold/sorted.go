package fold

import (
	"bytes"
	"fmt"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// groupChunks is the maximum number of chunks that the rows of one key of a sorted side may span:
// they are in memory at the same time.
const groupChunks = 8

// areSorted tells whether the first dataset and these sides can be merged: the join has one
// integer key and no full side, all of them are sorted by the key, and every key has few rows. It
// reads the keys; if a dataset is not sorted, the first chunk usually shows it.
func (f *folder) areSorted(sides []int) (bool, error) {
	if len(f.plan.comparisons) != 1 || f.plan.hasFull() {
		return false, nil
	}
	for _, n := range append(sides, 0) {
		sorted, err := f.plan.inputs[n].isSorted(n == 0)
		if !sorted || err != nil {
			return false, err
		}
	}
	return true, nil
}

// isSorted tells whether the keys of a dataset never decrease, apart from nulls, and whether the
// rows of every key span at most groupChunks chunks; with anyNumber they may span more.
func (in *input) isSorted(anyNumber bool) (bool, error) {
	if in.columns[in.keys[0].number].Kind != report.KindInteger {
		return false, nil
	}
	var last []byte
	number, began := int64(0), int64(0) // the current chunk, and the chunk in which the last key begins
	for c, err := range in.chunks(in.keyNumbers(), 0) {
		if err != nil {
			return false, err
		}
		for row := range c.Rows() {
			key := c.Cell(0, row)
			if dataset.IsNull(key) {
				continue
			}
			if !isInteger(key) {
				return false, nil
			}
			switch order := compareIntegers(last, key); {
			case order > 0, order == 0 && !anyNumber && number-began >= groupChunks:
				return false, nil
			case order < 0:
				last, began = key, number
			}
		}
		number++
	}
	return true, nil
}

// group iterates over a sorted dataset, one group of rows of the same key at a time.
type group struct {
	in    *input
	rows  *reader
	chunk *dataset.Chunk // has the first row after the group
	row   int
	key   []byte // of the group; nil before the first and after the last one
	found []chunkRow
	ended bool

	counted bool // see join.count
}

// chunkRow is a row of a chunk.
type chunkRow struct {
	chunk *dataset.Chunk
	row   int
}

// find advances to a key, and tells whether any row has it. The keys of its calls must not
// decrease.
func (g *group) find(key []byte) (bool, error) {
	if dataset.IsNull(key) {
		return false, nil
	}
	for !g.ended && compareIntegers(g.key, key) < 0 {
		if err := g.next(); err != nil {
			return false, err
		}
	}
	return !g.ended && bytes.Equal(g.key, key), nil
}

// next advances to the rows of the next key. It skips null keys.
func (g *group) next() error {
	clear(g.found) // it references chunks
	g.key, g.found, g.counted = nil, g.found[:0], false
	for ; ; g.row++ {
		for g.chunk == nil || g.row == g.chunk.Rows() {
			c, err := g.rows.chunk()
			if err != nil {
				return err
			}
			if c == nil {
				g.ended = g.key == nil
				g.chunk = nil
				return nil
			}
			g.chunk, g.row = c, 0
		}
		switch key := g.chunk.Cell(g.in.keys[0].number, g.row); {
		case dataset.IsNull(key):
			continue
		case g.key == nil:
			g.key = key
		case !bytes.Equal(key, g.key):
			if compareIntegers(key, g.key) < 0 {
				return g.in.failed(fmt.Errorf("it is not sorted: key %s follows %s", key, g.key))
			}
			return nil
		}
		g.found = append(g.found, chunkRow{g.chunk, g.row})
	}
}

// isInteger tells whether a cell is an integer in its JSON form, so that equal integers have equal
// digits.
func isInteger(cell []byte) bool {
	digits := bytes.TrimPrefix(cell, []byte("-"))
	return len(digits) > 0 && skipDigits(digits, 0) == len(digits) && (digits[0] != '0' || len(cell) == 1)
}

// compareIntegers compares integers of any size by their digits. An empty one is less than all
// others.
func compareIntegers(a, b []byte) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) - len(b)
	}
	negative := a[0] == '-'
	switch {
	case negative != (b[0] == '-'):
		if negative {
			return -1
		}
		return 1
	case negative:
		a, b = b, a // both have a sign
	}
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return bytes.Compare(a, b)
}

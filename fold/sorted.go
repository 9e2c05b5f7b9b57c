package fold

import (
	"bytes"
	"fmt"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// groupChunks is how many chunks the rows of one key of a sorted side may be in: they are
// held together.
const groupChunks = 8

// areSorted tells whether the first dataset and these sides can be merged: the join is by
// one key of integers and has no full side, whose rest comes after all other rows; all are
// sorted by the key; and the rows of one key are few. It reads the keys, and most often
// finds in the first chunk that a dataset is not sorted.
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

// isSorted tells whether the keys of a dataset never become smaller, apart from those that
// are null, and whether the rows of each are in at most groupChunks chunks; or in any number
// of them.
func (in *input) isSorted(anyNumber bool) (bool, error) {
	if in.columns[in.keys[0]].Kind != report.KindInteger {
		return false, nil
	}
	var last []byte
	number, began := int64(0), int64(0) // chunks: this one, and where the rows of the last key begin
	for c, err := range in.chunks(in.keys, 0) {
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

// group goes over a sorted dataset, from the rows of one key to those of the next.
type group struct {
	in    *input
	rows  *reader
	chunk *dataset.Chunk // with the first row behind the group
	row   int
	key   []byte // of the group; nil before the first and after the last one
	found []chunkRow
	ended bool
}

// chunkRow is a row of a chunk.
type chunkRow struct {
	chunk *dataset.Chunk
	row   int
}

// find goes on to a key, and tells whether there are rows that have it. Keys do not become
// smaller.
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

// next goes on to the rows of the next key. A key that is null is never found.
func (g *group) next() error {
	clear(g.found) // which keeps chunks
	g.key, g.found = nil, g.found[:0]
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
		switch key := g.chunk.Cell(g.in.keys[0], g.row); {
		case dataset.IsNull(key):
			continue
		case g.key == nil:
			g.key = key
		case !bytes.Equal(key, g.key):
			if compareIntegers(key, g.key) < 0 {
				return g.in.failed(fmt.Errorf("the key %s comes behind %s", key, g.key))
			}
			return nil
		}
		g.found = append(g.found, chunkRow{g.chunk, g.row})
	}
}

// isInteger tells whether a cell is an integer as JSON and package dataset write it, so that
// it equals only the same digits.
func isInteger(cell []byte) bool {
	digits := bytes.TrimPrefix(cell, []byte("-"))
	return len(digits) > 0 && skipDigits(digits, 0) == len(digits) && (digits[0] != '0' || len(cell) == 1)
}

// compareIntegers compares the digits of integers of any size. None is less than all.
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
		a, b = b, a // with their signs, which are the same
	}
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return bytes.Compare(a, b)
}

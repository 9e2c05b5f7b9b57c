package op

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// groupChunks is the maximum number of chunks that the rows of one key of a sorted side may span:
// they are in memory at the same time.
const groupChunks = 8

// AreSorted tells whether the first table and these sides can be merged: both have the key as one integer column, no
// table keeps its own rows, all are sorted by their keys, and every key has few rows. It reads the keys; if a dataset
// is not sorted, the first chunk usually shows it.
func (f *Join) AreSorted(sides []int) (bool, error) {
	if f.Tables[0].Set == nil || slices.ContainsFunc(f.Tables, func(t *Table) bool { return t.Kind.Right }) {
		return false, nil
	}
	checked := map[int]bool{}
	for _, n := range sides {
		t := f.Tables[n]
		if t.Set == nil || t.Sorted == nil || t.Filtered {
			return false, nil
		}
		sorted, err := t.isSorted(t.Sorted[1], false)
		if sorted && err == nil && !checked[t.Sorted[0]] {
			checked[t.Sorted[0]] = true
			sorted, err = f.Tables[0].isSorted(t.Sorted[0], true)
		}
		if !sorted || err != nil {
			return false, err
		}
	}
	return true, nil
}

// isSorted tells whether the keys in a column of a dataset never decrease, apart from nulls, and whether the
// rows of every key span at most groupChunks chunks; with anyNumber they may span more.
func (t *Table) isSorted(column int, anyNumber bool) (bool, error) {
	if t.Set.Columns()[column].Kind != report.KindInteger {
		return false, nil
	}
	var last []byte
	number, began := int64(0), int64(0) // the current chunk, and the chunk in which the last key begins
	for b, err := range each(t, []int{column}, 0) {
		if err != nil {
			return false, err
		}
		for row := range b.rows() {
			key := b.(*chunkBlock).Cell(0, row)
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

// sameKey iterates over a sorted dataset, one group of rows of the same key at a time.
type sameKey struct {
	of    *Table
	key   int // number of the key column among those that are read
	rows  blocks
	chunk *chunkBlock // has the first row after the group
	row   int
	value []byte // key of the group; nil before the first and after the last one
	found []chunkRow
	ended bool

	counted bool // see worker.count
}

func (t *Table) merge() *sameKey {
	return &sameKey{of: t, key: slices.Index(t.Columns, t.Sorted[1]), rows: t.read(t.Columns, 0)}
}

// chunkRow is a row of a chunk.
type chunkRow struct {
	chunk *chunkBlock
	row   int
}

// find advances to a key, and tells whether any row has it. The keys of its calls must not
// decrease.
func (g *sameKey) find(key []byte) (bool, error) {
	if dataset.IsNull(key) {
		return false, nil
	}
	for !g.ended && compareIntegers(g.value, key) < 0 {
		if err := g.next(); err != nil {
			return false, err
		}
	}
	return !g.ended && bytes.Equal(g.value, key), nil
}

// next advances to the rows of the next key. It skips null keys.
func (g *sameKey) next() error {
	clear(g.found) // it references chunks
	g.value, g.found, g.counted = nil, g.found[:0], false
	for ; ; g.row++ {
		for g.chunk == nil || g.row == g.chunk.Rows() {
			b, err := g.rows.next()
			if err != nil {
				return err
			}
			if b == nil {
				g.ended = g.value == nil
				g.chunk = nil
				return nil
			}
			g.chunk, g.row = b.(*chunkBlock), 0
		}
		switch key := g.chunk.Cell(g.key, g.row); {
		case dataset.IsNull(key):
			continue
		case g.value == nil:
			g.value = key
		case !bytes.Equal(key, g.value):
			if compareIntegers(key, g.value) < 0 {
				return g.of.failed(fmt.Errorf("it is not sorted: key %s follows %s", key, g.value))
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
	return len(digits) > 0 && !slices.ContainsFunc(digits, func(c byte) bool { return c < '0' || c > '9' }) &&
		(digits[0] != '0' || len(cell) == 1)
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

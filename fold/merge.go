package fold

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// ErrUnmergeable is returned by Merge where a dataset does not come in the order of
// its keys, or has too many rows of one key.
var ErrUnmergeable = errors.New("fold: a dataset cannot be merged")

// Mergeable tells whether Merge can do: one key of integers, and no FULL join, whose
// rest comes after all other rows.
func Mergeable(r *report.Report, datasets map[string]Dataset) bool {
	if len(r.Join.Listeners) < 2 || len(r.Join.Keys) != 1 {
		return false
	}
	inputs, err := newInputs(r, datasets)
	if err != nil {
		return false
	}
	for _, in := range inputs {
		if in.Kind == report.Full || in.Columns[in.keys[0]].Kind != report.KindInteger {
			return false
		}
	}
	return true
}

// Merge is Fold for datasets that come in the order of their keys, and writes the
// same. It holds no dataset in memory, but the rows of one key, and needs no table.
// That a dataset is not sorted is found in its first rows, or later; then it
// returns ErrUnmergeable, as it does where the rows of one key need more than the
// room, and what was written until then is of no use. The datasets are those of a
// report that is Mergeable.
//
// A dataset that is not sorted can have a line without what belongs to it. With a text
// for NULL, or in a file of one column, that can be longer than the whole line, and gaps
// are worse to compress: a file that is too large then is ErrUnmergeable as well.
func Merge(r *report.Report, datasets map[string]Dataset, w io.Writer, room Room) (Made, error) {
	made, err := write(r, datasets, w, func(f *fold, inputs []*input) error { return f.merge(inputs, room.bytes()/int64(len(inputs))) })
	if errors.Is(err, format.ErrBytes) && (r.CSV.Null != nil || r.CSV.Gzip || len(r.CSV.Columns) == 1) {
		err = fmt.Errorf("%w: %w", ErrUnmergeable, err)
	}
	return made, err
}

// merge joins sorted datasets: a sort-merge join, whose first listener's rows are
// given one by one. The rows of one key in one dataset have most bytes.
func (f *fold) merge(inputs []*input, most int64) error {
	m := merger{fold: f, sides: make([]*group, len(inputs)), rows: make([][]byte, len(inputs))}
	for n, in := range inputs[1:] {
		m.sides[n+1] = &group{cursor: cursor{in: in}, layout: f.layout, number: n + 1, rows: []byte{}, most: most}
	}
	var row []byte
	for c := (cursor{in: inputs[0]}); ; c.row++ {
		key, err := c.key()
		if err == io.EOF {
			return m.finish()
		}
		if err != nil {
			return err
		}
		row = f.layout.AppendRow(row[:0], 0, c.chunk, c.row)
		if err := m.add(row, key); err != nil {
			return err
		}
	}
}

// cursor goes over the rows of a dataset.
type cursor struct {
	in    *input
	chunk *dataset.Chunk
	row   int
	last  []byte // key of the rows before; nil before the first one that has one
}

// key returns the key of the row that the cursor is at, nil where it is null, or
// io.EOF itself. Keys must not become smaller.
func (c *cursor) key() ([]byte, error) {
	for c.chunk == nil || c.row == c.chunk.Rows() {
		chunk, err := c.in.next()
		if err != nil {
			return nil, err
		}
		c.chunk, c.row = chunk, 0
	}
	key := c.chunk.Cell(c.in.keys[0], c.row)
	if dataset.IsNull(key) {
		return nil, nil
	}
	if !isInteger(key) || c.last != nil && compareIntegers(key, c.last) < 0 {
		return nil, fmt.Errorf("%w: %q is not sorted by its key", ErrUnmergeable, c.in.Listener)
	}
	c.last = key
	return key, nil
}

// group is a cursor over the dataset of a side, and the rows of one key.
type group struct {
	cursor
	layout *format.Layout
	number int    // of the listener
	of     []byte // the key; nil before the first group and after the last one
	rows   []byte // what layout made of them, never nil
	ends   []int  // of each in rows
	most   int64
	ended  bool
}

// next goes on to the rows of the next key.
func (g *group) next() error {
	g.of, g.rows, g.ends = nil, g.rows[:0], g.ends[:0]
	for ; ; g.row++ {
		key, err := g.key()
		switch {
		case err == io.EOF:
			g.ended = g.of == nil
			return nil
		case err != nil:
			return err
		case key == nil:
			continue // a key with a null is never found
		case g.of == nil:
			g.of = key
		case !bytes.Equal(key, g.of):
			return nil
		}
		g.rows = g.layout.AppendRow(g.rows, g.number, g.chunk, g.row)
		g.ends = append(g.ends, len(g.rows))
		if int64(len(g.rows)+8*len(g.ends)) > g.most {
			return fmt.Errorf("%w: %q has many rows of one key", ErrUnmergeable, g.in.Listener)
		}
	}
}

// find goes on to a key, and tells whether there are rows that have it.
func (g *group) find(key []byte) (bool, error) {
	for !g.ended && (g.of == nil || compareIntegers(g.of, key) < 0) {
		if err := g.next(); err != nil {
			return false, err
		}
	}
	return !g.ended && bytes.Equal(g.of, key), nil
}

// merger puts the rows of sorted datasets together, as join does.
type merger struct {
	*fold
	sides []*group // for each listener; the first one is nil
	rows  [][]byte // for each listener, its part of the current line, or nil
}

// add joins a row of the first listener.
func (m *merger) add(row, key []byte) error {
	clear(m.rows)
	m.rows[0] = row
	for n, g := range m.sides {
		if n == 0 {
			continue
		}
		found := false
		if key != nil {
			var err error
			if found, err = g.find(key); err != nil {
				return err
			}
		}
		if found {
			m.rows[n] = g.rows
		} else if g.in.Kind == report.Inner {
			return nil
		}
	}
	return m.product(1)
}

// product emits every combination of the rows that have the current key.
func (m *merger) product(n int) error {
	for n < len(m.sides) && m.rows[n] == nil {
		n++
	}
	if n == len(m.sides) {
		return m.line(0, m.rows)
	}
	g, start := m.sides[n], 0
	for _, end := range g.ends {
		m.rows[n] = g.rows[start:end]
		start = end
		if err := m.product(n + 1); err != nil {
			return err
		}
	}
	return nil
}

// finish reads what is left of the sides: a smaller key in it belongs to a row that
// was written without it.
func (m *merger) finish() error {
	for _, g := range m.sides[1:] {
		for !g.ended {
			if err := g.next(); err != nil {
				return err
			}
		}
	}
	return nil
}

// isInteger tells whether a cell is an integer as JSON and this package write it,
// so that it is equal only to the same digits.
func isInteger(cell []byte) bool {
	digits := bytes.TrimPrefix(cell, []byte("-"))
	return len(digits) > 0 && skipDigits(digits, 0) == len(digits) && (digits[0] != '0' || len(cell) == 1)
}

// compareIntegers compares the digits of integers of any size.
func compareIntegers(a, b []byte) int {
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

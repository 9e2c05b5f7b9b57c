package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// Layout is how the rows of listeners make the lines of a file. What a row gives
// to a line is made once, as text, however many lines it is in: a segment for each
// run of columns that stand side by side.
//
// A key is shown by the listener that a line comes from, its origin: what joins it
// has the same key, and what it lacks has none.
type Layout struct {
	pieces   []piece
	segments [][][]int   // for each listener, for each of its segments, the columns
	columns  int         // of the file
	style    *style      // nil: as RFC 4180 has it
	moments  [][]moments // for each listener and each of its columns; with a style
}

// Source is a dataset whose rows lines are made of.
type Source struct {
	Listener string
	Kind     report.JoinType
	Columns  []dataset.Column
}

// Find returns the number of a column.
func (s *Source) Find(name string) (int, error) {
	i := slices.IndexFunc(s.Columns, func(c dataset.Column) bool { return c.Name == name })
	if i < 0 {
		return 0, fmt.Errorf("the dataset of listener %q has no column %q", s.Listener, name)
	}
	return i, nil
}

// piece is a part of a line.
type piece struct {
	listener int    // fromOrigin: the one that the line comes from; or fixedText
	segments []int  // for each listener, which of its segments
	blank    []byte // stands for it where that listener has no row
	first    int    // its first column, of those of the file
}

const fromOrigin = -1

// fixedText is the listener of a piece that is its blank in every line.
const fixedText = -2

// NewLayout finds where the columns of the file come from.
func NewLayout(r *report.Report, inputs []Source) (*Layout, error) {
	if len(r.CSV.Columns) == 0 {
		return nil, errors.New("format: a CSV without columns")
	}
	l := &Layout{segments: make([][][]int, len(inputs)), columns: len(r.CSV.Columns), style: newStyle(&r.CSV)}
	if l.style != nil {
		for _, in := range inputs {
			m, err := l.style.moments(in.Columns)
			if err != nil {
				return nil, err
			}
			l.moments = append(l.moments, m)
		}
	}
	full := slices.ContainsFunc(inputs, func(in Source) bool { return in.Kind == report.Full })
	last := fixedText
	for i, c := range r.CSV.Columns {
		if cell, ok := r.CSV.Fixed[i]; ok {
			l.pieces = append(l.pieces, piece{listener: fixedText, blank: l.fixed([]byte(cell))})
			last = fixedText
			continue
		}
		columns, err := sources(r, c, inputs)
		if err != nil {
			return nil, err
		}
		owner := fromOrigin
		if c.Listener != "" {
			owner = slices.IndexFunc(inputs, func(in Source) bool { return in.Listener == c.Listener })
		} else if !full {
			owner = 0 // every line comes from the first
		}
		l.add(i, owner, columns, inputs, owner != last)
		last = owner
	}
	return l, nil
}

// sources returns, for each listener, the number of the column that the file shows,
// or -1.
func sources(r *report.Report, c report.CSVColumn, inputs []Source) ([]int, error) {
	key := slices.Index(r.Join.Keys, c.Column)
	if c.Listener == "" && key < 0 {
		return nil, fmt.Errorf("format: CSV column %q: the join has no key %q", c.Label, c.Column)
	}
	columns, found := make([]int, len(inputs)), false
	for n, in := range inputs {
		columns[n] = -1
		name := c.Column
		switch {
		case c.Listener == "" && key >= len(r.Join.Listeners[n].Keys):
			return nil, fmt.Errorf("format: CSV column %q: listener %q has no key %q", c.Label, in.Listener, c.Column)
		case c.Listener == "":
			name = r.Join.Listeners[n].Keys[key]
		case c.Listener != in.Listener:
			continue
		}
		var err error
		if columns[n], err = in.Find(name); err != nil {
			return nil, fmt.Errorf("format: CSV column %q: %w", c.Label, err)
		}
		found = true
	}
	if !found {
		return nil, fmt.Errorf("format: CSV column %q: listener %q is not joined", c.Label, c.Listener)
	}
	return columns, nil
}

// add adds a column of the file to its last piece, or begins a new one.
func (l *Layout) add(number, owner int, columns []int, inputs []Source, begin bool) {
	if begin {
		p := piece{listener: owner, segments: make([]int, len(inputs)), first: number}
		for n := range inputs {
			if l.gives(n, owner, inputs) {
				p.segments[n] = len(l.segments[n])
				l.segments[n] = append(l.segments[n], nil)
			}
		}
		l.pieces = append(l.pieces, p)
	}
	if p := &l.pieces[len(l.pieces)-1]; l.style != nil {
		p.blank = l.style.blank(p.blank, begin)
	} else if !begin {
		p.blank = append(p.blank, ',')
	}
	for n := range inputs {
		if l.gives(n, owner, inputs) {
			segment := &l.segments[n][len(l.segments[n])-1]
			*segment = append(*segment, columns[n])
		}
	}
}

// gives tells whether a listener has a segment in the pieces of this owner: lines
// come from the first and from those that are full.
func (l *Layout) gives(n, owner int, inputs []Source) bool {
	return n == owner || owner == fromOrigin && (n == 0 || inputs[n].Kind == report.Full)
}

// AppendRow appends what a row of a listener gives to a line: its segments, each
// but the last with its length before it.
func (l *Layout) AppendRow(dst []byte, n int, c *dataset.Chunk, row int) []byte {
	segments := l.segments[n]
	for k, columns := range segments {
		last := k == len(segments)-1
		if !last {
			dst = append(dst, 0, 0, 0, 0)
		}
		at := len(dst)
		if l.style != nil {
			dst = l.style.appendSegment(dst, c, row, columns, l.moments[n])
		} else {
			for i, column := range columns {
				if i > 0 {
					dst = append(dst, ',')
				}
				cell := len(dst)
				dst = appendCSV(dst, c.Cell(column, row))
				if zeros := c.Columns()[column].Zerofill; zeros > 0 {
					dst = zeroFilled(dst, cell, zeros)
				}
			}
		}
		if !last {
			binary.LittleEndian.PutUint32(dst[at-4:], uint32(len(dst)-at))
		}
	}
	return dst
}

// AppendLine appends the line of these rows; nil is a row that is not there.
func (l *Layout) AppendLine(dst []byte, origin int, rows [][]byte) []byte {
	start := len(dst)
	for i := range l.pieces {
		p := &l.pieces[i]
		if i > 0 {
			dst = append(dst, l.delimiter())
		}
		n := p.listener
		if n == fromOrigin {
			n = origin
		}
		if n == fixedText || rows[n] == nil {
			dst = append(dst, p.blank...)
			continue
		}
		cells := segment(rows[n], p.segments[n], len(l.segments[n]))
		if l.style != nil {
			cells = l.style.shown(cells, p.first)
		}
		dst = append(dst, cells...)
	}
	return l.endLine(dst, start)
}

// Refused returns ErrFormula, where the file must have no formula and has one.
func (l *Layout) Refused() error {
	if l.style == nil {
		return nil
	}
	return l.style.refused()
}

// Escaped returns how many formulas were escaped in each column, by its label; nil:
// none.
func (l *Layout) Escaped() map[string]int64 {
	if l.style == nil {
		return nil
	}
	return l.style.escaped()
}

// fixed returns the text of a cell that is the same in every line.
func (l *Layout) fixed(cell []byte) []byte {
	if l.style == nil {
		return appendCSV(nil, cell)
	}
	text, _ := l.style.appendCell(nil, cell, &dataset.Column{Kind: report.KindText}, nil)
	return text
}

func (l *Layout) delimiter() byte {
	if l.style != nil {
		return l.style.delimiter
	}
	return ','
}

func (l *Layout) endLine(dst []byte, start int) []byte {
	if l.style != nil {
		return l.style.endLine(dst, start)
	}
	return endCSVLine(dst, start)
}

// AppendHeader appends the labels of the columns.
func (l *Layout) AppendHeader(dst []byte, columns []report.CSVColumn) []byte {
	start := len(dst)
	for i, c := range columns {
		if i > 0 {
			dst = append(dst, l.delimiter())
		}
		if l.style != nil {
			dst = l.style.appendLabel(dst, c.Label)
		} else {
			dst = appendCSVText(dst, []byte(c.Label))
		}
	}
	return l.endLine(dst, start)
}

// segment returns one of the segments of a row.
func segment(row []byte, number, count int) []byte {
	for i := range count - 1 {
		end := 4 + binary.LittleEndian.Uint32(row)
		if i == number {
			return row[4:end]
		}
		row = row[end:]
	}
	return row
}

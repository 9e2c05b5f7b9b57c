package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Dataset gives the chunks of one listener, in order. It is used by one goroutine
// at a time.
type Dataset interface {
	// Columns returns the columns that every chunk has.
	Columns() []Column
	// Next returns the next chunk, or io.EOF itself after the last one; an error
	// that wraps io.EOF is an error, such as that of a connection that broke. All
	// chunks stay valid.
	Next() (*Chunk, error)
}

// Needed returns, for each listener that the join or the CSV uses, the columns
// that are used, in the listener's order. A Fold needs no others.
func (r *Report) Needed() map[string][]string {
	needed := map[string][]string{}
	add := func(listener, column string) {
		if !slices.Contains(needed[listener], column) {
			needed[listener] = append(needed[listener], column)
		}
	}
	for _, c := range r.CSV.Columns {
		if c.Listener != "" {
			add(c.Listener, c.Column)
		}
	}
	for _, joined := range r.Join.Listeners {
		for i, key := range joined.Keys {
			// A single listener joins with nothing, so its key is only output.
			if len(r.Join.Listeners) > 1 || i < len(r.Join.Keys) && r.shows(r.Join.Keys[i]) {
				add(joined.Listener, key)
			}
		}
	}
	for name, columns := range needed {
		if l, _, ok := r.Listener(name); ok {
			slices.SortStableFunc(columns, func(a, b string) int {
				return slices.Index(l.Columns, a) - slices.Index(l.Columns, b)
			})
		}
	}
	return needed
}

// shows tells whether a key of the join is a column of the file.
func (r *Report) shows(key string) bool {
	return slices.ContainsFunc(r.CSV.Columns, func(c CSVColumn) bool { return c.Listener == "" && c.Column == key })
}

// Fold joins the datasets, writes the CSV with its header to w, and returns the
// number of rows below the header. All datasets but the first of the join are
// held in memory. The first error of a dataset or of w ends it and is returned,
// wrapped; what was written until then is of no use.
func (r *Report) Fold(datasets map[string]Dataset, w io.Writer) (rows int64, err error) {
	return r.write(datasets, w, func(f *fold, inputs []*input) error { return f.hash(inputs, r.Join.FoldCase) })
}

// write writes the header, and below it what join emits.
func (r *Report) write(datasets map[string]Dataset, w io.Writer, join func(*fold, []*input) error) (rows int64, err error) {
	inputs, err := r.inputs(datasets)
	if err != nil {
		return 0, err
	}
	defer func() {
		for _, in := range inputs {
			in.ahead.close()
		}
	}()
	out := buffers.Get().(*bufio.Writer)
	out.Reset(w)
	defer func() {
		out.Reset(nil)
		buffers.Put(out)
	}()
	f := &fold{out: out, current: make([]spot, len(inputs))}
	if f.cells, err = r.cells(inputs); err != nil {
		return 0, err
	}
	if err := f.header(r.CSV.Columns); err != nil {
		return 0, err
	}
	if err := join(f, inputs); err != nil {
		return f.rows, err
	}
	if err := f.out.Flush(); err != nil {
		return f.rows, fmt.Errorf("report: CSV output: %w", err)
	}
	return f.rows, nil
}

// buffers are of files that have ended: most files are smaller than one.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 64<<10) }}

// fold is one run of Fold or Merge.
type fold struct {
	current []spot   // for each listener, its part of the current row
	cells   [][]cell // for each column of the file, where its value can be
	line    csvLine
	out     *bufio.Writer
	rows    int64
}

// cell is a column of a listener, by their numbers.
type cell struct{ listener, column int }

func (f *fold) header(columns []CSVColumn) error {
	for _, c := range columns {
		f.line.text([]byte(c.Label))
	}
	return f.endLine()
}

// hash joins with a table for each dataset but the first: a hash join.
func (f *fold) hash(inputs []*input, foldCase bool) error {
	j := join{
		keyer: newKeyer(comparisons(inputs, foldCase)),
		sides: make([]*side, len(inputs)),
		rows:  f.current,
		first: make([]int32, len(inputs)),
		emit:  f.emit,
	}
	for n, in := range inputs {
		j.keys = append(j.keys, in.keys)
		if n == 0 {
			continue
		}
		s, err := newSide(in.kind, in, j.keyer)
		if err != nil {
			return fmt.Errorf("report: dataset of listener %q: %w", in.name, err)
		}
		j.sides[n] = s
	}
	for {
		c, err := inputs[0].next()
		if err == io.EOF { // itself: wrapped, it is a connection that broke
			return j.finish()
		}
		if err != nil {
			return fmt.Errorf("report: dataset of listener %q: %w", inputs[0].name, err)
		}
		for row := range c.Rows() {
			if err := j.add(0, spot{c, row}); err != nil {
				return err
			}
		}
	}
}

// emit writes the current row of the join.
func (f *fold) emit() error {
	for _, candidates := range f.cells {
		f.line.cell(f.value(candidates))
	}
	f.rows++
	return f.endLine()
}

// value returns the first value that is there. For a key that is the first one
// that is not null: a row with a null in its key has met no other.
func (f *fold) value(candidates []cell) []byte {
	for _, c := range candidates {
		if p := f.current[c.listener]; p.chunk != nil {
			return p.chunk.Cell(c.column, p.row)
		}
	}
	return nil
}

func (f *fold) endLine() error {
	_, err := f.out.Write(f.line.end())
	f.line.reset()
	if err != nil {
		return fmt.Errorf("report: CSV output: %w", err)
	}
	return nil
}

package report

import (
	"io"
	"slices"
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
// number of rows below the header. All datasets but the first of the join are held
// in memory, as far as there is room; with more rows than that, all of them go through
// scratch files, and the lines too. The first error of a dataset or of w ends it and is returned,
// wrapped; what was written until then is of no use. w is used by one goroutine at
// a time, and by none after the return.
func (r *Report) Fold(datasets map[string]Dataset, w io.Writer, room Room) (rows int64, err error) {
	return r.write(datasets, w, func(f *fold, inputs []*input) error { return f.hash(inputs, r.Join.FoldCase, room) })
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
	f := &fold{out: newOutput(w)}
	defer func() { f.out.keep(f.out.lines) }()
	if f.layout, err = r.layout(inputs); err != nil {
		return 0, err
	}
	f.header(r.CSV.Columns)
	if err := join(f, inputs); err != nil {
		_ = f.out.close() // its error is the one that join has met, if any
		return f.rows, err
	}
	return f.rows, f.out.flush()
}

// fold is one run of Fold or Merge.
type fold struct {
	layout *layout
	out    *output
	rows   int64
}

func (f *fold) header(columns []CSVColumn) {
	for i, c := range columns {
		if i > 0 {
			f.out.lines = append(f.out.lines, ',')
		}
		f.out.lines = appendCSVText(f.out.lines, []byte(c.Label))
	}
	f.out.lines = endCSVLine(f.out.lines, 0)
}

// line writes the line of these rows.
func (f *fold) line(origin int, rows [][]byte) error {
	f.out.lines = f.layout.appendLine(f.out.lines, origin, rows)
	f.rows++
	return f.out.ended()
}

// hash joins with a table for each dataset but the first: a hash join.
func (f *fold) hash(inputs []*input, foldCase bool, room Room) error {
	m := &maker{layout: f.layout, keyer: newKeyer(comparisons(inputs, foldCase))}
	rows, sides := make([]*held, len(inputs)), make([]*side, len(inputs))
	left := room.bytes()
	for n, in := range inputs {
		if n == 0 {
			continue
		}
		rows[n] = &held{}
		all, err := m.hold(n, in, rows[n], left)
		if err != nil {
			return err
		}
		if !all {
			return f.spill(m, inputs, rows, room)
		}
		left -= rows[n].used()
		sides[n] = &side{kind: in.kind, held: rows[n]}
	}
	for _, s := range sides[1:] {
		s.table = newHashtable(s.held)
	}
	j := newJoin(sides, func(j *join) error { return f.line(j.origin, j.rows) })
	if err := m.probe(inputs[0], j); err != nil {
		return err
	}
	return j.finish()
}

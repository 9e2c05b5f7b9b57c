package fold

import (
	"errors"
	"io"
	"slices"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// Dataset gives the chunks of one listener, in order. It is used by one goroutine
// at a time.
type Dataset interface {
	// Columns returns the columns that every chunk has.
	Columns() []dataset.Column
	// Next returns the next chunk, or io.EOF itself after the last one; an error
	// that wraps io.EOF is an error, such as that of a connection that broke. All
	// chunks stay valid.
	Next() (*dataset.Chunk, error)
}

// Needed returns, for each listener that the join or the CSV uses, the columns
// that are used, in the listener's order. A Fold needs no others.
func Needed(r *report.Report) map[string][]string {
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
			if len(r.Join.Listeners) > 1 || i < len(r.Join.Keys) && shows(r, r.Join.Keys[i]) {
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
func shows(r *report.Report, key string) bool {
	return slices.ContainsFunc(r.CSV.Columns, func(c report.CSVColumn) bool { return c.Listener == "" && c.Column == key })
}

// Made says what a file has become.
type Made struct {
	Rows     int64            // below the header
	Formulas map[string]int64 // cells that were escaped as formulas, by the label of their column; nil: none
}

// Fold joins the datasets, and writes the CSV with its header to w. All datasets but the first of the join are held
// in memory, as far as there is room; with more rows than that, all of them go through
// scratch files, and the lines too. A file beyond csv.max_rows or max_bytes, or with a
// formula where there must be none, is an error: ErrTooLarge or ErrFormula. The first error of a dataset or of w ends it and is returned,
// wrapped; what was written until then is of no use. w is used by one goroutine at
// a time, and by none after the return.
func Fold(r *report.Report, datasets map[string]Dataset, w io.Writer, room Room) (Made, error) {
	return write(r, datasets, w, func(f *fold, inputs []*input) error { return f.hash(inputs, r.Join.FoldCase, room) })
}

// write writes the header, and below it what join emits.
func write(r *report.Report, datasets map[string]Dataset, w io.Writer, join func(*fold, []*input) error) (made Made, err error) {
	inputs, err := newInputs(r, datasets)
	if err != nil {
		return made, err
	}
	defer func() {
		for _, in := range inputs {
			in.ahead.close()
		}
	}()
	file := format.NewFile(&r.CSV, w)
	defer file.End()
	f := &fold{out: format.NewOutput(file), most: r.CSV.MaxRows}
	defer func() { f.out.Keep(f.out.Lines) }()
	if f.layout, err = format.NewLayout(r, sources(inputs)); err != nil {
		return made, err
	}
	if r.CSV.BOM {
		f.out.Lines = append(f.out.Lines, "\ufeff"...)
	}
	f.out.Lines = f.layout.AppendHeader(f.out.Lines, r.CSV.Columns)
	if err := join(f, inputs); err != nil {
		_ = f.out.Close() // its error is the one that join has met, if any
		return made, err
	}
	if err := errors.Join(f.out.Flush(), file.Close()); err != nil {
		return made, err
	}
	made.Rows = f.rows
	made.Formulas = f.layout.Escaped()
	return made, nil
}

// sources are the datasets of which the lines are made.
func sources(inputs []*input) []format.Source {
	all := make([]format.Source, len(inputs))
	for n, in := range inputs {
		all[n] = in.Source
	}
	return all
}

// fold is one run of Fold or Merge.
type fold struct {
	layout *format.Layout
	out    *format.Output
	rows   int64
	most   int64 // rows; 0: any number
}

// line writes the line of these rows.
func (f *fold) line(origin int, rows [][]byte) error {
	f.out.Lines = f.layout.AppendLine(f.out.Lines, origin, rows)
	return f.ended()
}

// ended counts a line.
func (f *fold) ended() error {
	f.rows++
	if f.most > 0 && f.rows > f.most {
		return format.TooLarge("%d rows, which is csv.max_rows", f.most)
	}
	if err := f.layout.Refused(); err != nil {
		return err
	}
	return f.out.Ended()
}

// hash joins with a table for each dataset but the first: a hash join.
func (f *fold) hash(inputs []*input, folding report.CaseFolding, room Room) error {
	m := &maker{layout: f.layout, keyer: newKeyer(comparisons(inputs, folding))}
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
		sides[n] = &side{kind: in.Kind, held: rows[n]}
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

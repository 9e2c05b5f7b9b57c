package fold

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/fold/query"
	"github.com/fanfold/fanfold/report"
)

// Plan is the fold of a report whose datasets have all columns that it needs.
type Plan struct {
	columns [][]dataset.Column // see Columns
	shown   [][]int            // by origin and column of the file: the number of its cell in a row

	inputs      []*input       // of a join, in its order
	fixed       map[int][]byte // by column of the file: its cell in every row
	comparisons []comparison

	query *query.Plan // of a report whose fold is a SELECT; nil: a join
}

// input is the dataset of one listener of a join.
type input struct {
	op.Table
	at   int // its first cell in a row
	keys []keyColumn
}

// NewPlan returns the plan of a report, which package config has validated. It checks that the
// datasets, by listener, have the columns of the join and of the file.
func NewPlan(r *report.Report, datasets map[string]Dataset) (*Plan, error) {
	p := &Plan{fixed: map[int][]byte{}}
	if err := p.addInputs(r.Join, datasets); err != nil {
		return nil, err
	}
	if err := p.addColumns(r); err != nil {
		return nil, err
	}
	p.compare(r.Join.FoldCase)
	p.finish()
	return p, nil
}

// Columns returns the columns of the file for the rows of every origin. The origin of a row is
// the number of the dataset, in the order of the join, that its keys come from. A dataset that is
// not the origin of any row has no columns.
func (p *Plan) Columns() [][]dataset.Column { return p.columns }

func (p *Plan) addInputs(join report.Join, datasets map[string]Dataset) error {
	for _, joined := range join.Listeners {
		set := datasets[joined.Listener]
		if set == nil {
			return fmt.Errorf("listener %q has no dataset", joined.Listener)
		}
		in := &input{}
		in.Table = op.Table{Name: joined.Listener, Set: set, Cells: len(set.Columns())}
		in.Kind = op.JoinKind{Left: joined.Type != report.Inner, Right: joined.Type == report.Full}
		for column := range set.Columns() {
			in.Columns = append(in.Columns, column)
		}
		if n := len(p.inputs); n > 0 {
			in.at = p.inputs[n-1].at + p.inputs[n-1].Cells
		}
		p.inputs = append(p.inputs, in)
		if len(join.Listeners) == 1 {
			break // it needs its keys only if the file shows them
		}
		for _, name := range joined.Keys {
			column, err := in.find(name)
			if err != nil {
				return err
			}
			in.keys = append(in.keys, keyColumn{number: column})
			in.KeyColumns = append(in.KeyColumns, column)
		}
	}
	return nil
}

// finish says which columns a join needs, and which inputs can be merged.
func (p *Plan) finish() {
	for n, in := range p.inputs {
		if in.isOrigin(n) {
			in.Kept = slices.Clone(in.KeyColumns) // rows without a match are looked up in the inputs after it
		}
		for _, shown := range p.shown {
			for _, cell := range shown {
				if column := cell - in.at; column >= 0 && column < in.Cells && !slices.Contains(in.Kept, column) {
					in.Kept = append(in.Kept, column)
				}
			}
		}
		if len(in.keys) == 1 {
			in.Sorted = &[2]int{p.inputs[0].keys[0].number, in.keys[0].number}
		}
	}
}

// find returns the number of a column.
func (in *input) find(name string) (int, error) {
	i := slices.IndexFunc(in.Set.Columns(), func(c dataset.Column) bool { return c.Name == name })
	if i < 0 {
		return 0, fmt.Errorf("the dataset of listener %q has no column %q", in.Name, name)
	}
	return i, nil
}

// addColumns finds where the columns of the file come from.
func (p *Plan) addColumns(r *report.Report) error {
	p.columns, p.shown = make([][]dataset.Column, len(p.inputs)), make([][]int, len(p.inputs))
	for n, in := range p.inputs {
		if in.isOrigin(n) {
			p.columns[n] = make([]dataset.Column, len(r.File.Columns))
			p.shown[n] = make([]int, len(r.File.Columns))
		}
	}
	for i, c := range r.File.Columns {
		var err error
		switch cell, fixed := r.File.Fixed[i]; {
		case fixed:
			p.fixed[i] = []byte(cell)
			p.setColumn(i, -1, dataset.Column{Kind: report.KindText})
		case c.Listener == "":
			err = p.addKey(r.Join, i, c.Column)
		default:
			err = p.addColumn(i, c)
		}
		if err != nil {
			return fmt.Errorf("column %q of the file: %w", c.Label, err)
		}
	}
	return nil
}

// addKey adds a column that shows a key of the join. The key comes from the origin: its matches
// have the same key.
func (p *Plan) addKey(join report.Join, to int, name string) error {
	key := slices.Index(join.Keys, name)
	for n, in := range p.inputs {
		if !in.isOrigin(n) {
			continue
		}
		column, err := in.find(join.Listeners[n].Keys[key])
		if err != nil {
			return err
		}
		p.shown[n][to], p.columns[n][to] = in.at+column, in.Set.Columns()[column]
	}
	return nil
}

// addColumn adds a column that shows a column of a listener.
func (p *Plan) addColumn(to int, c report.FileColumn) error {
	in := p.inputs[slices.IndexFunc(p.inputs, func(in *input) bool { return in.Name == c.Listener })]
	column, err := in.find(c.Column)
	if err != nil {
		return err
	}
	p.setColumn(to, in.at+column, in.Set.Columns()[column])
	return nil
}

// setColumn sets a column of the file for rows of all origins.
func (p *Plan) setColumn(to, cell int, c dataset.Column) {
	for n, columns := range p.columns {
		if columns != nil {
			columns[to], p.shown[n][to] = c, cell
		}
	}
}

// isOrigin tells whether rows of the file come from input n.
func (in *input) isOrigin(n int) bool { return n == 0 || in.Kind.Right }

// compare decides how the parts of the key compare.
func (p *Plan) compare(folding report.CaseFolding) {
	p.comparisons = make([]comparison, len(p.inputs[0].keys))
	for i := range p.comparisons {
		var kinds []report.Kind
		for _, in := range p.inputs {
			kinds = append(kinds, in.Set.Columns()[in.keys[i].number].Kind)
		}
		p.comparisons[i] = compare(kinds, folding)
		p.widen(i)
	}
}

// widen decides whether FLOATs at a position of the key compare as doubles. Like SQL, it compares
// the digits that people see if all floats there have a fixed number of decimals.
func (p *Plan) widen(i int) {
	column := func(in *input) dataset.Column { return in.Set.Columns()[in.keys[i].number] }
	if !slices.ContainsFunc(p.inputs,
		func(in *input) bool { c := column(in); return c.Kind == report.KindFloat && !c.Fixed }) {
		return
	}
	for _, in := range p.inputs {
		in.keys[i].single = column(in).Bits == 32
	}
}

// Needed returns the columns that a Plan uses, by listener, in the order of the listener. The map
// has every listener that the join or the file uses.
func Needed(r *report.Report) map[string][]string {
	needed := map[string][]string{}
	if r.Fold != "" {
		return neededBySelect(r)
	}
	add := func(listener, column string) {
		if !slices.Contains(needed[listener], column) {
			needed[listener] = append(needed[listener], column)
		}
	}
	for _, c := range r.File.Columns {
		if c.Listener != "" {
			add(c.Listener, c.Column)
		}
	}
	for _, joined := range r.Join.Listeners {
		for i, key := range joined.Keys {
			// A single listener is not joined, so its key is only output.
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
	return slices.ContainsFunc(r.File.Columns,
		func(c report.FileColumn) bool { return c.Listener == "" && c.Column == key })
}

package fold

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/fold/query"
	"github.com/fanfold/fanfold/report"
)

// Plan is a join whose datasets have all columns that it needs.
type Plan struct {
	inputs      []*input           // in the order of the join
	columns     [][]dataset.Column // see Columns
	fixed       map[int][]byte     // by column of the file: its cell in every row
	comparisons []comparison

	indexBytes int64 // minimum budget of an index

	query *query.Plan // of a report whose fold is a SELECT; nil: a join
	shown []int       // by column of the file: the number of its column in the query
}

// input is the dataset of one listener of the join.
type input struct {
	listener  string
	kind      report.JoinType
	dataset   Dataset
	columns   []dataset.Column
	all       []int // numbers of all columns
	keys      []keyColumn
	shown     []shown
	shownKeys int // number of keys at the start of shown, which only rows of this origin show
}

// shown is a column of a dataset that the file shows.
type shown struct{ column, to int }

// NewPlan returns the plan of a report, which package config has validated. It checks that the
// datasets, by listener, have the columns of the join and of the file.
func NewPlan(r *report.Report, datasets map[string]Dataset) (*Plan, error) {
	p := &Plan{fixed: map[int][]byte{}, indexBytes: indexBytes}
	if err := p.addInputs(r.Join, datasets); err != nil {
		return nil, err
	}
	if err := p.addColumns(r); err != nil {
		return nil, err
	}
	p.compare(r.Join.FoldCase)
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
		in := &input{listener: joined.Listener, kind: joined.Type, dataset: set, columns: set.Columns()}
		for column := range in.columns {
			in.all = append(in.all, column)
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
		}
	}
	return nil
}

// keyNumbers returns the numbers of the key columns.
func (in *input) keyNumbers() []int {
	numbers := make([]int, len(in.keys))
	for i, key := range in.keys {
		numbers[i] = key.number
	}
	return numbers
}

// find returns the number of a column.
func (in *input) find(name string) (int, error) {
	i := slices.IndexFunc(in.columns, func(c dataset.Column) bool { return c.Name == name })
	if i < 0 {
		return 0, fmt.Errorf("the dataset of listener %q has no column %q", in.listener, name)
	}
	return i, nil
}

// addColumns finds where the columns of the file come from.
func (p *Plan) addColumns(r *report.Report) error {
	p.columns = make([][]dataset.Column, len(p.inputs))
	for n, in := range p.inputs {
		if in.isOrigin(n) {
			p.columns[n] = make([]dataset.Column, len(r.File.Columns))
		}
	}
	for i, c := range r.File.Columns {
		var err error
		switch cell, fixed := r.File.Fixed[i]; {
		case fixed:
			p.fixed[i] = []byte(cell)
			p.setColumn(i, dataset.Column{Kind: report.KindText})
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
		in.shown = slices.Insert(in.shown, in.shownKeys, shown{column, to})
		in.shownKeys++
		p.columns[n][to] = in.columns[column]
	}
	return nil
}

// addColumn adds a column that shows a column of a listener.
func (p *Plan) addColumn(to int, c report.FileColumn) error {
	n := slices.IndexFunc(p.inputs, func(in *input) bool { return in.listener == c.Listener })
	column, err := p.inputs[n].find(c.Column)
	if err != nil {
		return err
	}
	p.inputs[n].shown = append(p.inputs[n].shown, shown{column, to})
	p.setColumn(to, p.inputs[n].columns[column])
	return nil
}

// setColumn sets a column of the file for rows of all origins.
func (p *Plan) setColumn(to int, c dataset.Column) {
	for _, columns := range p.columns {
		if columns != nil {
			columns[to] = c
		}
	}
}

// isOrigin tells whether rows of the file come from input n.
func (in *input) isOrigin(n int) bool { return n == 0 || in.kind == report.Full }

// compare decides how the parts of the key compare.
func (p *Plan) compare(folding report.CaseFolding) {
	p.comparisons = make([]comparison, len(p.inputs[0].keys))
	for i := range p.comparisons {
		var kinds []report.Kind
		for _, in := range p.inputs {
			kinds = append(kinds, in.columns[in.keys[i].number].Kind)
		}
		p.comparisons[i] = compare(kinds, folding)
		p.widen(i)
	}
}

// widen decides whether FLOATs at a position of the key compare as doubles. Like SQL, it compares
// the digits that people see if all floats there have a fixed number of decimals.
func (p *Plan) widen(i int) {
	column := func(in *input) dataset.Column { return in.columns[in.keys[i].number] }
	if !slices.ContainsFunc(p.inputs,
		func(in *input) bool { c := column(in); return c.Kind == report.KindFloat && !c.Fixed }) {
		return
	}
	for _, in := range p.inputs {
		in.keys[i].single = column(in).Bits == 32
	}
}

// hasFull tells whether rows come from other inputs than the first.
func (p *Plan) hasFull() bool {
	return slices.ContainsFunc(p.inputs[1:], func(in *input) bool { return in.kind == report.Full })
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

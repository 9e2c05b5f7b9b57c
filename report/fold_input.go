package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// input is the dataset of one listener of the join.
type input struct {
	name    string
	kind    JoinType
	ahead   *ahead
	columns []Column
	keys    []int // numbers of the key's columns
}

// inputs proves that the datasets have what the join needs.
func (r *Report) inputs(datasets map[string]Dataset) ([]*input, error) {
	if len(r.Join.Listeners) == 0 {
		return nil, errors.New("report: a join without listeners")
	}
	if len(r.Join.Listeners) > 1 && len(r.Join.Keys) == 0 {
		return nil, errors.New("report: a join without keys")
	}
	var inputs []*input
	for n, joined := range r.Join.Listeners {
		if slices.ContainsFunc(inputs, func(in *input) bool { return in.name == joined.Listener }) {
			return nil, fmt.Errorf("report: listener %q is joined twice", joined.Listener)
		}
		if n > 0 && joined.Type != Inner && joined.Type != Left && joined.Type != Full {
			return nil, fmt.Errorf("report: listener %q: unknown join type %q", joined.Listener, joined.Type)
		}
		in, err := newInput(joined, datasets[joined.Listener])
		if err != nil {
			return nil, err
		}
		// A single listener needs its keys only where the file shows them.
		if len(r.Join.Listeners) > 1 {
			if err := in.findKeys(joined.Keys, len(r.Join.Keys)); err != nil {
				return nil, err
			}
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

func newInput(joined Joined, dataset Dataset) (*input, error) {
	if dataset == nil {
		return nil, fmt.Errorf("report: no dataset of listener %q", joined.Listener)
	}
	return &input{name: joined.Listener, kind: joined.Type, ahead: &ahead{dataset: dataset}, columns: dataset.Columns()}, nil
}

func (in *input) findKeys(names []string, count int) error {
	if len(names) != count {
		return fmt.Errorf("report: listener %q has %d key columns, but the join has %d keys", in.name, len(names), count)
	}
	for _, name := range names {
		column, err := in.find(name)
		if err != nil {
			return fmt.Errorf("report: %w", err)
		}
		in.keys = append(in.keys, column)
	}
	return nil
}

// find returns the number of a column.
func (in *input) find(name string) (int, error) {
	i := slices.IndexFunc(in.columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		return 0, fmt.Errorf("the dataset of listener %q has no column %q", in.name, name)
	}
	return i, nil
}

// next returns the next chunk, or io.EOF itself. Any other error names the listener.
func (in *input) next() (*Chunk, error) {
	c, err := in.ahead.next()
	if err == nil && (c == nil || !slices.Equal(c.Columns(), in.columns)) {
		err = errors.New("a chunk whose columns are not those of the dataset")
	}
	if err != nil && err != io.EOF { // where that is wrapped, it is a connection that broke
		err = in.failed(err)
	}
	return c, err
}

// failed names the listener in an error of its dataset.
func (in *input) failed(err error) error {
	return fmt.Errorf("report: dataset of listener %q: %w", in.name, err)
}

// comparisons decides how the parts of the key compare.
func comparisons(inputs []*input, folding CaseFolding) []comparison {
	compared := make([]comparison, len(inputs[0].keys))
	for i := range compared {
		var kinds []Kind
		for _, in := range inputs {
			kinds = append(kinds, in.columns[in.keys[i]].Kind)
		}
		compared[i] = compare(kinds, folding)
	}
	return compared
}

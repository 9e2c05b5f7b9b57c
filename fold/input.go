package fold

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// input is the dataset of one listener of the join.
type input struct {
	format.Source
	ahead *ahead
	keys  []int // numbers of the key's columns
}

// newInputs proves that the datasets have what the join needs.
func newInputs(r *report.Report, datasets map[string]Dataset) ([]*input, error) {
	if len(r.Join.Listeners) == 0 {
		return nil, errors.New("fold: a join without listeners")
	}
	if len(r.Join.Listeners) > 1 && len(r.Join.Keys) == 0 {
		return nil, errors.New("fold: a join without keys")
	}
	var inputs []*input
	for n, joined := range r.Join.Listeners {
		if slices.ContainsFunc(inputs, func(in *input) bool { return in.Listener == joined.Listener }) {
			return nil, fmt.Errorf("fold: listener %q is joined twice", joined.Listener)
		}
		if n > 0 && joined.Type != report.Inner && joined.Type != report.Left && joined.Type != report.Full {
			return nil, fmt.Errorf("fold: listener %q: unknown join type %q", joined.Listener, joined.Type)
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

func newInput(joined report.Joined, set Dataset) (*input, error) {
	if set == nil {
		return nil, fmt.Errorf("fold: no dataset of listener %q", joined.Listener)
	}
	return &input{Source: format.Source{Listener: joined.Listener, Kind: joined.Type, Columns: set.Columns()}, ahead: &ahead{dataset: set}}, nil
}

func (in *input) findKeys(names []string, count int) error {
	if len(names) != count {
		return fmt.Errorf("fold: listener %q has %d key columns, but the join has %d keys", in.Listener, len(names), count)
	}
	for _, name := range names {
		column, err := in.Find(name)
		if err != nil {
			return fmt.Errorf("fold: %w", err)
		}
		in.keys = append(in.keys, column)
	}
	return nil
}

// next returns the next chunk, or io.EOF itself. Any other error names the listener.
func (in *input) next() (*dataset.Chunk, error) {
	c, err := in.ahead.next()
	if err == nil && (c == nil || !slices.Equal(c.Columns(), in.Columns)) {
		err = errors.New("a chunk whose columns are not those of the dataset")
	}
	if err != nil && err != io.EOF { // where that is wrapped, it is a connection that broke
		err = in.failed(err)
	}
	return c, err
}

// failed names the listener in an error of its dataset.
func (in *input) failed(err error) error {
	return fmt.Errorf("fold: dataset of listener %q: %w", in.Listener, err)
}

// comparisons decides how the parts of the key compare.
func comparisons(inputs []*input, folding report.CaseFolding) []comparison {
	compared := make([]comparison, len(inputs[0].keys))
	for i := range compared {
		var kinds []report.Kind
		for _, in := range inputs {
			kinds = append(kinds, in.Columns[in.keys[i]].Kind)
		}
		compared[i] = compare(kinds, folding)
	}
	return compared
}

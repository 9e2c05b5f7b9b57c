package fold

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/query"
	"github.com/fanfold/fanfold/report"
)

// Plan is the fold of a report whose datasets have all columns that it needs.
type Plan struct {
	query   *query.Plan
	columns []dataset.Column
	shown   []int          // by column of the file: the number of its cell in a row of the query, or -1; nil: its own
	fixed   map[int][]byte // by column of the file: its cell in every row
	written bool           // the author of the report wrote the SELECT
}

// NewPlan returns the plan of a report, which package config has validated, over datasets, by listener. parameters are
// those of the job, as Report.Bind returns them. It checks names and types.
func NewPlan(
	r *report.Report, datasets map[string]Dataset, parameters map[string]any,
) (plan *Plan, err error) {
	defer op.Protect(&err)
	if r.Fold == "" {
		if err := checkColumns(r, datasets); err != nil {
			return nil, err
		}
	}
	tree, err := parse.Parse(Select(r))
	if err != nil {
		return nil, inSelect(r, err)
	}
	q, err := query.New(tree, datasets, Parameters(r.Parameters, parameters))
	if err != nil {
		return nil, inSelect(r, err)
	}
	p, whole := &Plan{query: q, fixed: map[int][]byte{}, written: r.Fold != ""}, true
	for i, c := range r.File.Columns {
		if cell, ok := r.File.Fixed[i]; ok {
			p.fixed[i] = []byte(cell)
			p.shown, p.columns = append(p.shown, -1), append(p.columns, dataset.Column{Kind: report.KindText})
			whole = false
			continue
		}
		at := i - len(p.fixed) // a short form selects the columns of the file
		if r.Fold != "" {
			at = slices.IndexFunc(q.Columns(), func(found dataset.Column) bool { return found.Name == c.Column })
		}
		if at < 0 {
			return nil, fmt.Errorf("the fold has no column %q", c.Column)
		}
		p.shown, p.columns = append(p.shown, at), append(p.columns, q.Columns()[at])
		whole = whole && at == i
	}
	if whole && len(p.shown) == len(q.Columns()) {
		p.shown = nil
	}
	return p, nil
}

// Steps returns the steps of the plan, with what they did in its last run.
func (p *Plan) Steps() []Step { return p.query.Steps() }

// Columns returns the columns of the file.
func (p *Plan) Columns() []dataset.Column { return p.columns }

// checkColumns checks that the datasets have the columns of a join and of its file. A mistake names the listener: the
// author of a join has not seen its SELECT.
func checkColumns(r *report.Report, datasets map[string]Dataset) error {
	check := func(listener, column string) error {
		set := datasets[listener]
		if set == nil {
			return fmt.Errorf("listener %q has no dataset", listener)
		}
		if !slices.ContainsFunc(set.Columns(), func(c dataset.Column) bool { return c.Name == column }) {
			return fmt.Errorf("the dataset of listener %q has no column %q", listener, column)
		}
		return nil
	}
	for _, joined := range r.Join.Listeners {
		for _, key := range joined.Keys {
			if err := check(joined.Listener, key); err != nil && len(r.Join.Listeners) > 1 {
				return err
			}
		}
	}
	for i, c := range r.File.Columns {
		if _, fixed := r.File.Fixed[i]; fixed || c.Listener == "" && len(r.Join.Listeners) > 1 {
			continue
		}
		if c.Listener == "" {
			first := r.Join.Listeners[0]
			c.Listener, c.Column = first.Listener, first.Keys[slices.Index(r.Join.Keys, c.Column)]
		}
		if err := check(c.Listener, c.Column); err != nil {
			return fmt.Errorf("column %q of the file: %w", c.Label, err)
		}
	}
	return nil
}

// inSelect adds their places to the mistakes of a SELECT.
func inSelect(r *report.Report, err error) error {
	wrong, ok := errors.AsType[parse.Errors](err)
	if !ok {
		return err
	}
	if r.Fold == "" {
		wrong = wrong[:1] // a key of several listeners has those of each
	}
	var all error
	for _, e := range wrong {
		if one := inPart(r, e.Position, e); all == nil {
			all = one
		} else {
			all = fmt.Errorf("%w; %w", all, one)
		}
	}
	return all
}

// inPart adds the place in a SELECT to a mistake. That of a join has a line for every listener, from the second one
// on, and its author writes the remedy into the query of a listener.
func inPart(r *report.Report, at parse.Position, err error) error {
	switch {
	case r.Fold != "":
		return inFold(at, err)
	case at.Line > 2 && at.Line-2 < len(r.Join.Listeners):
		l := r.Join.Listeners[at.Line-2]
		return fmt.Errorf("join of listener %q: %w, in the query of a listener", l.Listener, err)
	}
	return fmt.Errorf("join: %w", err)
}

func inFold(at parse.Position, err error) error {
	return fmt.Errorf("line %d, column %d of the fold: %w", at.Line, at.Column, err)
}

// inRow adds the place of an expression to its error in a row.
func (p *Plan) inRow(err error) error {
	if failed, ok := errors.AsType[*parse.Failure](err); ok && p.written {
		return inFold(failed.Position, err)
	}
	return err
}

package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/fold/expr"
	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/query"
	"github.com/fanfold/fanfold/report"
)

// folding validates the SELECT of a fold.
type folding struct{ *draft }

// check validates its syntax, names and functions. The types of the columns are known only when the queries run. It
// returns false if the columns of the file cannot be checked against it.
func (d folding) check() bool {
	at := d.Of(d.f).Get("fold")
	if d.Of(&d.Join).Given() {
		d.Of(&d.Join).Problem("the report has a fold, too", "Remove join: the SELECT joins the listeners")
	}
	if d.nameless || !d.listeners.allKnown() {
		return false
	}
	problem := func(p parse.Position, message, remedy string) {
		at.Inside(offsetOf(d.Report.Fold, p)).Hidden().Problem(message, remedy) // the fold is long
	}
	declared := fold.Parameters(d.Parameters, nil)
	plan, err := fold.NamesOf(d.Report, func(name string) (expr.Parameter, bool) {
		d.used[name] = true
		return declared(name)
	})
	wrong, _ := errors.AsType[parse.Errors](err)
	for _, e := range wrong {
		problem(e.Position, e.Message, e.Remedy)
	}
	tree, invalid := parse.Parse(d.Report.Fold)
	if invalid != nil {
		return false
	}
	required := map[string]parse.Position{}
	query.Required(tree, required)
	var needed map[string][]string
	if err == nil {
		needed = plan.Needed()
	}
	for _, l := range d.listeners {
		place, isRequired := required[l.Name]
		_, isRead := needed[l.Name]
		switch {
		case err == nil && !isRead && !l.source && d.listeners.whole():
			l.Problem(fmt.Sprintf("nothing uses %s: the fold does not read it, and no query uses its columns", l.Name),
				"Use it in the fold, or remove it")
		case l.Optional && isRequired:
			problem(place, l.Name+" is optional: without it, the file would have other rows",
				"Write LEFT JOIN, or remove optional")
		case l.Optional && len(l.Values) > 0:
			l.Get("optional").Problem("a fold has NULL for the columns of a listener that fails",
				"Write optional: true, and COALESCE(column, value) in the fold")
		case l.Optional:
			if f, ok := query.FilterOf(tree, l.Name, d.listeners.columns()); ok {
				value := "NULL"
				if f.Zero {
					value = "0"
				}
				problem(f.Position, fmt.Sprintf("%s is optional: without it, %s is %s, and no row fulfils this condition",
					l.Name, f.Column, value), filterRemedy(f))
			}
		}
	}
	if err != nil {
		return false
	}
	d.columns(plan)
	return true
}

// offsetOf returns the byte of a place in a text.
func offsetOf(text string, p parse.Position) int {
	offset := 0
	for range p.Line - 1 {
		offset += strings.IndexByte(text[offset:], '\n') + 1
	}
	for i := range text[offset:] {
		if p.Column--; p.Column == 0 {
			return offset + i
		}
	}
	return len(text)
}

// filterRemedy says how a condition that needs an optional listener is written.
func filterRemedy(f query.Filter) string {
	switch {
	case f.Joins:
		return "Write LEFT JOIN here, too, or remove optional"
	case f.Zero:
		return fmt.Sprintf("Add OR %s = 0, or remove optional", f.Column)
	}
	return fmt.Sprintf("Move it to the ON of the LEFT JOIN, add OR %s IS NULL, or remove optional", f.Column)
}

// allKnown reports whether the columns of all listeners are known.
func (ls listeners) allKnown() bool {
	return !slices.ContainsFunc(ls, func(l *draftListener) bool { return !l.Known })
}

// columns returns the columns of every listener.
func (ls listeners) columns() map[string][]string {
	all := map[string][]string{}
	for _, l := range ls {
		all[l.Name] = l.Columns
	}
	return all
}

// columns sets the columns of the file: those that it lists, or all of the SELECT.
func (d folding) columns(plan *query.Plan) {
	var names []string
	for _, c := range plan.Columns() {
		names = append(names, c.Name)
	}
	s := d.Of(&d.File)
	if !s.Get("columns").Given() {
		for _, name := range names {
			d.File.Columns = append(d.File.Columns, report.FileColumn{Label: name, Column: name})
		}
		return
	}
	for i := range d.File.Columns {
		c := &d.File.Columns[i]
		at := d.Of(c)
		if at.Has("column") && !slices.Contains(names, c.Column) {
			at.Get("column").Problem("the fold has no such column", report.DidYouMean(c.Column, names))
		}
		if !at.Get("label").Given() {
			c.Label = c.Column
		}
	}
}

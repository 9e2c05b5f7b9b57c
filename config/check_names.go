package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/report"
)

// resolve finds the source of every name in a query: a parameter, or for a
// name with a dot another listener.
func (d *draft) resolve() {
	for _, l := range d.listeners {
		for _, u := range l.Uses {
			i := slices.IndexFunc(d.Parameters, func(p report.Parameter) bool { return p.Name == u.Name })
			column := strings.Contains(u.Name, ".")
			if !u.List && (i >= 0 && d.Parameters[i].List || column) {
				u.At.Problem(fmt.Sprintf(":%s is a list, but only one value can stand here", u.Name), u.Remedy)
			}
			if u.Needed && i >= 0 && d.Parameters[i].Optional() {
				u.At.Problem(fmt.Sprintf(":%s can be null, which a path cannot contain", u.Name),
					u.Remedy+", or remove default: null")
			}
			if column {
				d.resolveColumn(l, u)
				continue
			}
			d.used[u.Name] = true
			if i < 0 {
				u.At.Problem("unknown query parameter :"+u.Name, parameterRemedy(":%s", u.Name, d.Parameters))
			}
		}
	}
}

// parameterRemedy says what to do about the name of an unknown parameter, which is used in this form.
func parameterRemedy(form, name string, parameters []report.Parameter) string {
	var names []string
	for _, p := range parameters {
		names = append(names, p.Name)
	}
	if near := report.Nearest(name, names); near != "" {
		return fmt.Sprintf("Did you mean "+form+"? Or add %s: string to the report's parameters", near, name)
	}
	return fmt.Sprintf("Add %s: string to the report's parameters", name)
}

// resolveColumn sets From of a listener whose query uses :listener.column.
func (d *draft) resolveColumn(l *draftListener, u kind.Use) {
	name := u.Name
	ref, source := d.listeners.split(name)
	switch {
	case source == nil && d.nameless:
		return
	case source == nil:
		u.At.Problem("unknown query parameter :"+name,
			"A name with a dot is <listener>.<column> of another listener. "+d.listeners.others(name, l))
		return
	case source.Known && !slices.Contains(source.Columns, ref.Column):
		source.source = true
		u.At.Problem(fmt.Sprintf("%s has no column %s", ref.Listener, ref.Column),
			report.DidYouMean(ref.Column, source.Columns))
		return
	}
	source.source = true
	if l.From != nil && *l.From == ref {
		return
	}
	if l.From != nil {
		u.At.Problem(fmt.Sprintf("the listener uses two columns of other listeners: :%s after :%s", name, l.From),
			"A listener can use one column of another listener: add a listener for the second one")
		return
	}
	l.From = &ref
}

// split finds the listener in <listener>.<column>. Both can contain dots: a
// listener that has the column wins, then the longest name.
func (ls listeners) split(name string) (report.Ref, *draftListener) {
	var best report.Ref
	var source *draftListener
	for _, l := range ls {
		column, ok := strings.CutPrefix(name, l.Name+".")
		switch {
		case !ok:
		case l.Known && slices.Contains(l.Columns, column):
			return report.Ref{Listener: l.Name, Column: column}, l
		case source == nil || len(l.Name) > len(best.Listener):
			best, source = report.Ref{Listener: l.Name, Column: column}, l
		}
	}
	return best, source
}

// others lists the columns that a query of this listener can use.
func (ls listeners) others(name string, l *draftListener) string {
	var names []string
	for _, other := range ls {
		if other == l {
			continue
		}
		for _, column := range other.Columns {
			names = append(names, report.Ref{Listener: other.Name, Column: column}.String())
		}
	}
	if len(names) == 0 {
		return "There is no other listener with columns"
	}
	return report.DidYouMean(name, names)
}

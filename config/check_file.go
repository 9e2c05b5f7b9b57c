package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/report"
)

// checkFile validates the columns of the file and asks its format about the rest. It needs the join
// and the listeners.
func (d *draft) checkFile() {
	s := d.Of(&d.File)
	if s.Given() && !s.Readable() {
		return
	}
	if s.Get("columns").Given() {
		d.File.Columns = d.resolveColumns()
	} else {
		d.File.Columns = d.defaultColumns()
	}
	checkShort(d)
	checkFormat(d)
}

// checkShort proves that the join is the short form of a SELECT.
func checkShort(d *draft) {
	if !d.listeners.allKnown() {
		return
	}
	_, err := fold.NamesOf(d.Report, fold.Parameters(nil, nil))
	if wrong, ok := errors.AsType[parse.Errors](err); ok {
		d.Of(&d.Join).Problem("it is not the short form of a SELECT: "+wrong[0].Message,
			"Names that differ only in case are one name in SQL: rename one of them with AS")
	}
}

// checkFormat asks the format of the file about its fields.
func checkFormat(d *draft) {
	s := d.Of(&d.File)
	i := slices.IndexFunc(d.kinds.Formats, func(f report.Format) bool { return f.Name == d.File.Format })
	if i < 0 {
		return
	}
	format := d.kinds.Formats[i]
	if d.File.Compress == report.Gzip && format.Packed != "" {
		s.Get("compress").Problem(format.Packed, "Remove compress")
	}
	if d.File.Split.Rows > 0 && d.File.Compress != report.Zip {
		s.Get("split").Problem("several files need an archive", "Add compress: zip")
	}
	if format.MaxRows > 0 && d.File.MaxRows > format.MaxRows {
		s.Get("max_rows").Problem(fmt.Sprintf("a file of the format %s has at most %d rows", format.Name,
			format.MaxRows), "Reduce it, or remove it")
	}
	if format.Check == nil || s.Wrong() {
		return
	}
	for _, wrong := range format.Check(d.Report) {
		s.Get(wrong.Field).Problem(wrong.Message, wrong.Remedy)
	}
}

// checkName validates file.name.
func checkName(d *draft) {
	at := d.Of(&d.File).Get("name")
	for _, name := range d.File.NameFields() {
		i := slices.IndexFunc(d.Parameters, func(p report.Parameter) bool { return p.Name == name })
		switch {
		case i < 0 && name != report.NameID:
			at.Problem("unknown parameter {"+name+"}", parameterRemedy("{%s}", name, d.Parameters))
		case i >= 0 && d.Parameters[i].List:
			at.Problem("{"+name+"} is a list, but a name has one value", "Remove {"+name+"}")
		}
		d.used[name] = true
	}
}

// checkColumnsFrom validates file.columns_from.
func checkColumnsFrom(d *draft) {
	s := d.Of(&d.File)
	at, name := s.Get("columns_from"), d.File.ColumnsFrom
	if !s.Has("columns_from") {
		return
	}
	d.used[name] = true
	i := slices.IndexFunc(d.Parameters, func(p report.Parameter) bool { return p.Name == name })
	if i < 0 {
		at.Problem("unknown parameter", parameterRemedy("%s", name, d.Parameters))
		return
	}
	p := &d.Parameters[i]
	var labels []string
	for _, c := range d.File.Columns {
		labels = append(labels, c.Label)
	}
	switch {
	case d.Of(p).Wrong():
	case !p.List || p.Type != report.ParamString || len(p.Options) == 0:
		at.Problem("the parameter is no list of strings with options",
			"Write "+name+": {list: true, default: [], options: ["+strings.Join(labels, ", ")+"]}")
	case !s.Wrong():
		for _, option := range p.Options {
			if !slices.Contains(labels, option) {
				d.Of(p).Get("options").Problem(fmt.Sprintf("the file has no column %q", option),
					report.DidYouMean(option, labels))
			}
		}
	}
}

// resolveColumns resolves file.columns.
func (d *draft) resolveColumns() []report.FileColumn {
	var columns []report.FileColumn
	first := map[string]int{}
	for i := range d.File.Columns {
		given := &d.File.Columns[i]
		s := d.Of(given)
		if !s.Has("column") {
			continue
		}
		column, ok := d.findColumn(s.Get("column"), given.Column)
		column.Label = column.Column
		if label := s.Get("label"); label.Given() {
			column.Label = given.Label
			if !s.Wrong("label") && (given.Label == "" || strings.ContainsFunc(given.Label, unicode.IsControl)) {
				label.Problem("not a valid label", "Use at least one character, and no control characters")
				ok = false
			}
			ok = ok && !s.Wrong("label")
		}
		line, twice := first[column.Label]
		switch {
		case !ok:
		case twice:
			s.Problem(fmt.Sprintf("duplicate label %q, first used in line %d", column.Label, line),
				"Write {column: …, label: …} with another label")
		default:
			first[column.Label] = s.Line
			columns = append(columns, column)
		}
	}
	return columns
}

// findColumn resolves a column of the file: a join key, or else <listener>.<column> or a
// column that exactly one joined listener has.
func (d *draft) findColumn(at decode.Setting, name string) (report.FileColumn, bool) {
	if slices.Contains(d.Join.Keys, name) {
		return report.FileColumn{Column: name}, true
	}
	all := d.fileColumns()
	var found []report.Ref
	full, bare := slices.Clone(d.Join.Keys), []string{}
	for _, ref := range all {
		full, bare = append(full, ref.String()), append(bare, ref.Column)
		if ref.Column == name || ref.String() == name {
			found = append(found, ref)
		}
	}
	switch ref, l := d.listeners.split(name); {
	case len(found) == 1:
		return report.FileColumn{Listener: found[0].Listener, Column: found[0].Column}, true
	case len(found) > 1:
		var names []string
		for _, r := range found {
			names = append(names, r.String())
		}
		at.Problem("several listeners have this column", "Use one of "+report.Listing(names))
	case l != nil && !d.Join.Joins(l.Name):
		at.Problem(l.Name+" is not joined, so no row has its columns", "Add it to join.listeners")
	case l != nil:
		at.Problem(fmt.Sprintf("%s has no column %s", l.Name, ref.Column), report.DidYouMean(ref.Column, l.Columns))
	default:
		remedy := report.DidYouMean(name, full)
		if near := report.Nearest(name, bare); near != "" {
			remedy = fmt.Sprintf("Did you mean %q? Available: %s", near, report.Listing(full))
		}
		at.Problem("no listener has this column", remedy)
	}
	return report.FileColumn{}, false
}

// fileColumns returns the columns of the joined listeners, in the order of the join.
func (d *draft) fileColumns() []report.Ref {
	var all []report.Ref
	for _, j := range d.Join.Listeners {
		for _, column := range d.listeners.find(j.Listener).Columns {
			all = append(all, report.Ref{Listener: j.Listener, Column: column})
		}
	}
	return all
}

// defaultColumns returns every join key, then every other column of the joined listeners.
// A name that occurs twice gets its full name as label.
func (d *draft) defaultColumns() []report.FileColumn {
	var columns []report.FileColumn
	count, taken := map[string]int{}, map[string]bool{}
	for _, key := range d.Join.Keys {
		count[key]++
		taken[key] = true
		columns = append(columns, report.FileColumn{Label: key, Column: key})
	}
	rest := d.fileColumns()
	rest = slices.DeleteFunc(rest, func(ref report.Ref) bool {
		j := slices.IndexFunc(d.Join.Listeners, func(j report.Joined) bool { return j.Listener == ref.Listener })
		return slices.Contains(d.Join.Listeners[j].Keys, ref.Column)
	})
	for _, ref := range rest {
		count[ref.Column]++
	}
	for _, ref := range rest {
		label := ref.Column
		if count[ref.Column] > 1 {
			label = ref.String()
		}
		if taken[label] {
			d.Of(&d.File).Problem(fmt.Sprintf("two columns have the label %q", label),
				"List file.columns with different labels")
			continue
		}
		taken[label] = true
		columns = append(columns, report.FileColumn{Label: label, Listener: ref.Listener, Column: ref.Column})
	}
	return columns
}

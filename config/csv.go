package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/fanfold/fanfold/report"
)

// readCSV decodes what the file looks like. The join and its listeners are known.
func (d *draft) readCSV(at setting) {
	f := at.fields(append([]string{"columns"}, csvOptions...)...)
	d.readCSVColumns(at, f)
	d.readCSVOptions(f)
}

func (d *draft) readCSVColumns(at setting, f fields) {
	list := f.get("columns")
	if !list.given() {
		if !f.broken {
			d.defaultColumns(at)
		}
		return
	}
	items, ok := list.list()
	if ok && len(items) == 0 {
		list.problem("a file without columns", "Name at least one, or leave it out for all of them")
	}
	first := map[string]int{}
	for _, item := range items {
		column, ok := d.csvColumn(item)
		if !ok {
			continue
		}
		if line, twice := first[column.Label]; twice {
			item.problem(fmt.Sprintf("a second column with the label %q, first in line %d", column.Label, line), "Write {column: …, label: …} with another label")
			continue
		}
		first[column.Label] = item.line
		d.CSV.Columns = append(d.CSV.Columns, column)
	}
}

func (d *draft) csvColumn(at setting) (report.CSVColumn, bool) {
	name, label := at, setting{}
	if !at.isText() {
		f := at.fields("column", "label")
		if f.broken {
			return report.CSVColumn{}, false
		}
		var ok bool
		if name, ok = f.need("column", "Name a join key, a column, or <listener>.<column>"); !ok {
			return report.CSVColumn{}, false
		}
		label = f.get("label")
	}
	text, ok := name.text()
	if !ok {
		return report.CSVColumn{}, false
	}
	column, ok := d.findColumn(name, text)
	column.Label = column.Column
	if label.given() {
		text, labelOK := label.text()
		if labelOK && (text == "" || strings.ContainsFunc(text, unicode.IsControl)) {
			label.problem("a label that is not allowed", "Use at least one character, and no control characters")
			labelOK = false
		}
		column.Label, ok = text, ok && labelOK
	}
	return column, ok
}

// findColumn resolves a column of the file: a join key, else <listener>.<column>
// or a column that exactly one joined listener gives.
func (d *draft) findColumn(at setting, name string) (report.CSVColumn, bool) {
	if slices.Contains(d.Join.Keys, name) {
		return report.CSVColumn{Column: name}, true
	}
	var found []report.Ref
	for _, l := range d.joined() {
		for _, column := range l.Columns {
			if ref := (report.Ref{Listener: l.Name, Column: column}); column == name || ref.String() == name {
				found = append(found, ref)
			}
		}
	}
	switch ref, l := d.splitColumn(name); {
	case len(found) == 1:
		return report.CSVColumn{Listener: found[0].Listener, Column: found[0].Column}, true
	case len(found) > 1:
		at.problem("a column that several listeners give", "Write one of "+report.Listing(refNames(found)))
	case l != nil && !d.Join.Joins(l.Name):
		at.problem(l.Name+" is not joined, so no row has its columns", "Add it to join.listeners")
	case l != nil:
		at.problem(fmt.Sprintf("%s gives no column %s", l.Name, ref.Column), didYouMean(ref.Column, l.Columns))
	default:
		remedy := didYouMean(name, d.columnNames())
		if near := nearest(name, d.bareNames()); near != "" {
			remedy = fmt.Sprintf("Did you mean %q? Available: %s", near, report.Listing(d.columnNames()))
		}
		at.problem("a column that no listener gives", remedy)
	}
	return report.CSVColumn{}, false
}

// joined returns the listeners of the join, in its order.
func (d *draft) joined() []*draftListener {
	var listeners []*draftListener
	for _, j := range d.Join.Listeners {
		listeners = append(listeners, d.listener(j.Listener))
	}
	return listeners
}

// columnNames lists what the file can have: keys, then full names.
func (d *draft) columnNames() []string {
	names := slices.Clone(d.Join.Keys)
	for _, l := range d.joined() {
		for _, column := range l.Columns {
			names = append(names, report.Ref{Listener: l.Name, Column: column}.String())
		}
	}
	return names
}

// bareNames lists the columns of the joined listeners without the listeners.
func (d *draft) bareNames() []string {
	var names []string
	for _, l := range d.joined() {
		names = append(names, l.Columns...)
	}
	return names
}

func refNames(refs []report.Ref) []string {
	names := make([]string, len(refs))
	for i, r := range refs {
		names[i] = r.String()
	}
	return names
}

// defaultColumns is every join key, then every column of the joined listeners
// that is not a key. A name that occurs twice is labelled in full.
func (d *draft) defaultColumns(at setting) {
	count := map[string]int{}
	for _, key := range d.Join.Keys {
		count[key]++
		d.CSV.Columns = append(d.CSV.Columns, report.CSVColumn{Label: key, Column: key})
	}
	var rest []report.CSVColumn
	for _, j := range d.Join.Listeners {
		for _, column := range d.listener(j.Listener).Columns {
			if !slices.Contains(j.Keys, column) {
				count[column]++
				rest = append(rest, report.CSVColumn{Label: column, Listener: j.Listener, Column: column})
			}
		}
	}
	taken := map[string]bool{}
	for _, c := range d.CSV.Columns {
		taken[c.Label] = true
	}
	for _, c := range rest {
		if count[c.Column] > 1 {
			c.Label = report.Ref{Listener: c.Listener, Column: c.Column}.String()
		}
		if taken[c.Label] {
			at.problem(fmt.Sprintf("two columns that would have the label %q", c.Label), "List csv.columns, with labels")
			continue
		}
		taken[c.Label] = true
		d.CSV.Columns = append(d.CSV.Columns, c)
	}
}

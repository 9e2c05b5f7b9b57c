package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// draftFile is the file of a report whose join and listeners are known.
type draftFile struct {
	*report.Report
	f         csvFields
	listeners listeners
}

// check takes what the file looks like.
func (d *draftFile) check() {
	f := d.f
	if f.Given() && !f.Readable() {
		return
	}
	c := report.CSV{
		BOM: f.BOM, LF: f.LF, TimeZone: f.TimeZone, Date: f.Date, Datetime: f.Datetime, Formulas: f.Formulas, Gzip: f.Gzip,
		MaxRows: f.MaxRows, MaxBytes: f.MaxBytes,
	}
	if f.Delimiter != "," {
		c.Delimiter = f.Delimiter
	}
	if list := f.Get("columns"); list.Given() {
		c.Columns = d.columns(f.Columns)
	} else {
		c.Columns = d.defaultColumns()
	}
	c.Null = f.checkNull(len(c.Columns))
	d.CSV = c
	d.checkFormulas()
}

// columns resolves csv.columns.
func (d *draftFile) columns(fields []columnFields) []report.CSVColumn {
	var columns []report.CSVColumn
	first := map[string]int{}
	for _, f := range fields {
		if !f.Has("column") {
			continue
		}
		column, ok := d.findColumn(f.Get("column"), f.Column)
		column.Label = column.Column
		if label := f.Get("label"); label.Given() {
			column.Label = f.Label
			if !f.Wrong("label") && (f.Label == "" || strings.ContainsFunc(f.Label, unicode.IsControl)) {
				label.Problem("not a valid label", "Use at least one character, and no control characters")
				ok = false
			}
			ok = ok && !f.Wrong("label")
		}
		line, twice := first[column.Label]
		switch {
		case !ok:
		case twice:
			f.Problem(fmt.Sprintf("a second column with the label %q, first in line %d", column.Label, line), "Write {column: …, label: …} with another label")
		default:
			first[column.Label] = f.Line
			columns = append(columns, column)
		}
	}
	return columns
}

// findColumn resolves a column of the file: a join key, else <listener>.<column> or a
// column that exactly one joined listener gives.
func (d *draftFile) findColumn(at decode.Setting, name string) (report.CSVColumn, bool) {
	if slices.Contains(d.Join.Keys, name) {
		return report.CSVColumn{Column: name}, true
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
		return report.CSVColumn{Listener: found[0].Listener, Column: found[0].Column}, true
	case len(found) > 1:
		var names []string
		for _, r := range found {
			names = append(names, r.String())
		}
		at.Problem("a column that several listeners give", "Write one of "+report.Listing(names))
	case l != nil && !d.Join.Joins(l.Name):
		at.Problem(l.Name+" is not joined, so no row has its columns", "Add it to join.listeners")
	case l != nil:
		at.Problem(fmt.Sprintf("%s gives no column %s", l.Name, ref.Column), decode.DidYouMean(ref.Column, l.Columns))
	default:
		remedy := decode.DidYouMean(name, full)
		if near := decode.Nearest(name, bare); near != "" {
			remedy = fmt.Sprintf("Did you mean %q? Available: %s", near, report.Listing(full))
		}
		at.Problem("a column that no listener gives", remedy)
	}
	return report.CSVColumn{}, false
}

// fileColumns returns the columns of the joined listeners, in the order of the join.
func (d *draftFile) fileColumns() []report.Ref {
	var all []report.Ref
	for _, j := range d.Join.Listeners {
		for _, column := range d.listeners.find(j.Listener).Columns {
			all = append(all, report.Ref{Listener: j.Listener, Column: column})
		}
	}
	return all
}

// defaultColumns is every join key, then every column of the joined listeners that is
// not a key. A name that occurs twice is labelled in full.
func (d *draftFile) defaultColumns() []report.CSVColumn {
	var columns []report.CSVColumn
	count, taken := map[string]int{}, map[string]bool{}
	for _, key := range d.Join.Keys {
		count[key]++
		taken[key] = true
		columns = append(columns, report.CSVColumn{Label: key, Column: key})
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
			d.f.Problem(fmt.Sprintf("two columns that would have the label %q", label), "List csv.columns, with labels")
			continue
		}
		taken[label] = true
		columns = append(columns, report.CSVColumn{Label: label, Listener: ref.Listener, Column: ref.Column})
	}
	return columns
}

// checkNull takes what stands for NULL in a file of so many columns; nil: nothing does.
func (f csvFields) checkNull(columns int) *string {
	at := f.Null
	if !at.Given() {
		return nil
	}
	if at.IsNull() {
		if at.Node.Value != "" {
			at.Problem("without quotes this is no text in YAML", fmt.Sprintf("Write null: %q", at.Node.Value))
		}
		return nil
	}
	text, ok := at.Text()
	switch {
	case !ok:
		return nil
	case !report.IsNullText(text):
		at.Problem("not a valid text for NULL", `Use at most 64 bytes, and no quotes, line breaks or any of , ; | and TAB, such as NULL or \N`)
		return nil
	case text == "" && columns == 1:
		at.Problem("an empty text for NULL in a file of one column", "Many readers skip an empty line: write a text such as NULL")
		return nil
	}
	return &text
}

// checkFormulas proves that what stands in the configuration is no formula.
func (d *draftFile) checkFormulas() {
	formula := func(text []byte) bool { return format.IsFormula(text, report.KindText) }
	c := d.CSV
	if c.Null != nil && c.Formulas != report.FormulasOff && formula([]byte(*c.Null)) {
		d.f.Get("null").Problem("a text for NULL that a spreadsheet takes for a formula", "Write another one, or formulas: off")
	}
	if c.Formulas != report.FormulasFail {
		return
	}
	at := d.f.Get("formulas")
	for _, column := range c.Columns {
		if formula([]byte(column.Label)) {
			at.Problem(fmt.Sprintf("a spreadsheet takes the label %q for a formula", column.Label), "Give the column another label, or write formulas: escape")
		}
		if l := d.listeners.find(column.Listener); l != nil && formula(dataset.AppendText(nil, []byte(l.Defaults[column.Column]))) {
			at.Problem(fmt.Sprintf("a spreadsheet takes the default of %s for a formula", column.Column), "Give another default, or write formulas: escape")
		}
	}
}

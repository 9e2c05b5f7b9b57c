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

// checkCSV validates the form of the file. It needs the join and the listeners.
func (d *draft) checkCSV() {
	c := &d.CSV
	s := d.Of(c)
	if s.Given() && !s.Readable() {
		return
	}
	if c.Delimiter == "," {
		c.Delimiter = ""
	}
	if s.Get("columns").Given() {
		c.Columns = d.resolveColumns()
	} else {
		c.Columns = d.defaultColumns()
	}
	c.Null = readNull(s.Raw("null"), len(c.Columns))
	d.checkFormulas()
}

// resolveColumns resolves csv.columns.
func (d *draft) resolveColumns() []report.CSVColumn {
	var columns []report.CSVColumn
	first := map[string]int{}
	for i := range d.CSV.Columns {
		given := &d.CSV.Columns[i]
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
			s.Problem(fmt.Sprintf("duplicate label %q, first used in line %d", column.Label, line), "Write {column: …, label: …} with another label")
		default:
			first[column.Label] = s.Line
			columns = append(columns, column)
		}
	}
	return columns
}

// findColumn resolves a column of the file: a join key, or else <listener>.<column> or a
// column that exactly one joined listener has.
func (d *draft) findColumn(at decode.Setting, name string) (report.CSVColumn, bool) {
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
	return report.CSVColumn{}, false
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
func (d *draft) defaultColumns() []report.CSVColumn {
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
			d.Of(&d.CSV).Problem(fmt.Sprintf("two columns have the label %q", label), "List csv.columns with different labels")
			continue
		}
		taken[label] = true
		columns = append(columns, report.CSVColumn{Label: label, Listener: ref.Listener, Column: ref.Column})
	}
	return columns
}

// readNull reads the text for NULL in a file with this number of columns; nil means none.
func readNull(at decode.Setting, columns int) *string {
	if !at.Given() {
		return nil
	}
	if at.IsNull() {
		if at.Node.Value != "" {
			at.Problem("YAML reads this as null, not as a text", fmt.Sprintf("Write null: %q", at.Node.Value))
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
		at.Problem("a file with one column cannot have an empty text for NULL", "Use a text such as NULL, because many readers skip empty lines")
		return nil
	}
	return &text
}

// checkFormulas proves that no text of the configuration is a formula.
func (d *draft) checkFormulas() {
	formula := func(text []byte) bool { return format.IsFormula(text, report.KindText) }
	c, s := d.CSV, d.Of(&d.CSV)
	if c.Null != nil && c.Formulas != report.FormulasOff && formula([]byte(*c.Null)) {
		s.Get("null").Problem("a spreadsheet reads this text as a formula", "Use another text, or set formulas: off")
	}
	if c.Formulas != report.FormulasFail {
		return
	}
	at := s.Get("formulas")
	for _, column := range c.Columns {
		if formula([]byte(column.Label)) {
			at.Problem(fmt.Sprintf("a spreadsheet reads the label %q as a formula", column.Label), "Change the label, or set formulas: escape")
		}
		if l := d.listeners.find(column.Listener); l != nil && formula(dataset.AppendText(nil, []byte(l.Defaults[column.Column]))) {
			at.Problem(fmt.Sprintf("a spreadsheet reads the default of %s as a formula", column.Column), "Change the default, or set formulas: escape")
		}
	}
}

package config

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

var csvOptions = []string{
	"bom", "delimiter", "line_end", "null", "time_zone", "date", "datetime",
	"formulas", "compress", "max_rows", "max_bytes",
}

// mostRows is what a fold can count.
const mostRows = 1<<32 - 1

// largestFile is the largest object of Google Cloud Storage, 5 TiB.
const largestFile = 5 << 40

// readCSVOptions decodes how the file is written. Its columns are known.
func (d *draft) readCSVOptions(f fields) {
	c := &d.CSV
	c.BOM = f.get("bom").boolean()
	if text := f.get("delimiter").oneOf("a delimiter that is not possible", "", report.Delimiters...); text != "," {
		c.Delimiter = text
	}
	c.LF = f.get("line_end").oneOf("neither crlf nor lf", "", "crlf", "lf") == "lf"
	c.Gzip = f.get("compress").oneOf("neither off nor gzip", "", "off", "gzip") == "gzip"
	c.MaxRows = int64(f.get("max_rows").integer(0, 1, mostRows))
	c.MaxBytes = f.get("max_bytes").size(0, 1, largestFile)
	d.readNull(f)
	d.readMoments(f)
	switch text := f.get("formulas").oneOf("none of off, escape and fail", "", "off", "escape", "fail"); text {
	case "escape", "fail":
		c.Formulas = report.Formulas(text)
	}
	if c.Null != nil && c.Formulas != report.FormulasOff && format.IsFormula([]byte(*c.Null), report.KindText) {
		f.get("null").problem("a text for NULL that a spreadsheet takes for a formula", "Write another one, or formulas: off")
	}
	for _, column := range c.Columns {
		if c.Formulas == report.FormulasFail && format.IsFormula([]byte(column.Label), report.KindText) {
			f.get("formulas").problem(fmt.Sprintf("the label %q is one that a spreadsheet takes for a formula", column.Label), "Give the column another label, or write formulas: escape")
		}
		if column.Listener == "" || c.Formulas != report.FormulasFail {
			continue
		}
		if cell := d.listener(column.Listener).Defaults[column.Column]; format.IsFormula(dataset.AppendText(nil, []byte(cell)), report.KindText) {
			f.get("formulas").problem(fmt.Sprintf("the default of %s is one that a spreadsheet takes for a formula", column.Column), "Give another default, or write formulas: escape")
		}
	}
}

// oneOf decodes a text that is one of these. In a gap it is the default.
func (p setting) oneOf(message, otherwise string, of ...string) string {
	if !p.given() {
		return otherwise
	}
	text, ok := p.text()
	if ok && !slices.Contains(of, text) {
		quoted := make([]string, len(of))
		for i, text := range of {
			quoted[i] = fmt.Sprintf("%q", text)
		}
		p.problem(message, "Write one of "+report.Listing(quoted))
		return otherwise
	}
	return text
}

// readNull decodes what stands for NULL.
func (d *draft) readNull(f fields) {
	at, given := f.byName["null"]
	if !given {
		return
	}
	if at.null() {
		if at.node.Value != "" {
			at.problem("without quotes this is no text in YAML", fmt.Sprintf("Write null: %q", at.node.Value))
		}
		return
	}
	text, ok := at.text()
	switch {
	case !ok:
		return
	case !report.IsNullText(text):
		at.problem("a text for NULL that is not allowed", `Use at most 64 bytes, and no quotes, line breaks or any of , ; | and TAB, such as NULL or \N`)
		return
	case text == "" && len(d.CSV.Columns) == 1:
		at.problem("an empty text for NULL in a file of one column", "A line that says nothing is skipped by many readers: write a text such as NULL")
		return
	}
	d.CSV.Null = &text
}

// readMoments decodes how dates and datetimes are shown.
func (d *draft) readMoments(f fields) {
	c := &d.CSV
	if zone := f.get("time_zone"); zone.given() {
		c.TimeZone = zone.timeZone().String()
	}
	for _, form := range []struct {
		kind report.Kind
		to   *string
	}{{report.KindDate, &c.Date}, {report.KindDatetime, &c.Datetime}} {
		at := f.get(string(form.kind))
		if !at.given() {
			continue
		}
		text, ok := at.text()
		if !ok {
			continue
		}
		if wrong := format.CheckForm(text, form.kind); wrong != nil {
			at.problem(wrong.Message, wrong.Remedy)
			continue
		}
		*form.to = text
	}
}

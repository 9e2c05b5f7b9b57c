package format

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// CSVOptions are the own fields of the format CSV.
type CSVOptions struct {
	// Language and country of the people who open the file in a spreadsheet, such as `de` or `fr-CH`. Decimals have
	// the decimal sign of the locale, and other fields have its defaults: see [Locales](#locales)
	Locale Locale `yaml:"locale" unset:"none: for programs" json:",omitempty"`
	// `true` groups the digits of decimals as the locale does: 1.234.567,50. Integers, which are often ids, are
	// never grouped
	Thousands bool `yaml:"thousands" with:"locale" default:"false" json:",omitempty"`
	// `true` begins the file with a byte order mark, by which Excel recognizes UTF-8. Many programs read it as a part
	// of the first header, so that it is not the default without a locale
	BOM Mark `yaml:"bom" enum:"true,false" unset:"true with a locale, otherwise false" json:",omitempty"`
	// `,` `;` `|` or `"\t"`
	Delimiter Delimiter `yaml:"delimiter" unset:"a semicolon if the decimal sign is a comma, otherwise a comma" json:",omitempty"`
	// Line ends between rows. Those inside a cell stay as they are
	LF bool `yaml:"line_end" enum:"crlf,lf" default:"crlf" json:",omitempty"`
	// Text for NULL, in quotes (`"NULL"`, `"\\N"`, `""`). With `"NULL"`, a NULL is `NULL`, the text NULL is
	// `"NULL"`, and an empty text is `""`
	Null *Null `yaml:"null" unset:"NULL and empty texts are empty" json:",omitempty"`
	// Format of dates, from YYYY YY MM DD, each at most once
	Date DateLayout `yaml:"date" unset:"YYYY-MM-DD" json:",omitempty"`
	// Format of datetimes, from the same and HH, hh (12 hours, with AM), mm, ss, fff, ffffff, AM and ZZ (+02:00),
	// each at most once. MM is the month and mm the minute. T is the only other letter allowed
	Datetime DatetimeLayout `yaml:"datetime" unset:"YYYY-MM-DD HH:mm:ss with its fraction" json:",omitempty"`
	// What happens to a text that a spreadsheet would read as a formula: see [Formulas](#formulas)
	Formulas Formulas `yaml:"formulas" enum:"off=,escape,fail" default:"escape" json:",omitempty"`
}

// csvOptions returns the options of a file; without any, all have their defaults.
func csvOptions(f *report.File) *CSVOptions {
	if o, ok := f.Options.(*CSVOptions); ok {
		return o
	}
	return &CSVOptions{Formulas: FormulasEscape}
}

// InForce returns what follows from the locale, for people; nil: nothing.
func (c *CSVOptions) InForce() any {
	if c.Locale == "" {
		return nil
	}
	return struct {
		BOM       bool   `json:"bom"`
		Delimiter string `json:"delimiter"`
	}{c.marked(), string(rune(c.separator()))}
}

// Mark says whether the file begins with a byte order mark; empty: if it has a locale.
type Mark string

// The values of Mark.
const (
	Marked   Mark = "true"
	Unmarked Mark = "false"
)

// marked tells whether the file begins with a byte order mark.
func (c *CSVOptions) marked() bool { return cmp.Or(c.BOM == Marked, c.BOM == "" && c.Locale != "") }

// separator returns the byte between two cells.
func (c *CSVOptions) separator() byte {
	switch {
	case c.Delimiter != "":
		return c.Delimiter[0]
	case c.Locale.numbers().decimal == ",":
		return ';'
	}
	return ','
}

// Delimiter separates the cells of a line; empty: see CSVOptions.
type Delimiter string

// Delimiters can separate the cells of a line. No number contains one.
var Delimiters = []string{",", ";", "\t", "|"}

// Parse sets it to a text.
func (d *Delimiter) Parse(text string) *report.Mistake {
	if !slices.Contains(Delimiters, text) {
		var quoted []string
		for _, d := range Delimiters {
			quoted = append(quoted, strconv.Quote(d))
		}
		last := len(quoted) - 1
		return &report.Mistake{Message: "not one of " + strings.Join(quoted[:last], ", ") + " or " + quoted[last]}
	}
	*d = Delimiter(text)
	return nil
}

// Null is a text for NULL: whatever the delimiter, it needs no quotes.
type Null string

// Parse sets it to a text.
func (n *Null) Parse(text string) *report.Mistake {
	if len(text) > 64 || !utf8.ValidString(text) || strings.ContainsAny(text, "\"\r\n"+strings.Join(Delimiters, "")) {
		return &report.Mistake{Message: "not a valid text for NULL", Remedy: `Use at most 64 bytes, and no quotes, line breaks or any of , ; | and TAB, such as NULL or \N`}
	}
	*n = Null(text)
	return nil
}

// DateLayout is a format of dates; empty: as they are.
type DateLayout string

// Parse sets it to a text.
func (l *DateLayout) Parse(text string) *report.Mistake {
	*l = DateLayout(text)
	return checkLayout(text, report.KindDate)
}

// DatetimeLayout is a format of datetimes; empty: as they are.
type DatetimeLayout string

// Parse sets it to a text.
func (l *DatetimeLayout) Parse(text string) *report.Mistake {
	*l = DatetimeLayout(text)
	return checkLayout(text, report.KindDatetime)
}

// showsZone tells whether a datetime shows the offset of its zone.
func (l DatetimeLayout) showsZone() bool { return strings.Contains(string(l), "ZZ") }

// Formulas is the policy for a text that a spreadsheet would read as a formula.
type Formulas string

// The policies for formulas.
const (
	FormulasOff    Formulas = ""       // the text stays as it is
	FormulasEscape Formulas = "escape" // a single quote is written before it
	FormulasFail   Formulas = "fail"   // the file is not made
)

// checkCSV proves that a text for NULL can be read back, and that no text of the configuration is a
// formula.
func checkCSV(r *report.Report) (wrong []report.FieldMistake) {
	mistake := func(field, message, remedy string) {
		wrong = append(wrong, report.FieldMistake{Field: field,
			Mistake: report.Mistake{Message: message, Remedy: remedy}})
	}
	formula := func(text []byte) bool { return IsFormula(text, report.KindText) }
	o := csvOptions(&r.File)
	if decimal := o.Locale.numbers().decimal; o.Locale != "" && decimal == string(o.separator()) {
		mistake("delimiter", fmt.Sprintf("%q is also the decimal sign of the locale %s", decimal, o.Locale),
			"Remove delimiter, or use \";\"")
	}
	if o.Thousands && o.Locale == "" {
		mistake("thousands", "only a locale says how digits are grouped", "Add locale, such as locale: en")
	}
	switch {
	case o.Null == nil:
	case *o.Null == "" && (len(r.File.Columns) == 1 || r.File.ColumnsFrom != ""):
		mistake("null", "a file that can have one column cannot have an empty text for NULL",
			"Use a text such as NULL, because many readers skip empty lines")
	case o.Formulas != FormulasOff && formula([]byte(*o.Null)):
		mistake("null", "a spreadsheet reads this text as a formula", "Use another text, or set formulas: off")
	}
	if o.Formulas != FormulasFail {
		return wrong
	}
	for _, column := range r.File.Columns {
		if formula([]byte(column.Label)) {
			mistake("formulas", fmt.Sprintf("a spreadsheet reads the label %q as a formula", column.Label),
				"Change the label, or set formulas: escape")
		}
		l, _, ok := r.Listener(column.Listener)
		if ok && formula(dataset.AppendText(nil, []byte(l.Values[column.Column]))) {
			mistake("formulas", fmt.Sprintf("a spreadsheet reads the default of %s as a formula", column.Column),
				"Change the default, or set formulas: escape")
		}
	}
	return wrong
}

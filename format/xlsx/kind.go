package xlsx

import (
	"fmt"
	"maps"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// The limits of Excel.
const (
	maxRows      = 1_048_576 // of a sheet, with the header
	maxColumns   = 16_384
	maxText      = 32_767 // characters of a cell
	maxSheetName = 31     // characters
)

// Kind is the format: a workbook of Excel.
var Kind = format.Kind{
	Format: report.Format{
		Name: "xlsx", Fields: func() any { return new(Options) }, Check: check,
		Packed: "an xlsx file is compressed already",
	},
	Extension:   ".xlsx",
	ContentType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	PartRows:    maxRows - 1,
	New:         newEncoder,
}

// Options are the own fields of the format.
type Options struct {
	// Name of the sheet. Further ones have a number behind it: `orders (2)`
	Sheet SheetName `yaml:"sheet" unset:"the report's name" json:",omitempty"`
	// Number format of dates, from YYYY YY MM DD, each at most once
	Date format.DateLayout `yaml:"date" unset:"YYYY-MM-DD" json:",omitempty"`
	// Number format of datetimes, from the same and HH, hh (12 hours, with AM), mm, ss, fff and AM, each at most once.
	// MM is the month and mm the minute
	Datetime format.DatetimeLayout `yaml:"datetime" unset:"YYYY-MM-DD HH:mm:ss with its fraction" json:",omitempty"`
	// `true` keeps the header in view
	Freeze bool `yaml:"freeze" default:"true" json:",omitempty"`
	// `true` adds filters to the header
	Filter bool `yaml:"filter" default:"true" json:",omitempty"`
}

// options returns the options of a file; without any, all have their defaults.
func options(f *report.File) *Options {
	if o, ok := f.Options.(*Options); ok {
		return o
	}
	return &Options{Freeze: true, Filter: true}
}

// SheetName is the name of a sheet; empty: that of the report.
type SheetName string

// Parse sets it to a text.
func (n *SheetName) Parse(text string) *report.Mistake {
	if text == "" || cleanName(text) != text {
		return &report.Mistake{Message: "not a name of a sheet in Excel", Remedy: fmt.Sprintf(
			"Use 1 to %d characters without %s and control characters, and no apostrophe or space at either end; "+
				"History is reserved", maxSheetName, forbiddenInNames)}
	}
	*n = SheetName(text)
	return nil
}

const forbiddenInNames = `[ ] : * ? / \`

// cleanName returns a text as the name of a sheet.
func cleanName(text string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(strings.ReplaceAll(forbiddenInNames, " ", ""), r) {
			return '-'
		}
		if unicode.IsControl(r) || r == utf8.RuneError || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, text)
	name = strings.Trim(cut(strings.Trim(name, "' "), maxSheetName), "' ")
	if name == "" || strings.EqualFold(name, "history") {
		return "Sheet1"
	}
	return name
}

// cut returns the first characters of a text, as Excel counts them: in UTF-16.
func cut(text string, most int) string {
	for i, r := range text {
		if most -= utf16.RuneLen(r); most < 0 {
			return text[:i]
		}
	}
	return text
}

// check returns what no workbook can hold of a file.
func check(r *report.Report) (wrong []report.FieldMistake) {
	if err := fits(&r.File); err != nil {
		wrong = append(wrong, report.FieldMistake{Field: "columns", Mistake: report.Mistake{Message: err.Error(),
			Remedy: "Reduce it, or choose another format"}})
	}
	o := options(&r.File)
	if _, mistake := codeOf(o.Date.Pieces()); mistake != nil {
		wrong = append(wrong, report.FieldMistake{Field: "date", Mistake: *mistake})
	}
	if _, mistake := codeOf(o.Datetime.Pieces()); mistake != nil {
		wrong = append(wrong, report.FieldMistake{Field: "datetime", Mistake: *mistake})
	}
	return wrong
}

// fits returns an error if a sheet cannot have the columns of a file.
func fits(f *report.File) error {
	if n := len(f.Columns); n > maxColumns {
		return fmt.Errorf("a sheet of the format xlsx has at most %d columns, and the file %d", maxColumns, n)
	}
	for _, c := range f.Columns {
		if n := length([]byte(c.Label)); n > maxText {
			return fmt.Errorf("a cell of the format xlsx has at most %d characters, and the label %q %d", maxText,
				report.Shorten(c.Label), n)
		}
	}
	return nil
}

func newEncoder(f *report.File, columns []dataset.Column) (format.Encoder, error) {
	if err := fits(f); err != nil {
		return nil, err
	}
	e := &encoder{Options: options(f), codes: maps.Clone(codes)}
	if code, _ := codeOf(e.Date.Pieces()); code != "" {
		e.codes[styleDate] = code
	}
	if code, _ := codeOf(e.Datetime.Pieces()); code != "" {
		e.codes[styleDatetime], e.codes[styleMoment] = code, code
	}
	for i, from := range columns {
		zones, err := format.NewZones(from.Zone, f.TimeZone)
		if f.TimeZone == "" {
			zones, err = format.NewZones("", "") // unchanged
		}
		if err != nil {
			return nil, err
		}
		c := column{label: f.Columns[i].Label, Column: from, zones: zones}
		if from.Zerofill > 0 {
			c.zerofill = e.zeroFilled(min(from.Zerofill, 255))
		}
		e.columns = append(e.columns, c)
	}
	return e, nil
}

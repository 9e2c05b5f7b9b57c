package report

import (
	"strings"
	"unicode/utf8"
)

// CSV defines the form of the file. The default is the form of RFC 4180. The JSON is
// part of the definition's hash, which options that are not set do not change.
type CSV struct {
	// Join key, column that only one listener has, `<listener>.<column>`, or these fields
	Columns []CSVColumn `yaml:"columns" min:"1" unset:"the join keys, then all other columns"`
	// `true` begins the file with a byte order mark, by which Excel recognizes UTF-8
	BOM bool `yaml:"bom" default:"false" json:",omitempty"`
	// `,` `;` `|` or `"\t"`
	Delimiter string `yaml:"delimiter" form:"delimiter" unset:"a comma" json:",omitempty"` // empty: a comma
	// Line ends between rows. Those inside a cell stay as they are
	LF bool `yaml:"line_end" enum:"crlf,lf" default:"crlf" json:",omitempty"`
	// Text for NULL, in quotes (`"NULL"`, `"\\N"`, `""`). With `"NULL"`, a NULL is `NULL`, the text NULL is `"NULL"`, and an empty text is `""`
	Null *string `yaml:"null" raw:"" unset:"NULL and empty texts are empty" json:",omitempty"`
	// Zone in which datetimes are written: see [Time zones](#time-zones)
	TimeZone string `yaml:"time_zone" form:"zone" unset:"as the source delivers them" json:",omitempty"`
	// Format of dates, from YYYY YY MM DD, each at most once
	Date string `yaml:"date" form:"date" unset:"YYYY-MM-DD" json:",omitempty"`
	// Format of datetimes, from the same and HH, hh (12 hours, with AM), mm, ss, fff, ffffff, AM and ZZ (+02:00), each at most once. MM is the month and mm the minute. T is the only other letter allowed
	Datetime string `yaml:"datetime" form:"datetime" unset:"YYYY-MM-DD HH:mm:ss with its fraction" json:",omitempty"`
	// What happens to a text that a spreadsheet would read as a formula: see [Formulas](#formulas)
	Formulas Formulas `yaml:"formulas" enum:"off=,escape,fail" default:"off" json:",omitempty"`
	// `gzip` makes the file `<id>-<attempt>-<tag>.csv.gz`, of the type application/gzip, without a Content-Encoding
	Gzip bool `yaml:"compress" enum:"off,gzip" default:"off" json:",omitempty"`
	// Maximum number of rows, without the header. A job with more fails at once, and its error says what to do. Excel shows 1,048,576 rows
	MaxRows int64 `yaml:"max_rows" min:"1" max:"4294967295" unset:"no limit" json:",omitempty"` // 0: any
	// Maximum size of the file in the sink. A job with a larger file fails
	MaxBytes int64          `yaml:"max_bytes" unit:"bytes" min:"1" max:"5120GB" unset:"no limit" json:",omitempty"` // 0: any
	Fixed    map[int]string `json:",omitempty"`                                                                     // index of a column from 0 → JSON of its cell in every row; set by Report.Without
}

// Delimiters are the characters that can separate the cells of a line. No number contains one.
var Delimiters = []string{",", ";", "\t", "|"}

// IsNullText reports whether a text can represent NULL: whatever the delimiter, it needs
// no quotes.
func IsNullText(text string) bool {
	return len(text) <= 64 && utf8.ValidString(text) && !strings.ContainsAny(text, "\"\r\n"+strings.Join(Delimiters, ""))
}

// Formulas is the policy for a text that a spreadsheet would read as a formula.
type Formulas string

// The policies for formulas.
const (
	FormulasOff    Formulas = ""       // the text stays as it is
	FormulasEscape Formulas = "escape" // a single quote is written before it
	FormulasFail   Formulas = "fail"   // the file is not made
)

// CSVColumn is one column of the file.
type CSVColumn struct {
	// Text in the header
	Label    string `yaml:"label" unset:"the column's name"`
	Listener string // empty for a key column of the join, which has the first value that is not null
	// Join key, column, or `<listener>.<column>`
	Column string `yaml:"column" short:"" need:"Name a join key, a column, or <listener>.<column>"` // without the listener
}

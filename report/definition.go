package report

import (
	"iter"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Secret is a value that must never be seen: it prints, logs and marshals as
// "***". Reveal gives the value itself.
type Secret string

// Reveal returns the secret's value, for the one place that connects with it.
func (s Secret) Reveal() string { return string(s) }

// String hides the value.
func (Secret) String() string { return "***" }

// GoString hides the value from %#v.
func (Secret) GoString() string { return "***" }

// LogValue hides the value from log/slog.
func (Secret) LogValue() slog.Value { return slog.StringValue("***") }

// MarshalText hides the value from JSON and YAML.
func (Secret) MarshalText() ([]byte, error) { return []byte("***"), nil }

// Report is the definition of a report.
type Report struct {
	Name   string `key:"report"`
	Line   int    // in the configuration file
	Stages []Stage
	// deadline of a job, from its start until its file is committed
	Timeout time.Duration `yaml:"timeout" unset:"what its stages can take, and time for the file: see Timeouts"`
	// of making the file, and of its listeners
	Retry Retry `yaml:"retry"`
	// values that a record gives, by name: a type, or these fields
	Parameters []Parameter `yaml:"parameters"`
	// how the listeners' rows meet; needed for two or more listeners
	Join Join `yaml:"join"`
	// what the file looks like
	CSV CSV `yaml:"csv"`
	// a running job whose definition no process has any more waits for one that has it, or is started again with this definition
	RestartOnChange bool `yaml:"on_change" enum:"wait,restart" default:"wait"`
	// `waits`: the deadline moves by the time for which a listener that the job waits for is paused
	DeadlineWaits bool `yaml:"paused_deadline" enum:"runs,waits" default:"runs"`
}

// Parameter is a value that the record gives and that queries use as :name.
type Parameter struct {
	Name string `key:"parameter"`
	// type of the value
	Type ParameterType `yaml:"type" short:"" default:"string"`
	// `true`: the value is an array, for `IN (:name)`
	List bool `yaml:"list" default:"false"`
	// value if the record gives none
	Default *string `yaml:"default" raw:"" unset:"the record must give a value"` // its JSON; nil: none
}

// ParameterType is the type that a parameter's value must have.
type ParameterType string

// The types of a parameter and the JSON that a record gives for them.
const (
	ParamString   ParameterType = "string"   // any JSON string
	ParamInteger  ParameterType = "integer"  // JSON number or string of digits, 64 bits
	ParamDecimal  ParameterType = "decimal"  // JSON number or numeric string, bound as its text
	ParamBoolean  ParameterType = "boolean"  // true or false
	ParamDate     ParameterType = "date"     // "2006-01-02"
	ParamDatetime ParameterType = "datetime" // "2006-01-02 15:04:05[.ffffff]", "T" allowed
)

// ParameterTypes are all of them.
var ParameterTypes = []ParameterType{ParamString, ParamInteger, ParamDecimal, ParamBoolean, ParamDate, ParamDatetime}

// Stage is one fan-out and its barrier.
type Stage struct {
	Listeners []Listener
}

// Listener is one data source of a stage.
type Listener struct {
	// unique in the report, such as `plt_fund.vs_withdraw`: letters, digits and `_`, in parts with dots between them
	Name string `yaml:"name" form:"listener" need:"Name it after what it reads, such as schema.table"`
	Line int
	// where its data comes from: a query, an HTTP API, or a service of yours
	Kind ListenerKind `yaml:"kind" default:"mysql"`
	// of one try of its task
	Timeout time.Duration `yaml:"timeout" default:"5m"`
	// of its task
	Retry Retry `yaml:"retry" unset:"the report's, field by field"`

	Source  string        // what it reads: the name of a Database, or of an API
	Zone    string        // of the DATETIME columns of its Database; empty: UTC
	Query   Query         // FromMySQL
	HTTP    *HTTP         // FromHTTP
	From    *Ref          // the column of an earlier stage that the query uses; nil: none
	Columns []string      // what the query gives, in its order
	Types   []Kind        // of the columns; nil: the source says
	Batch   int           // FromHTTP: values of an earlier stage in one request
	Silence time.Duration // of an external worker, after which it is considered dead

	OnFailure OnFailure         // what its final failure means for the job
	Defaults  map[string]string // with Default: column → JSON of the value in every row; null for the others
}

// OnFailure says what it means for a job that one of its listeners fails for good: it can
// never work, or its last try has failed.
type OnFailure string

// The policies. A job goes on without a listener that is not required: as if it had
// found nothing, and its columns are empty or have their defaults in every row.
const (
	Required OnFailure = "" // the job fails
	Optional OnFailure = "optional"
	Default  OnFailure = "default"
)

// CanOmit tells whether a job goes on without the listener if that fails for good.
func (l *Listener) CanOmit() bool { return l.OnFailure == Optional || l.OnFailure == Default }

// CanOmit tells whether a job of the report can go on without one of its listeners,
// and so end as PARTIAL.
func (r *Report) CanOmit() bool {
	return slices.ContainsFunc(r.Stages, func(s Stage) bool {
		return slices.ContainsFunc(s.Listeners, func(l Listener) bool { return l.CanOmit() })
	})
}

// ListenerKind says where a listener's data comes from.
type ListenerKind string

// The kinds of listeners.
const (
	FromMySQL ListenerKind = "mysql"    // a query of a database; the default
	FromHTTP  ListenerKind = "http"     // requests to an API
	External  ListenerKind = "external" // a service that reads the listener's stream; it has no Source
)

// ListenerKinds are all of them.
var ListenerKinds = []ListenerKind{FromMySQL, FromHTTP, External}

// Ref is a column of a listener.
type Ref struct {
	Listener, Column string
}

// String returns the column's full name, <listener>.<column>: the parameter in
// a query, and the first field of its values in Redis.
func (r Ref) String() string { return r.Listener + "." + r.Column }

// Join says how the datasets meet.
type Join struct {
	// key column, or list of them
	Keys []string `yaml:"key" one:"" min:"1" why:"Name at least one column"`
	// whether the case of letters counts: see [Keys](#keys)
	FoldCase CaseFolding `yaml:"fold_case" enum:"false=,true=simple,full" default:"false"`
	// in the order of the join: a name, or these fields. A listener that is not in the list is only a source for `:listener.column`
	Listeners []Joined `yaml:"listeners" min:"1" unset:"all, inner"` // the first one drives the join
}

// CaseFolding says which text keys are equal although their case differs, by Unicode's
// case folding.
type CaseFolding string

// The ways of folding. Simple folding takes one character for another one of the same
// letter, full folding takes ß for ss as well.
const (
	FoldNone   CaseFolding = ""
	FoldSimple CaseFolding = "simple"
	FoldFull   CaseFolding = "full"
)

// MarshalJSON writes it as the configuration has it: false, true or "full".
func (c CaseFolding) MarshalJSON() ([]byte, error) {
	if c == FoldFull {
		return []byte(`"full"`), nil
	}
	return strconv.AppendBool(nil, c == FoldSimple), nil
}

// Joined is one dataset in a join.
type Joined struct {
	// name of a listener
	Listener string `yaml:"name" short:"" need:"Name one of the report's listeners"`
	// which rows survive; the first listener has none
	Type JoinType `yaml:"type" default:"inner"`
	// its own key columns, if they have other names
	Keys []string `yaml:"key" one:"" min:"1" why:"Name at least one column" unset:"the join's"` // as many as Join.Keys
}

// Joins tells whether a listener is part of the join.
func (j Join) Joins(listener string) bool {
	return slices.ContainsFunc(j.Listeners, func(l Joined) bool { return l.Listener == listener })
}

// JoinType says which rows survive.
type JoinType string

// The types of a join, as in SQL.
const (
	Inner JoinType = "inner"
	Left  JoinType = "left"
	Full  JoinType = "full"
)

// JoinTypes are all of them.
var JoinTypes = []JoinType{Inner, Left, Full}

// CSV says what the file looks like. Without options it is as RFC 4180 has it. The
// JSON is a part of the definition's hash, which an option that is not given does
// not change.
type CSV struct {
	// a join key, a column's name that only one listener has, `<listener>.<column>`, or these fields
	Columns []CSVColumn `yaml:"columns" min:"1" unset:"the join keys, then all other columns"`
	// `true`: the file begins with the byte order mark, by which Excel recognizes UTF-8
	BOM bool `yaml:"bom" default:"false" json:",omitempty"`
	// `,` `;` `|` or `"\t"`
	Delimiter string `yaml:"delimiter" form:"delimiter" unset:"a comma" json:",omitempty"` // empty: a comma
	// line ends inside of a cell are not changed
	LF bool `yaml:"line_end" enum:"crlf,lf" default:"crlf" json:",omitempty"`
	// text for NULL, in quotes (`"NULL"`, `"\\N"`, `""`). A text that says the same, and an empty one, is written with quotes then, so that both can be told from NULL
	Null *string `yaml:"null" raw:"" unset:"NULL and empty texts are empty" json:",omitempty"`
	// zone in which datetimes are shown: see [Time zones](#time-zones)
	TimeZone string `yaml:"time_zone" form:"zone" unset:"as the source gives them" json:",omitempty"`
	// form of dates, of YYYY YY MM DD, each part once
	Date string `yaml:"date" form:"date" unset:"YYYY-MM-DD" json:",omitempty"`
	// form of datetimes, of the same and HH (hh: 12 hours) mm ss fff ffffff AM ZZ (+02:00), each part once. MM is the month and mm the minute; hh and AM go together; the only other letter between them is T
	Datetime string `yaml:"datetime" form:"datetime" unset:"YYYY-MM-DD HH:mm:ss with its fraction" json:",omitempty"`
	// what becomes of a text that a spreadsheet takes for a formula: see [below](#formulas)
	Formulas Formulas `yaml:"formulas" enum:"off=,escape,fail" default:"off" json:",omitempty"`
	// `gzip`: the file is `<id>-<attempt>-<tag>.csv.gz`, of the type application/gzip, without a Content-Encoding. Let all processes be of a version that knows this setting first: an older one does not remove such a file of an earlier attempt
	Gzip bool `yaml:"compress" enum:"off,gzip" default:"off" json:",omitempty"`
	// maximum number of rows, without the header. A file with more is not cut: the job fails at once, and says what to do. Excel shows 1,048,576 rows
	MaxRows int64 `yaml:"max_rows" min:"1" max:"4294967295" unset:"any" json:",omitempty"` // 0: any
	// maximum size in the sink; a larger file fails its job
	MaxBytes int64          `yaml:"max_bytes" unit:"bytes" min:"1" max:"5120GB" unset:"any" json:",omitempty"` // 0: any
	Fixed    map[int]string `json:",omitempty"`                                                                // number of a column from 0 → JSON of its cell in every row; made by Report.Without
}

// Delimiters are the characters that can separate the cells of a line. No number has one.
var Delimiters = []string{",", ";", "\t", "|"}

// IsNullText tells whether a text can stand for NULL: without quotes it reads back as
// it is, whatever the delimiter.
func IsNullText(text string) bool {
	return len(text) <= 64 && utf8.ValidString(text) && !strings.ContainsAny(text, "\"\r\n"+strings.Join(Delimiters, ""))
}

// Formulas says what becomes of a text that a spreadsheet takes for a formula. The
// zero value leaves it as it is.
type Formulas string

// What can become of a formula.
const (
	FormulasOff    Formulas = ""       // it stays
	FormulasEscape Formulas = "escape" // a single quote goes before it
	FormulasFail   Formulas = "fail"   // the file is not made
)

// CSVColumn is one column of the file.
type CSVColumn struct {
	// text in the header
	Label    string `yaml:"label" unset:"the column's name"`
	Listener string // empty for a key column of the join: the first value of it that is not null
	// a join key, a column, or `<listener>.<column>`
	Column string `yaml:"column" short:"" need:"Name a join key, a column, or <listener>.<column>"` // without the listener
}

// Listeners iterates over the listeners, with the numbers of their stages, counted from 1.
func (r *Report) Listeners() iter.Seq2[int, *Listener] {
	return func(yield func(int, *Listener) bool) {
		for s := range r.Stages {
			for i := range r.Stages[s].Listeners {
				if !yield(s+1, &r.Stages[s].Listeners[i]) {
					return
				}
			}
		}
	}
}

// Listener returns the listener of that name and the number of its stage,
// counted from 1.
func (r *Report) Listener(name string) (l *Listener, stage int, ok bool) {
	for stage, l := range r.Listeners() {
		if l.Name == name {
			return l, stage, true
		}
	}
	return nil, 0, false
}

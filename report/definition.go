package report

import (
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
	Name       string
	Line       int // in the configuration file
	Parameters []Parameter
	Stages     []Stage
	Join       Join
	CSV        CSV
	Timeout    time.Duration // from start to PUBLISHING; default: see Report.DefaultTimeout
	Retry      Retry         // of making the file; the default of the listeners

	RestartOnChange bool // a job whose definition no process has any more is started again with this one

	DeadlineWaits bool // the timeout is extended by the time for which a listener that a job waits for is paused
}

// Parameter is a value that the record gives and that queries use as :name.
type Parameter struct {
	Name    string
	Type    ParameterType // default string
	List    bool          // the value is a JSON array, for IN (:name)
	Default *string       // JSON of the value if the record gives none; nil: the record must give one
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
	Name    string // unique in its report, such as plt_fund.vs_withdraw
	Line    int
	Kind    ListenerKind
	Source  string        // what it reads: the name of a Database, or of an API
	Zone    string        // of the DATETIME columns of its Database; empty: UTC
	Query   Query         // FromMySQL
	HTTP    *HTTP         // FromHTTP
	From    *Ref          // the column of an earlier stage that the query uses; nil: none
	Columns []string      // what the query gives, in its order
	Types   []Kind        // of the columns; nil: the source says
	Timeout time.Duration // of one try of a task, with all of its requests
	Retry   Retry         // default: the report's
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
	Keys      []string // names of the key columns in the output
	FoldCase  CaseFolding
	Listeners []Joined // in the order of the join; the first one drives it
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
	Listener string
	Type     JoinType // ignored for the first
	Keys     []string // its columns for Join.Keys, as many
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
	Columns   []CSVColumn
	BOM       bool           `json:",omitempty"` // the file begins with a byte order mark
	Delimiter string         `json:",omitempty"` // one of Delimiters; empty: a comma
	LF        bool           `json:",omitempty"` // lines end with LF, not with CRLF
	Null      *string        `json:",omitempty"` // text for NULL; the same text, and an empty one, is quoted then. nil: NULL and empty texts are empty
	TimeZone  string         `json:",omitempty"` // in which datetimes are shown; empty: each as its source gives it
	Date      string         `json:",omitempty"` // form of dates, such as DD.MM.YYYY; empty: as the source gives them
	Datetime  string         `json:",omitempty"` // form of datetimes, such as DD.MM.YYYY HH:mm; empty: as the source gives them
	Formulas  Formulas       `json:",omitempty"` // what becomes of texts that a spreadsheet takes for formulas
	Gzip      bool           `json:",omitempty"` // the file is compressed
	MaxRows   int64          `json:",omitempty"` // maximum number of rows, without the header; 0: any
	MaxBytes  int64          `json:",omitempty"` // maximum size in the sink; 0: any
	Fixed     map[int]string `json:",omitempty"` // number of a column from 0 → JSON of its cell in every row; made by Report.Without
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
	Label    string // in the header
	Listener string // empty for a key column of the join: the first value of it that is not null
	Column   string // the listener's column, or the key's name in Join.Keys
}

// Listener returns the listener of that name and the number of its stage,
// counted from 1.
func (r *Report) Listener(name string) (l *Listener, stage int, ok bool) {
	for s := range r.Stages {
		for i := range r.Stages[s].Listeners {
			if l := &r.Stages[s].Listeners[i]; l.Name == name {
				return l, s + 1, true
			}
		}
	}
	return nil, 0, false
}

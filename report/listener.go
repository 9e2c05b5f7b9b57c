package report

import (
	"slices"
	"time"
)

// Listener is one data source of a report. Hash lists the fields that are part of the definition.
type Listener struct {
	Name string `key:"listener"`
	// Name of the listener on the [waiting page](../guides/waiting-page.md)
	Label string `yaml:"label" unset:"the last part of the name"`
	File  string // of the configuration, that defines it
	Line  int
	// Where its data comes from: a query, an HTTP API, or a service of yours
	Kind string `yaml:"kind" kinds:"source" unset:"that of its database"`
	// Maximum time of one try of its task
	Timeout time.Duration `yaml:"timeout" default:"5m"`
	// Retries of its task
	Retry Retry `yaml:"retry" unset:"the report's, field by field"`
	// What a job uses instead of its rows: see [When a listener fails](#when-a-listener-fails)
	OnFailure OnFailure `yaml:"on_failure"`

	Divide  *Divide       // nil: its rows are read at once
	Source  string        // name of the Database or API that it reads
	Zone    string        // of the DATETIME columns of its Database; empty means UTC
	Own     any           `of:"source"` // pointer to the own fields of its kind
	From    *Ref          // column of another listener that it uses; nil if none
	After   []string      // listeners that must be done before, whether it uses their columns or not
	Columns []string      // of the result, in order
	Types   []Kind        // of the columns; nil if the source defines them
	Silence time.Duration // time without a message after which an external worker is considered dead
	Overall time.Duration // maximum time of all tries and waits together; 0: Timeout bounds every try

	// Optional: if it fails for good, with a permanent error or in its last try, the job continues without it, as
	// if it had found nothing.
	Optional bool
	Values   map[string]string // of an omitted listener: column → JSON of the value in every row; null for the others
}

// OnFailure says what a job uses instead of the rows of a listener that fails for good.
type OnFailure struct {
	// Maximum age of the rows that an earlier job with a file has read, with the same definition of the listener and
	// the same parameters
	Stale time.Duration `yaml:"stale" min:"1m" max:"720h" need:"Write the maximum age of the rows, such as stale: 24h"`
}

// CanFail reports whether a job of the report may continue if the listener fails for good, and end as PARTIAL.
func (l *Listener) CanFail() bool { return l.Optional || l.OnFailure.Stale > 0 }

// Needs returns the listeners that must be done before it starts.
func (l *Listener) Needs() []string {
	if l.From == nil || slices.Contains(l.After, l.From.Listener) {
		return l.After
	}
	return append(slices.Clone(l.After), l.From.Listener)
}

// Instead says what the file has instead of the columns of an omitted listener.
func (l *Listener) Instead() string {
	if l.Values != nil {
		return "values"
	}
	return "empty"
}

// External is the kind of a listener whose service reads the stream itself. It has no Source.
const External = "external"

// Ref is a column of a listener.
type Ref struct {
	Listener, Column string
}

// String returns the column's full name, <listener>.<column>: the parameter in
// a query, and the first field of its values in Redis.
func (r Ref) String() string { return r.Listener + "." + r.Column }

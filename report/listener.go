package report

import (
	"time"
)

// Listener is one data source of a stage. Hash lists the fields that are part of the definition.
type Listener struct {
	// You choose it, such as `withdrawals` or `plt_fund.vs_withdraw`. Unique in the report: letters, digits and
	// `_`, in parts that dots separate
	Name string `yaml:"name" form:"listener" need:"Name it after what it reads, such as schema.table"`
	// Name of the listener on the [waiting page](../guides/waiting-page.md)
	Label string `yaml:"label" unset:"the last part of the name"`
	Line  int
	// Where its data comes from: a query, an HTTP API, or a service of yours
	Kind string `yaml:"kind" kinds:"source" unset:"that of its database"`
	// Maximum time of one try of its task
	Timeout time.Duration `yaml:"timeout" default:"5m"`
	// Retries of its task
	Retry Retry `yaml:"retry" unset:"the report's, field by field"`

	Source  string        // name of the Database or API that it reads
	Zone    string        // of the DATETIME columns of its Database; empty means UTC
	Own     any           `of:"source"` // pointer to the own fields of its kind
	From    *Ref          // column of an earlier stage that it uses; nil if none
	Columns []string      // of the result, in order
	Types   []Kind        // of the columns; nil if the source defines them
	Silence time.Duration // time without a message after which an external worker is considered dead
	Overall time.Duration // maximum time of all tries and waits together; 0: Timeout bounds every try

	OnFailure OnFailure         // effect of its final failure on the job
	Defaults  map[string]string // with Default: column → JSON of the value in every row; null for the others
}

// OnFailure is the effect on a job if one of its listeners fails for good: with a permanent
// error, or in its last try.
type OnFailure string

// The policies. A job continues without a listener that is not required, as if it had found
// nothing. Its columns are then empty or have their defaults in every row.
const (
	Required OnFailure = "" // the job fails
	Optional OnFailure = "optional"
	Default  OnFailure = "default"
)

// CanOmit reports whether a job continues without the listener if it fails for good.
func (l *Listener) CanOmit() bool { return l.OnFailure == Optional || l.OnFailure == Default }

// External is the kind of a listener whose service reads the stream itself. It has no Source.
const External = "external"

// Ref is a column of a listener.
type Ref struct {
	Listener, Column string
}

// String returns the column's full name, <listener>.<column>: the parameter in
// a query, and the first field of its values in Redis.
func (r Ref) String() string { return r.Listener + "." + r.Column }

package report

import (
	"time"
)

// Listener is one data source of a stage.
type Listener struct {
	// Unique in the report, such as `plt_fund.vs_withdraw`: letters, digits and `_`, in parts that dots separate
	Name string `yaml:"name" form:"listener" need:"Name it after what it reads, such as schema.table"`
	// Name of the listener on the [waiting page](../guides/waiting-page.md)
	Label string `yaml:"label" unset:"the last part of the name"`
	Line  int
	// Where its data comes from: a query, an HTTP API, or a service of yours
	Kind ListenerKind `yaml:"kind" default:"mysql"`
	// Maximum time of one try of its task
	Timeout time.Duration `yaml:"timeout" default:"5m"`
	// Retries of its task
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

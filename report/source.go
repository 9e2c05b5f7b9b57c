package report

import (
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Database is a server that listeners or the record store use.
type Database struct {
	Name string `key:"database"`
	Kind string // of source, which its DSN tells
	// Data source name, in the form of its kind of source, such as `user:password@tcp(host:port)/schema?options`
	DSN Secret `yaml:"dsn" file:"dsn_file" form:"dsn" need:""`
	// Maximum number of connections of one process, and so of its tasks that use the database at once. The records
	// have as many of their own
	MaxConnections int `yaml:"max_connections" default:"10" min:"1" max:"10000"`
	// Zone of its DATETIME columns, such as `Europe/Berlin`: see [Time zones](#time-zones)
	TimeZone string `yaml:"time_zone" form:"zone" unset:"UTC"`
	// Data source name of a replica, for listeners with `read_from: replica`. Its connections, `parallel`, `rate` and
	// `protect` are its own: as many, and as the limits of the database. Needs `protect.replica_lag`
	Replica Secret `yaml:"replica" file:"replica_file" form:"dsn"`
	// How busy the server may be when a query begins: see [Protect](../guides/protect-sources.md)
	Protect Protect `yaml:"protect" unset:"no limits"`
	// TLS encrypts the connections, unless it is None.
	TLS TLS
	Bound
}

// Source is what all of Fanfold knows of a database or an API.
type Source struct {
	Words
	TimeZone string // of its datetimes, as configured; empty: none is configured
	MaxTasks int    // that one process runs at once; 0: no limit
	Timed    bool   // a try of a listener ends at its timeout at the latest
	Protect  Protect
	Bound
}

// Words describe a kind of source to people.
type Words struct {
	Noun    string // before its name: "database", "API"
	Section string // of the configuration: "databases", "apis"
	// what a listener does, before the time since when: "its query has been running for"; {source} is its name
	Work   string
	Remedy string // if it cannot be reached
	// types of columns: of datetimes without a zone, such as DATETIME, and of instants, such as TIMESTAMP
	Datetime, Instant string
}

// API is an HTTP service that listeners of kind http use.
type API struct {
	Name string `key:"api"`
	Kind string // of source
	// `http://` or `https://host[:port][/path]`. Requests go only to this host, whatever a response says
	URL string `yaml:"url" form:"url" secret:"" need:"Write https://host[:port][/path], without user, query and #"`
	// Headers are sent with every request.
	Headers map[string]Secret
	// Maximum time of one request with its response. Time in which rows are stored does not count
	Timeout time.Duration `yaml:"timeout" default:"30s"`
	// Maximum size of one response, decompressed. A larger one fails the task. One row may have 4 MB
	MaxBytes int64 `yaml:"max_bytes" unit:"bytes" default:"64MB" min:"1" max:"64GB"`
	// Maximum number of redirects that a request follows. A redirect to another host or scheme is never followed,
	// because the headers would go there too; 0 follows none
	Redirects int `yaml:"redirects" default:"0" min:"0" max:"20"`
	// Header by which the API recognizes a repeated request, such as `Idempotency-Key`, or `none`. Required for
	// `submit`
	Idempotency string `yaml:"idempotency" form:"idempotency"`
	Bound
}

// NotIdempotent is the Idempotency of an API that does not recognize repeated requests.
const NotIdempotent = "none"

// Bound limits the use of a source by all processes together.
type Bound struct {
	// Maximum number of tasks that use it at once, in all processes together; 0 means no limit
	Parallel int `yaml:"parallel" default:"0" min:"0" max:"10000"`
	// Maximum rate of queries or requests, evenly spaced, in all processes together: a number per second, minute
	// or hour, such as `10/s`, `300/m` or `1000/h`
	Rate Rate `yaml:"rate" unset:"no limit"`
}

// Rate is a number of events in a period.
type Rate struct {
	Count int
	Per   time.Duration
}

// String returns the rate as in a configuration, such as 10/s; empty if there is no limit.
func (r Rate) String() string {
	if r.Count == 0 {
		return ""
	}
	return strconv.Itoa(r.Count) + "/" + map[time.Duration]string{time.Second: "s", time.Minute: "m",
		time.Hour: "h"}[r.Per]
}

// Distance returns the time between two events; 0 if there is no limit.
func (r Rate) Distance() time.Duration {
	if r.Count == 0 {
		return 0
	}
	return r.Per / time.Duration(r.Count)
}

// RateForm is the regular expression of a rate.
const RateForm = `^([1-9][0-9]{0,5})/(s|m|h)$`

var rateForm = regexp.MustCompile(RateForm)

// ParseRate reads a number per second, minute or hour.
func ParseRate(text string) (Rate, *Mistake) {
	parts := rateForm.FindStringSubmatch(text)
	if parts == nil {
		return Rate{}, &Mistake{Message: "not a rate",
			Remedy: "Write a whole number from 1 to 999999 per second, minute or hour, such as 10/s or 300/m"}
	}
	count, _ := strconv.Atoi(parts[1]) // six digits
	return Rate{Count: count, Per: map[string]time.Duration{"s": time.Second, "m": time.Minute,
		"h": time.Hour}[parts[2]]}, nil
}

// Secret is a value that must never be shown. It prints, logs and marshals as
// "***"; Reveal returns the value.
type Secret string

// Reveal returns the value, for the code that uses it.
func (s Secret) Reveal() string { return string(s) }

// String hides the value.
func (Secret) String() string { return "***" }

// GoString hides the value from %#v.
func (Secret) GoString() string { return "***" }

// LogValue hides the value from log/slog.
func (Secret) LogValue() slog.Value { return slog.StringValue("***") }

// MarshalText hides the value from JSON and YAML.
func (Secret) MarshalText() ([]byte, error) { return []byte("***"), nil }

// SourcesOf returns the databases and APIs that the listeners of every name read.
func SourcesOf(reports map[string]*Report) map[string][]string {
	all := map[string][]string{}
	for _, r := range reports {
		for _, l := range r.Listeners() {
			if l.Source != "" && !slices.Contains(all[l.Name], l.Source) {
				all[l.Name] = append(all[l.Name], l.Source)
			}
		}
	}
	return all
}

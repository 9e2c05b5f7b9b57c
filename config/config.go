package config

import (
	"regexp"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// Config is a configuration file that has been read and proved: every name in it that
// refers to something refers to something that exists.
type Config struct {
	Redis       report.Secret // URL; may hold a password
	Databases   map[string]Database
	APIs        map[string]API // no name is that of a database
	Records     Records
	Sink        report.SinkURL
	Limits      Limits
	Keys        report.Keys
	Admin       string // host:port of the admin server; empty: none
	AdminPublic bool
	Reports     map[string]*report.Report
	Timers      report.Timers   // the longest prefix first
	Warnings    decode.Problems // what works, but probably not as intended
}

// Database is a MySQL or MariaDB server that listeners or the record store use.
type Database struct {
	Name string `key:"database"`
	// `user:password@tcp(host:port)/schema?options`, in the form of go-sql-driver/mysql
	DSN report.Secret `yaml:"dsn" file:"dsn_file" form:"dsn" need:"Write user:password@tcp(host:port)/schema"`
	// maximum number of connections of one process
	MaxConnections int `yaml:"max_connections" default:"10" min:"1" max:"10000"`
	// zone of its DATETIME columns, such as `Europe/Berlin`: see [Time zones](#time-zones)
	TimeZone string `yaml:"time_zone" form:"zone" unset:"UTC"`
	Bound
}

// Bound limits how much all processes together ask of a source.
type Bound struct {
	// maximum number of tasks that use it at once, in all processes together; 0 means no limit
	Parallel int `yaml:"parallel" default:"0" min:"0" max:"10000"`
	// maximum rate of queries or requests, in all processes together, at even distances: a number per second, minute or hour, such as `10/s`, `300/m` or `1000/h`
	Rate Rate `yaml:"rate" unset:"no limit"`
}

// Rate is a number of events in a period.
type Rate struct {
	Count int
	Per   time.Duration
}

// Distance is the time between two events; 0 if there is no limit.
func (r Rate) Distance() time.Duration {
	if r.Count == 0 {
		return 0
	}
	return r.Per / time.Duration(r.Count)
}

var rateForm = regexp.MustCompile(`^([1-9][0-9]{0,5})/(s|m|h)$`)

// parseRate reads a number per second, minute or hour.
func parseRate(text string) (Rate, *report.Mistake) {
	parts := rateForm.FindStringSubmatch(text)
	if parts == nil {
		return Rate{}, &report.Mistake{Message: "not a rate", Remedy: "Write a whole number from 1 to 999999 in a second, minute or hour, such as 10/s or 300/m"}
	}
	count, _ := strconv.Atoi(parts[1]) // six digits
	return Rate{Count: count, Per: map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[parts[2]]}, nil
}

// API is an HTTP service that listeners of kind http ask.
type API struct {
	Name string `key:"api"`
	// `http://` or `https://host[:port][/path]`. Requests go to this host alone, whatever an answer says
	URL string `yaml:"url" form:"url" secret:"" need:"Write https://host[:port][/path], without user, query and #"`
	// Headers are sent with every request.
	Headers map[string]report.Secret
	// of one request with its answer. Time in which rows are stored does not count
	Timeout time.Duration `yaml:"timeout" default:"30s"`
	// maximum size of one answer, decompressed; a larger one fails the task. One row may have 4 MB
	MaxBytes int64 `yaml:"max_bytes" unit:"bytes" default:"64MB" min:"1" max:"64GB"`
	// maximum number of redirects that are followed, within the host. A redirect to another host or scheme is never followed, because the headers would go there, too
	Redirects int `yaml:"redirects" default:"0" min:"0" max:"20"`
	// header by which the API recognizes a repeated request, such as `Idempotency-Key`, or `none`. Needed for `submit`
	Idempotency string `yaml:"idempotency" form:"idempotency"`
	Bound
}

// NotIdempotent is the Idempotency of an API that does everything again.
const NotIdempotent = "none"

// Records says where the records are. The zero value is Fanfold's own table.
type Records struct {
	// name of one of `databases`
	Database string `yaml:"database" unset:"needed"`
	// `table` or `schema.table`
	Table string `yaml:"table" form:"table" default:"file_download_record"`
	// SQL condition that Fanfold's rows fulfil, such as `tenant = 7`; other rows are not seen
	Filter string `yaml:"filter" form:"condition" unset:"all rows"`
	// Fanfold's name of a column → the table's, or `"-"` if the table does not have it
	Columns map[string]string `yaml:"columns"` // see RecordColumns
	// Fanfold's status → the table's value
	Statuses map[string]string `yaml:"statuses"`
	// Partial says that a job of some report can end as PARTIAL.
	Partial bool
	// Parameters is the maximum size of a record's parameters, in bytes; 0 means the default of
	// Limits.
	Parameters int64
}

// Identifier is the regular expression of the names of tables and columns that need no
// other quoting.
const Identifier = `[A-Za-z0-9_$]{1,64}`

// RecordColumns are the columns that a record table can have. Those that are true must
// exist, the others can be mapped to "-".
var RecordColumns = map[string]bool{
	"id": true, "report": true, "status": true, "attempt": true, "file": true, "updated": true,
	"parameters": false, "error": false, "rows": false,
}

// Limits bounds what one installation does at once.
type Limits struct {
	// jobs running at once, in all processes together; the others wait in `fanfold:jobs`. Processes that start jobs at the same moment can each exceed it by 100
	RunningJobs int `yaml:"running_jobs" default:"1000" min:"1" max:"1000000"`
	// tasks of one listener at once in one process
	Tasks int `yaml:"tasks" default:"16" min:"1" max:"10000"`
	// files made at once in one process; each may use `fold_bytes`
	Folds int `yaml:"folds" default:"4" min:"1" max:"10000"`
	// memory for the rows of one file while it is made: see [Memory](#memory)
	FoldBytes int64 `yaml:"fold_bytes" unit:"bytes" default:"128MB" min:"64KB" max:"8GB"`
	// how long a PENDING or PROCESSING record that Redis does not know is left alone before its job is started, or started again
	Grace time.Duration `yaml:"grace" default:"1m" min:"1s" why:"Records that change within this time are left alone"`
	// a worker that is silent for this long is considered dead; it renews its lease three times within it
	Lease time.Duration `yaml:"lease" default:"10s" min:"1s" max:"1h" why:"A third of it must be longer than a pause of the machine"`
	// how long work may go on after SIGTERM; what is not done then is handed back, which does not count as a try
	Stop time.Duration `yaml:"stop" default:"20s"`
	// percent of Redis's `maxmemory` above which no job is started; without a `maxmemory` it has no effect
	Memory int `yaml:"memory" default:"80" min:"1" max:"100"`
	// data of one job in Redis
	JobBytes int64 `yaml:"job_bytes" unit:"bytes" default:"1GB" min:"1MB" max:"1024GB"`
	// `zstd`: listeners store chunks compressed. It saves memory of Redis and space in its log, and takes CPU time of the listeners. All processes read both forms, so it can be changed while jobs run; processes of a version without this setting cannot read it, so change it when they are gone. `job_bytes` counts what is stored: a file is made of several times as much
	Compress bool `yaml:"compress" enum:"off,zstd" default:"off"`
	// records that a rebuild reads in a second
	Rebuild int `yaml:"rebuild" default:"500" min:"1" max:"1000000"`
	// size of a record's parameters; longer ones are not read, and the record becomes FAILED
	Parameters int64 `yaml:"parameters" unit:"bytes" default:"64KB" min:"1KB" max:"1MB"`
}

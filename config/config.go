package config

import (
	"time"

	"github.com/fanfold/fanfold/report"
)

// Config is a configuration file that has been read and proved: every name in
// it that refers to something refers to something that is there.
type Config struct {
	Redis     report.Secret       // redis:// or rediss:// URL; may hold a password
	Databases map[string]Database // by name
	APIs      map[string]API      // by name; none has that of a database
	Records   Records
	Sink      report.SinkURL
	Limits    Limits                    // how much runs at once
	Keys      report.Keys               // names in Redis
	Reports   map[string]*report.Report // by name
	Timers    report.Timers             // the longest prefix first
	Warnings  Problems                  // what works, and probably not as it is meant
	Admin     string                    // host:port of the admin server; empty: none

	AdminPublic bool // the admin server may be reached from other machines
}

// Database is a MySQL or MariaDB server that listeners or the record store use.
type Database struct {
	Name           string
	DSN            report.Secret // go-sql-driver form: user:password@tcp(host:port)/schema?options
	MaxConnections int           // per process; default 10
	TimeZone       string        // of DATETIME columns, a name of the tz database; empty: not said, which is UTC
	Bound
}

// Bound is how much all processes together ask of a source.
type Bound struct {
	Parallel int  // tasks at once; 0 is no limit
	Rate     Rate // of queries or requests; zero is no limit
}

// Rate is a number in a time.
type Rate struct {
	Count int
	Per   time.Duration
}

// Distance is the time between one and the next; 0 where there is no limit.
func (r Rate) Distance() time.Duration {
	if r.Count == 0 {
		return 0
	}
	return r.Per / time.Duration(r.Count)
}

// Records says where the records are. The zero mapping is Fanfold's own table.
type Records struct {
	Database string            // name of a Database
	Table    string            // default file_download_record
	Columns  map[string]string // Fanfold's name → the table's; see RecordColumns. "-" where the table has none
	Statuses map[string]string // Fanfold's status → the table's value
	Filter   string            // SQL condition that the rows of Fanfold fulfil; empty for all
	Partial  bool              // some report's job can end as PARTIAL

	Parameters int64 // bytes of parameters that are read; 0 means DefaultParameters
}

// RecordColumns are the columns that a record table can have. Those that are
// true must be there, the others can be mapped to "-".
var RecordColumns = map[string]bool{
	"id": true, "report": true, "status": true, "attempt": true, "file": true, "updated": true,
	"parameters": false, "error": false, "rows": false,
}

// Limits bounds what one installation does at once.
type Limits struct {
	RunningJobs int           // jobs running in all processes together; default 1000
	Tasks       int           // tasks of one listener at once in one process; default 16
	Folds       int           // joins at once in one process; default 4
	FoldBytes   int64         // that one join holds in memory; 0 is no limit; default of a file 128 MiB
	Grace       time.Duration // age from which a PROCESSING record without state is started anew; default 1m
	Lease       time.Duration // a worker that is silent for so long is taken for dead; default 10s
	Stop        time.Duration // how long work may go on after SIGTERM before it is handed back; default 20s
	Memory      int           // percent of Redis's maxmemory above which no job is started; default 80
	JobBytes    int64         // data of one job in Redis; default 1 GiB
	Compress    bool          // chunks are stored as zstd frames; all processes read both; default false
	Rebuild     int           // records that a rebuild looks at in a second; default 500
	Parameters  int64         // bytes of a record's parameters; default DefaultParameters
}

// DefaultParameters is how many bytes a record's parameters may have by default: 64 KiB.
const DefaultParameters = 64 << 10

// API is an HTTP service that listeners of kind http ask.
type API struct {
	Name      string
	URL       string                   // scheme://host[:port][/path], without a slash at its end; all requests go to this host
	Headers   map[string]report.Secret // of each request
	Timeout   time.Duration            // of one request, with its answer; default 30s
	MaxBytes  int64                    // of one answer, decompressed; default 64 MiB
	Redirects int                      // how many are followed, within the host; default 0
	// Idempotency is the name of the header by which it tells a request from its
	// repetition, NotIdempotent where it does not; empty: nothing was said, and no
	// listener submits a job to it.
	Idempotency string
	Bound
}

// NotIdempotent is the Idempotency of an API that does everything again.
const NotIdempotent = "none"

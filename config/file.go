package config

import (
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// The structs here, and those of config.go that they embed, are the fields of the file:
// the only list of them. Their comments are the texts of docs/configuration.md and of
// schema.json; package decode says what the tags mean.

// file is the whole file.
type file struct {
	decode.Section
	// `redis://[user:password@]host[:port][/db]`, `rediss://` for TLS, or `unix://path`
	Redis report.Secret `yaml:"redis" file:"redis_file" form:"redis" need:"Write redis://[user:password@]host:port/db, rediss:// for TLS or unix://path; in a password write %40 for @, %2F for / and so on"`
	// databases of the records and of listeners, by name
	Databases []databaseFields `yaml:"databases" min:"1" secret:"" need:"Add the database of the records, and those that listeners query"`
	// HTTP APIs that listeners ask, by name: see [http.md](http.md#apis)
	APIs []apiFields `yaml:"apis"`
	// where the records are
	Records recordFields `yaml:"records" need:"Add records: {database: NAME}, the database with the table of records"`
	// `gs://bucket/prefix` or `file:///directory`: see [Sink](#sink)
	Sink report.SinkURL `yaml:"sink" need:"Write gs://bucket/prefix or file:///directory"`
	// bounds of what runs at once
	Limits Limits `yaml:"limits"`
	// prefixes of the names in Redis
	Keys keyFields `yaml:"keys"`
	// `host:port` of the admin server. It has no login, so keep it on loopback or behind something that has one
	Admin string `yaml:"admin" form:"address" unset:"none"`
	// allows an address of the admin server that other machines can reach, such as `0.0.0.0:9464`
	AdminPublic bool `yaml:"admin_public" default:"false"`
	// reports, by name
	Reports []reportFields `yaml:"reports" min:"1" need:"Define at least one report"`
	// timers, by name: see [Timers](#timers)
	Timers []timerFields `yaml:"timers"`
}

type databaseFields struct {
	decode.Section
	Database
	// file that holds the password of a `dsn` without one
	PasswordFile decode.Content `yaml:"password_file"`
}

type apiFields struct {
	decode.Section
	API
	// sent with every request; the values are secret. `{file: NAME}` is the content of a file, without the line end; a relative name is relative to the folder of the configuration. It is read when a process starts. An empty value is refused
	Headers []headerFields `yaml:"headers" secret:""`
}

type headerFields struct {
	decode.Section
	Name  string        `key:"header"`
	Value report.Secret `short:""`
	// file that holds the value
	File decode.Content `yaml:"file" need:"Name the file that holds the value"`
}

type recordFields struct {
	decode.Section
	Records
	// Fanfold's name of a column → the table's, or `"-"` if the table does not have it
	Columns []pair `yaml:"columns"`
	// Fanfold's status → the table's value
	Statuses []pair `yaml:"statuses"`
}

// pair is an entry of a mapping with free names.
type pair struct {
	decode.Section
	Name  string `key:""`
	Value string `short:""`
}

type keyFields struct {
	decode.Section
	// of the keys that all jobs share, such as the stream of ids
	Prefix string `yaml:"prefix" form:"prefix"`
	// of a job's hash, before the id
	Hash string `yaml:"hash" form:"prefix"`
}

func (k *keyFields) SetDefaults() {
	k.Prefix, k.Hash = report.DefaultKeys.Prefix, report.DefaultKeys.Hash
}

type reportFields struct {
	decode.Section
	Name string `key:"report"`
	// deadline of a job, from its start until its file is committed
	Timeout time.Duration `yaml:"timeout" unset:"what its stages can take, and time for the file: see Timeouts"`
	// `true`: a `timeout` that is shorter than what the stages can take is refused instead of a warning
	StrictTimeout bool `yaml:"strict_timeout" default:"false"`
	// of making the file, and of its listeners
	Retry retryFields `yaml:"retry"`
	// values that a record gives, by name: a type, or these fields
	Parameters []parameterFields `yaml:"parameters"`
	// run one after the other
	Stages []stageFields `yaml:"stages" min:"1" need:"Add stages: [{listeners: [...]}]"`
	// how the listeners' rows meet; needed for two or more listeners
	Join joinFields `yaml:"join"`
	// what the file looks like
	CSV csvFields `yaml:"csv"`
	// a running job whose definition no process has any more waits for one that has it, or is started again with this definition
	OnChange bool `yaml:"on_change" enum:"wait,restart" default:"wait"`
	// `waits`: the deadline moves by the time for which a listener that the job waits for is paused
	PausedDeadline bool `yaml:"paused_deadline" enum:"runs,waits" default:"runs"`
}

type retryFields struct {
	decode.Section
	// maximum number of retries after the first try
	Retries int `yaml:"retries" short:"" min:"0" max:"100"`
	// pause before a retry
	Delay time.Duration `yaml:"delay"`
	// `exponential`: the delay doubles with every retry, and varies by up to half of itself
	Exponential bool `yaml:"backoff" enum:"fixed,exponential"`
	// maximum of an exponential delay
	MaxDelay time.Duration `yaml:"max_delay"`
}

func (r *retryFields) SetDefaults() {
	d := report.DefaultRetry
	r.Retries, r.Delay, r.Exponential, r.MaxDelay = d.Retries, d.Delay, d.Exponential, d.MaxDelay
}

type parameterFields struct {
	decode.Section
	Name string `key:"parameter"`
	// type of the value
	Type report.ParameterType `yaml:"type" short:"" default:"string"`
	// `true`: the value is an array, for `IN (:name)`
	List bool `yaml:"list" default:"false"`
	// value if the record gives none
	Default decode.Setting `yaml:"default" unset:"the record must give a value"`
}

type stageFields struct {
	decode.Section
	// run at the same time
	Listeners []listenerFields `yaml:"listeners" min:"1" need:"Add listeners: [{name: …, database: …, query: …}]"`
}

type joinFields struct {
	decode.Section
	// key column, or list of them
	Key []string `yaml:"key" one:"" min:"1" why:"Name at least one column"`
	// whether the case of letters counts: see [Keys](#keys)
	FoldCase report.CaseFolding `yaml:"fold_case" enum:"false=,true=simple,full" default:"false"`
	// in the order of the join: a name, or these fields. A listener that is not in the list is only a source for `:listener.column`
	Listeners []joinedFields `yaml:"listeners" min:"1" unset:"all, inner"`
}

type joinedFields struct {
	decode.Section
	// name of a listener
	Name string `yaml:"name" short:"" need:"Name one of the report's listeners"`
	// which rows survive; the first listener has none
	Type report.JoinType `yaml:"type" default:"inner"`
	// its own key columns, if they have other names
	Key []string `yaml:"key" one:"" min:"1" why:"Name at least one column" unset:"the join's"`
}

type csvFields struct {
	decode.Section
	// a join key, a column's name that only one listener has, `<listener>.<column>`, or these fields
	Columns []columnFields `yaml:"columns" min:"1" unset:"the join keys, then all other columns"`
	// `true`: the file begins with the byte order mark, by which Excel recognizes UTF-8
	BOM bool `yaml:"bom" default:"false"`
	// `,` `;` `|` or `"\t"`
	Delimiter string `yaml:"delimiter" form:"delimiter" unset:"a comma"`
	// line ends inside of a cell are not changed
	LF bool `yaml:"line_end" enum:"crlf,lf" default:"crlf"`
	// text for NULL, in quotes (`"NULL"`, `"\\N"`, `""`). A text that says the same, and an empty one, is written with quotes then, so that both can be told from NULL
	Null decode.Setting `yaml:"null" unset:"NULL and empty texts are empty"`
	// zone in which datetimes are shown: see [Time zones](#time-zones)
	TimeZone string `yaml:"time_zone" form:"zone" unset:"as the source gives them"`
	// form of dates, of YYYY YY MM DD, each part once
	Date string `yaml:"date" form:"date" unset:"YYYY-MM-DD"`
	// form of datetimes, of the same and HH (hh: 12 hours) mm ss fff ffffff AM ZZ (+02:00), each part once. MM is the month and mm the minute; hh and AM go together; the only other letter between them is T
	Datetime string `yaml:"datetime" form:"datetime" unset:"YYYY-MM-DD HH:mm:ss with its fraction"`
	// what becomes of a text that a spreadsheet takes for a formula: see [below](#formulas)
	Formulas report.Formulas `yaml:"formulas" enum:"off=,escape,fail" default:"off"`
	// `gzip`: the file is `<id>-<attempt>-<tag>.csv.gz`, of the type application/gzip, without a Content-Encoding. Let all processes be of a version that knows this setting first: an older one does not remove such a file of an earlier attempt
	Gzip bool `yaml:"compress" enum:"off,gzip" default:"off"`
	// maximum number of rows, without the header. A file with more is not cut: the job fails at once, and says what to do. Excel shows 1,048,576 rows
	MaxRows int64 `yaml:"max_rows" min:"1" max:"4294967295" unset:"any"`
	// maximum size in the sink; a larger file fails its job
	MaxBytes int64 `yaml:"max_bytes" unit:"bytes" min:"1" max:"5120GB" unset:"any"`
}

type columnFields struct {
	decode.Section
	// a join key, a column, or `<listener>.<column>`
	Column string `yaml:"column" short:"" need:"Name a join key, a column, or <listener>.<column>"`
	// text in the header
	Label string `yaml:"label" unset:"the column's name"`
}

type timerFields struct {
	decode.Section
	Name string `key:"timer"`
	// form of the timers' names. The last `{name}` takes everything up to the text that follows it, each of the others a text without `-`; all take at least one character. If two definitions match, the one with the longer text before its first `{` counts; two with the same text there are refused
	Key report.Pattern `yaml:"key" need:"Write the form of its names, such as send_message-{user}-{type}"`
	// period after which it fires again: exact hours (`24h`, `90m`), or calendar days (`1d`, `2w`)
	Every report.Every `yaml:"every" unset:"once"`
	// zone of calendar days: the time of day stays the same over daylight saving. A time that a day does not have is moved forward; of a time that it has twice, the first counts
	TimeZone string `yaml:"time_zone" form:"zone" unset:"UTC"`
	// what to do with a timer that no process fired within `missed_after`: `once` fires it once, however many of its times have passed; `skip` does not
	Missed report.Missed `yaml:"missed" enum:"once,skip" default:"once"`
	// only with `missed: skip`
	MissedAfter time.Duration `yaml:"missed_after" default:"1m"`
	// of the action. A process runs 32 actions at once, without those that wait for a retry
	Retry retryFields `yaml:"retry"`
	// inserts a record and pushes it
	Submit *submitFields `yaml:"submit"`
	// appends an entry to a stream of yours
	Append *appendFields `yaml:"append"`
	// sends a request
	Call *callFields `yaml:"call"`
}

type submitFields struct {
	decode.Section
	// name of a report
	Report string `yaml:"report" need:"Name one of the reports"`
	// texts, by name
	Parameters []pair `yaml:"parameters"`
}

type appendFields struct {
	decode.Section
	// key of the stream
	Stream string `yaml:"stream" form:"stream" need:"Name the stream that services read"`
	// texts, by name
	Fields []pair `yaml:"fields"`
}

type callFields struct {
	decode.Section
	// `http://` or `https://`
	URL report.Template `yaml:"url" secret:"" need:"Write http://host/path, with {name} where a value goes"`
	// method of the request
	Method string `yaml:"method" enum:"GET,HEAD,POST,PUT,PATCH,DELETE" default:"POST"`
	// secret texts, by name
	Headers []pair `yaml:"headers" secret:""`
	// body of the request
	Body report.Template `yaml:"body" secret:""`
	// of one request
	Timeout time.Duration `yaml:"timeout" default:"10s"`
}

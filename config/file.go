package config

import (
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// The structs here, and those of package report that they contain, are the
// fields of the file: the only list of them. Their comments are the texts of
// docs/reference/configuration.md and of schema.json; package decode says what the tags mean. What is
// written here differs in the file from what the rest of Fanfold sees.

// file is the whole file.
type file struct {
	// the URL of a Redis or Valkey server, or these fields
	Redis redisFields `yaml:"redis" secret:"" need:"Write redis: redis://host:port/db, or redis: {sentinel: …}"`
	// databases of the records and of listeners, by name
	Databases []databaseFields `yaml:"databases" min:"1" secret:"" need:"Add the database of the records, and those that listeners query"`
	// HTTP APIs that listeners ask, by name: see [API sources](../guides/api-sources.md#apis)
	APIs []apiFields `yaml:"apis"`
	// where the records are
	Records report.Records `yaml:"records" need:"Add records: {database: NAME}, the database with the table of records"`
	// `gs://bucket/prefix` or `file:///directory`: see [Sink](#sink)
	Sink report.SinkURL `yaml:"sink" need:"Write gs://bucket/prefix or file:///directory"`
	// bounds of what runs at once
	Limits report.Limits `yaml:"limits"`
	// prefixes of the names in Redis
	Keys report.Keys `yaml:"keys"`
	// `host:port` of the admin server. An address that other machines can reach needs a login of `http`, which `/metrics` then asks for, or `admin_public`
	Admin string `yaml:"admin" form:"address" unset:"none"`
	// allows an address of the admin server that other machines can reach, such as `0.0.0.0:9464`, without a login
	AdminPublic bool `yaml:"admin_public" default:"false"`
	// what `serve --http` needs: see [HTTP](#http)
	HTTP report.Site `yaml:"http"`
	// reports, by name
	Reports []reportFields `yaml:"reports" min:"1" need:"Define at least one report"`
	// timers, by name: see [Timers](#timers)
	Timers []report.Timer `yaml:"timers"`
}

type redisFields struct {
	report.Redis
	tlsFields
}

// tlsFields are the files of report.TLS.
type tlsFields struct {
	// PEM file with the authorities that sign the server's certificate; it needs TLS
	CA decode.Content `yaml:"ca_file" unset:"those of the system"`
	// PEM file with the client's certificate
	Cert decode.Content `yaml:"cert_file"`
	// PEM file with the key of that certificate
	Key decode.Content `yaml:"key_file"`
}

type databaseFields struct {
	report.Database
	// file that holds the password of a `dsn` without one
	PasswordFile decode.Content `yaml:"password_file"`
	tlsFields
}

type apiFields struct {
	report.API
	// sent with every request; the values are secret. `{file: NAME}` is the content of a file, without the line end; a relative name is relative to the folder of the configuration. It is read when a process starts. An empty value is refused
	Headers []headerFields `yaml:"headers" secret:""`
}

type headerFields struct {
	Name  string        `key:"header"`
	Value report.Secret `short:""`
	// file that holds the value
	File decode.Content `yaml:"file" need:"Name the file that holds the value"`
}

type reportFields struct {
	// run one after the other
	Stages []stageFields `yaml:"stages" min:"1" need:"Add stages: [{listeners: [...]}]"`
	report.Report
	// `true`: a `timeout` that is shorter than what the stages can take is refused instead of a warning
	StrictTimeout bool `yaml:"strict_timeout" default:"false"`
}

type stageFields struct {
	// run at the same time
	Listeners []listenerFields `yaml:"listeners" min:"1" need:"Add listeners: [{name: …, database: …, query: …}]"`
}

type listenerFields struct {
	report.Listener
	// what it means for the job that it fails for good: `required`, `optional`, or `{default: {column: value}}`
	OnFailure failureFields `yaml:"on_failure" unset:"required"`

	mysqlFields    `kind:"mysql"`
	httpFields     `kind:"http"`
	externalFields `kind:"external"`
}

type failureFields struct {
	Policy report.OnFailure `short:"" enum:"required=,optional" why:"Or write {default: {column: value}}"`
	// column → its value in every row
	Default map[string]decode.Setting `yaml:"default" min:"1" need:"Write {default: {column: value}}, or optional"`
}

type mysqlFields struct {
	// name of one of `databases`
	Database string `yaml:"database" unset:"needed"`
	// one SELECT, with `:parameter` and `:listener.column`
	SQL string `yaml:"query" need:"Add the SELECT that this listener runs"`
	// names of what the query gives, in order; needed if its SELECT does not tell them
	Named []string `yaml:"columns" unset:"as in the SELECT"`
}

type externalFields struct {
	// what the service gives: names, or these fields
	Typed []typedFields `yaml:"columns" need:"Name what the service gives: columns: [user_id, {name: score, type: decimal}]"`
	// a worker that is silent for this long is considered dead
	Silent time.Duration `yaml:"silence" default:"30s" min:"1s" why:"A worker says something every third of it"`
}

type typedFields struct {
	// name of the column
	Name string `yaml:"name" short:"" need:"Name the column"`
	// type of its values
	Type report.Kind `yaml:"type" default:"text"`
}

type httpFields struct {
	// name of one of `apis`
	API string `yaml:"api" need:"Name one of apis"`
	report.HTTP
	// values of `:listener.column` in one request
	Values int `yaml:"batch" default:"1000" min:"1" max:"1000000"`
}

package config

import (
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// The structs here, and those of package report that they contain, are the
// only list of the fields of the file. Their comments are the texts of
// docs/reference/configuration.md and schema.json; package decode defines the tags. A struct
// is here if its form in the file differs from the form that the rest of Fanfold uses.

// file is the whole file.
type file struct {
	// Files with more `databases`, `apis`, `reports` and `timers`: names, or patterns such as `reports/*.yaml`. See
	// [More files](#more-files)
	Include []string `yaml:"include" include:"" one:"" min:"1" unset:"none"`
	// Redis or Valkey server: its URL, or these fields
	Redis redisFields `yaml:"redis" secret:"" need:"Write redis: redis://host:port/db, or redis: {sentinel: …}"`
	// Databases of the records and of listeners, by name
	Databases []databaseFields `yaml:"databases" included:"" min:"1" secret:"" need:"Add the database of the records, and those that listeners query"`
	// HTTP APIs that listeners request, by name: see [API sources](../guides/api-sources.md#apis)
	APIs []apiFields `yaml:"apis" included:""`
	// The table of the records
	Records report.Records `yaml:"records" need:"Add records: {database: NAME}, the database with the table of records"`
	// How long what a job did is kept after its end, for its page: steps, tries, rows and times. `0` keeps nothing. See
	// [History](#history)
	History time.Duration `yaml:"history" default:"30d" min:"0s" max:"3650d"`
	// How long acts of people are kept in the database: see [Audit](../guides/security.md#audit). `0` keeps about
	// 10,000 in Redis only
	Audit time.Duration `yaml:"audit" default:"90d" min:"0s" max:"3650d"`
	// Where files go: a URL, or these fields. See [Sink](#sink)
	Sink report.Sink `yaml:"sink" unset:"required"`
	// Where the rows of large listeners lie while their job runs: a URL, or these fields. See [Spool](#spool)
	Spool report.Spool `yaml:"spool" unset:"none: in Redis"`
	// Limits of concurrency, memory and time
	Limits report.Limits `yaml:"limits"`
	// Fair turns of tenants and classes of jobs: see [Lanes](../guides/lanes.md)
	Lanes *report.Lanes `yaml:"lanes" unset:"jobs start in the order of their ids in the stream"`
	// Prefixes of the names in Redis
	Keys report.Keys `yaml:"redis_keys"`
	// Server of metrics, probes and profiles: its `host:port`, or these fields. See [Admin](#admin)
	Admin report.Admin `yaml:"admin" unset:"none"`
	// Settings of `serve --http`: see [HTTP](#http)
	HTTP report.Site `yaml:"http"`
	// OpenTelemetry collector that receives a trace of every job: see [Traces](metrics.md#traces)
	Traces tracesFields `yaml:"traces"`
	// Reports, by name
	Reports []reportFields `yaml:"reports" included:"" min:"1" need:"Define at least one report"`
	// Timers, by name: see [Timers](#timers)
	Timers []report.Timer `yaml:"timers" included:""`
}

type redisFields struct {
	report.Redis
	tlsFields
}

// tlsFields are the files of report.TLS.
type tlsFields struct {
	// PEM file with the authorities that sign the server's certificate. Needs TLS: `rediss://` in `url`, or `tls: true`
	CA decode.Content `yaml:"ca_file" unset:"the system's"`
	// PEM file with the client's certificate. Needs `key_file`
	Cert decode.Content `yaml:"cert_file"`
	// PEM file with the unencrypted key of `cert_file`
	Key decode.Content `yaml:"key_file"`
}

type databaseFields struct {
	report.Database
	// File that holds the password, for a `dsn` without one, and for a `replica` without one
	PasswordFile decode.Content `yaml:"password_file"`
	databaseTLS
}

// databaseTLS are tlsFields that turn TLS on.
type databaseTLS struct {
	// PEM file with the authorities that sign the server's certificate. It turns TLS on; `tls=` in the `dsn`
	// beside it is an error. To trust the system's authorities, leave it out and write `?tls=true` in the `dsn`
	CA decode.Content `yaml:"ca_file"`
	// PEM file with the client's certificate. It turns TLS on. Needs `key_file`
	Cert decode.Content `yaml:"cert_file"`
	// PEM file with the unencrypted key of `cert_file`
	Key decode.Content `yaml:"key_file"`
}

type apiFields struct {
	report.API
	// Headers of every request. Their values are secret. `{file: NAME}` reads the value from a file, without its
	// line end, when a process starts; a relative name is relative to the folder of the configuration. An empty
	// value is an error
	Headers []headerFields `yaml:"headers" secret:""`
}

type tracesFields struct {
	report.Traces
	// Headers of every request, as in `apis`. Their values are secret
	Headers []headerFields `yaml:"headers" secret:""`
}

type headerFields struct {
	Name  string        `key:"header"`
	Value report.Secret `short:""`
	// File that holds the value
	File decode.Content `yaml:"file" need:"Name the file that holds the value"`
}

type reportFields struct {
	// What the report reads, by a name that you choose, such as `withdrawals` or `plt_fund.vs_withdraw`: letters,
	// digits and `_`, in parts that dots separate. See [Listeners](#listeners)
	Listeners []listenerFields `yaml:"listeners" min:"1" need:"Add listeners: {NAME: {database: …, query: …}}"`
	report.Report
	// When Fanfold runs the report by itself: a list of [schedules](#schedule)
	Schedule []scheduleFields `yaml:"schedule" min:"1"`
	// `true` refuses a `timeout` that is shorter than what the stages can take. `false` only warns
	StrictTimeout bool `yaml:"strict_timeout" default:"false"`
}

type scheduleFields struct {
	// When the report runs, as minute, hour, day of month, month and day of week, such as `0 9 * * mon-fri`: see
	// [Timers](#timers)
	Cron report.Cron `yaml:"cron"`
	// Instead of `cron`: a period. `1d` is every midnight, `1w` every Monday, `1mo` every first day of a month; `6h`
	// and `15m` count from midnight in UTC
	Every report.Every `yaml:"every"`
	// Zone of `cron` and of calendar days. Over daylight saving time, a skipped time moves forward, and of a repeated
	// time the first counts
	TimeZone string `yaml:"time_zone" form:"zone" unset:"that of the report"`
	// Values of the report's parameters, by name. A relative date such as `today-7d` is computed when the schedule
	// fires, in the `time_zone` of the report
	Parameters decode.Setting `yaml:"parameters" types:"object"`
	// What happens if no process ran within a minute of a time: `once` runs the report once afterwards, however many
	// times have passed; `skip` waits for the next time
	CatchUp report.Missed `yaml:"catch_up" enum:"once,skip" default:"once"`
}

type listenerFields struct {
	report.Listener
	// A listener, or a list of them, that must be done before this one starts. A `:listener.column` in the query
	// means the same
	After []string `yaml:"after" one:"" min:"1"`
	// `true`, or values for its columns in every row, such as `{paid: unknown}`: if the listener fails for good, the
	// job continues without it. See [When a listener fails](#when-a-listener-fails)
	Optional decode.Setting `yaml:"optional" types:"boolean,object" unset:"the job fails"`
}

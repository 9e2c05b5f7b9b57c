package config

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"unicode/utf8"

	"github.com/fanfold/fanfold/report"
	"go.yaml.in/yaml/v4"
)

// Environment is what a configuration file may read from outside of it.
type Environment struct {
	// Lookup gives the value of an environment variable, as os.LookupEnv does.
	// Nil: no variable is set.
	Lookup func(name string) (string, bool)
	// ReadFile gives the content of redis_file, dsn_file and password_file. The
	// name is as in the file; a relative one is relative to the folder of the
	// configuration file. Nil: there is no file.
	ReadFile func(name string) ([]byte, error)
}

// Load reads and proves a configuration file. name is used in messages only.
// The error is Problems, all that were found; none of them holds a secret.
//
// The fields of the file, each with what it means where it is left out:
//
//	redis            URL: redis://, rediss:// or unix://, with [user:]password@ and /db
//	redis_file       a file that holds that URL, in place of redis
//	databases        by name, see below
//	apis             by name, see below; optional
//	records          where the records are, see below
//	sink             gs://bucket[/prefix] or file:///directory
//	limits           see below; all optional
//	keys             {prefix, hash}, see below; both optional
//	admin            host:port of the admin server; default none
//	reports          by name (a-z, 0-9, _ and -); see below
//	timers           by name (a-z, 0-9, _ and -); see below; optional
//
// Each of databases:
//
//	dsn              user:password@tcp(host:port)/schema?options
//	dsn_file         a file that holds the DSN, in place of dsn
//	password_file    a file that holds the password, for a dsn that has none
//	max_connections  in each process, 1–10000; default 10
//	time_zone        of its DATETIME columns, such as Europe/Berlin; default UTC
//	parallel         tasks that query it at once, in all processes; 0 (default) is no limit
//	rate             queries in all processes, such as 10/s, 300/m or 1000/h; default no limit
//
// Each of apis (see also API):
//
//	url              http:// or https://, with a path or without; requests go to this host alone
//	headers          of each request, by name: a text, or {file: NAME} for one that a file holds
//	timeout          of one request; default 30s
//	max_bytes        of one answer; default 64MB
//	redirects        that are followed, within the host; default 0
//	idempotency      the header by which it tells a repetition, or none; needed for submit
//	parallel, rate   as for databases: tasks at once, and requests
//
// In records (see also Records):
//
//	database         one of databases
//	table            name or schema.name; default file_download_record
//	columns          Fanfold's name → the table's, "-" for a column the table has not
//	statuses         Fanfold's status → the table's value
//	filter           SQL condition for the rows that are Fanfold's; default all
//
// In limits:
//
//	running_jobs     in all processes together; default 1000
//	tasks            of one listener at once in one process; default 16
//	folds            joins at once in one process; default 4
//	fold_bytes       that one join holds in memory; the rest goes through scratch files; default 128MB
//	grace            age at which a PROCESSING record without state starts anew; default 1m
//	lease            silence after which a worker is taken for dead; default 10s
//	stop             time that work has to end after SIGTERM before it is handed back; default 20s
//	memory           percent of Redis's maxmemory above which no job is started; default 80
//	job_bytes        data of one job in Redis, in bytes or with KB, MB or GB; default 1GB
//	compress         how chunks are stored: off or zstd; default off
//	rebuild          records that a rebuild looks at in a second; default 500
//
// In keys, what the names of keys in Redis begin with: up to 64 characters, none
// of them a space, a control character or one of { } * ? [ \, and neither of the
// two begins with the other:
//
//	prefix           of what all jobs share, such as the stream of ids; default fanfold:
//	hash             of a job's hash; default FileDownloadRecordEntity-
//
// Each of reports:
//
//	timeout          deadline of a whole job; a warning where it is less than what the
//	                 listeners of its stages can take with their retries; default see
//	                 Report.DefaultTimeout
//	strict_timeout   true: such a timeout is refused; default false
//	retry            of the fold, and of the listeners, see below
//	parameters       by name: a type, or {type, list, default}; type is string
//	                 (default), integer, decimal, boolean, date or datetime, list is
//	                 true or false (default), and without default the record must
//	                 give a value
//	stages           list of {listeners: [...]}, one after the other
//	join             {key, fold_case, listeners}; needed for two or more listeners
//	on_change        wait (default), or restart: a running job whose definition no process
//	                 has any more is started anew with this one
//	paused_deadline  runs (default), or waits: the timeout is longer by the time for
//	                 which a listener that the job waits for is paused
//	csv              {columns}; default: the join keys, then every other column
//
// Each of a stage's listeners:
//
//	name             unique in the report, such as plt_fund.vs_withdraw
//	kind             mysql (default), or external: see below
//	database         one of databases
//	query            one SELECT, with :parameter and :listener.column
//	columns          what the query gives; needed where its SELECT does not say
//	timeout          of one try of the task; default 5m
//	retry            see below; default the report's, field by field
//	batch            values of :listener.column in one execution; default 1000
//	on_failure       required (default), optional, or {default: {column: value}}: what
//	                 its failure means for its job
//
// One of kind http has these in place of database, query and columns (see also HTTP
// and HTTPRequest for what may stand in a request):
//
//	api              one of apis
//	columns          by name: the path to its value in a row, or {path, type, optional};
//	                 type is text, integer, decimal, float, date, datetime or json
//	result           {method, path, query, json} of the request, {rows} for where the
//	                 rows are in its answer, and how the next page is asked for: {next,
//	                 next_as}, {page, first} or {offset}; {count} for how many rows it
//	                 says that there are in all
//	submit           {method, path, query, json} of the request that makes a job, {id} for
//	                 where its id is, {unknown}: resubmit, fail or {look_up: {…, id}}
//	poll             {method, path, query, json} of the request that looks at it, {every},
//	                 {status}, {done, failed, working}, {error}
//	cancel           {method, path, query, json} of the request that ends it
//	total            from the first request to the last row; default 2h, only with submit
//
// One of kind external, whose tasks a service does (docs/external.md), has name, kind,
// timeout and retry, and:
//
//	columns          what the service gives: a name, or {name, type}; type is integer,
//	                 decimal, float, text (default), date, datetime, time, json or binary
//	silence          of a worker, after which it is taken for dead; default 30s
//
// In retry, which is also a number alone, that of the retries:
//
//	retries          after the first try, 0–100; default 6
//	delay            before a retry; default 1m
//	backoff          fixed (default), or exponential: the delay doubles each time
//	max_delay        of an exponential backoff, not below delay; default 1h
//
// In join:
//
//	key              a column, or several, by which the listeners are joined
//	fold_case        true: text keys are equal regardless of case, letter by letter;
//	                 full: ß is equal to ss, too; default false
//	listeners        in the order of the join: a name, or {name, type, key}; type is
//	                 inner (default), left or full, key its own columns where they
//	                 have other names. Default: all, inner. What is left out here is
//	                 only a source for :listener.column
//
// Each of csv.columns is a join key, a column that one joined listener has,
// <listener>.<column>, or {column, label}; the default label is the column's
// name.
//
// Each of timers:
//
//	key              the form of its names, such as send_message-{user}-{type}; see Pattern
//	every            exact hours such as 24h, or calendar days: 1d, 1w; default once
//	time_zone        of the calendar days, such as Europe/Berlin; default UTC
//	missed           once (default) or skip: what was missed while nobody was there
//	missed_after     how late that is; default 1m
//	retry            {retries, delay, backoff, max_delay} of the action
//	submit           {report, parameters}: inserts a record and pushes it
//	append           {stream, fields}: appends an entry to a stream of yours
//	call             {url, method, headers, body, timeout}: sends a request
//
// It has one of submit, append and call; {name} in their values stands for what
// key takes from the timer's name.
//
// Every single value may have variables in it: see the README for ${NAME},
// ${NAME:-default} and $${.
func Load(name string, data []byte, env Environment) (*Config, error) {
	if env.Lookup == nil {
		env.Lookup = func(string) (string, bool) { return "", false }
	}
	if env.ReadFile == nil {
		env.ReadFile = func(string) ([]byte, error) { return nil, errors.New("report: no files") }
	}
	r := &reading{file: name, env: env, used: variables{}}
	return r.load(data)
}

func (r *reading) load(data []byte) (*Config, error) {
	config := &Config{}
	if root, ok := r.parse(data); ok {
		config = r.config(root)
	}
	if len(r.problems) > 0 {
		return nil, r.used.mask(r.problems.sorted())
	}
	config.Warnings = r.used.mask(r.warnings.sorted())
	return config, nil
}

// config decodes the file from the top. What others refer to comes first.
func (r *reading) config(root setting) *Config {
	if !root.is(yaml.MappingNode) {
		root.hidden().problem("not a mapping", "Begin with redis, databases, records, sink and reports")
		return nil
	}
	f := root.fields("redis", "redis_file", "databases", "apis", "records", "sink", "limits", "keys", "admin", "admin_public", "reports", "timers")
	c := &Config{
		Redis:     f.redis(),
		Databases: f.databases(),
		Sink:      f.sink(),
		Limits:    f.get("limits").limits(),
		Keys:      f.get("keys").keys(),
		Admin:     f.get("admin").address(),

		AdminPublic: f.get("admin_public").boolean(),

		Reports: map[string]*report.Report{},
	}
	if host, _, err := net.SplitHostPort(c.Admin); err == nil && !c.AdminPublic {
		if ip := net.ParseIP(host); host == "" || ip != nil && !ip.IsLoopback() {
			f.get("admin").problem("other machines can reach this address, and the server has no login", "Listen on 127.0.0.1, or set admin_public: true if a firewall protects it")
		}
	}
	c.APIs = f.apis(c.Databases)
	names := sourceNames{sortedKeys(c.Databases), c.APIs}
	c.Records = f.records(names.databases)
	c.Records.Parameters = c.Limits.Parameters
	reports, ok := f.need("reports", "Define at least one report")
	if !ok {
		return c
	}
	entries, ok := reports.entries()
	if ok && len(entries) == 0 {
		reports.problem("no report", "Define at least one")
	}
	for _, e := range entries {
		if !reportName.MatchString(e.name) {
			e.value.problem("a report's name that is not allowed", "Use up to 64 of a-z, 0-9, _ and -, and begin with a letter or digit")
		}
		c.Reports[e.name] = e.value.report(e.name, names)
		c.setZones(c.Reports[e.name])
	}
	c.checkPartial(f.get("records"))
	c.Timers = f.get("timers").timers(c)
	return c
}

// setZones tells the listeners of a report the time zones of their databases.
func (c *Config) setZones(r *report.Report) {
	for _, s := range r.Stages {
		for i := range s.Listeners {
			if zone := c.Databases[s.Listeners[i].Source].TimeZone; zone != "UTC" {
				s.Listeners[i].Zone = zone
			}
		}
	}
}

// parse reads the YAML, which must be one document.
func (r *reading) parse(data []byte) (setting, bool) {
	top := setting{reading: r, line: 1, column: 1}
	if !utf8.Valid(data) {
		top.line = 1 + strings.Count(string(data[:invalidAt(data)]), "\n")
		top.problem("not UTF-8 text", "Save the file as UTF-8")
		return top, false
	}
	var documents []yaml.Node
	if err := yaml.Load(data, &documents, yaml.WithAllDocuments()); err != nil {
		m := mistake{1, 1, "not YAML", yamlRemedy}
		if failed := new(yaml.LoadError); errors.As(err, &failed) {
			m = findMistake(data, failed)
		}
		top.line, top.column = m.line, m.column
		top.problem(m.message, m.remedy)
		return top, false
	}
	if len(documents) == 0 || len(documents[0].Content) == 0 {
		top.problem("an empty file", "Begin with redis, databases, records, sink and reports")
		return top, false
	}
	if len(documents) > 1 {
		second := r.at(&documents[1], "")
		second.problem(fmt.Sprintf("%d YAML documents in one file", len(documents)), "Remove the lines ---")
		return top, false
	}
	return r.at(documents[0].Content[0], ""), true
}

// invalidAt finds the first byte that is no UTF-8.
func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		c, n := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(data)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/report"
)

// checkDatabases connects to each database and has it parse each query.
func (b *backend) checkDatabases(ctx context.Context) findings {
	var fs findings
	for _, name := range slices.Sorted(maps.Keys(b.databases)) {
		db := b.databases[name]
		var version string
		var micros int64
		err := db.QueryRowContext(ctx, "SELECT VERSION(), CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)").Scan(&version, &micros)
		fs = append(fs, judge("database "+name, fail, version, err, "is the DSN right, with account and password, and the server up?"))
		if err == nil {
			fs = append(fs, judgeSkew("clock of database "+name, time.UnixMicro(micros), nil))
			fs = append(fs, b.checkTimeZone(ctx, name))
			fs = append(fs, b.checkQueries(ctx, name)...)
		}
	}
	return fs
}

// checkTimeZone says what the times of a database mean. It warns where nobody has said
// that of a DATETIME, the server's zone is not UTC, and a report shows datetimes in
// another zone than they were written in.
func (b *backend) checkTimeZone(ctx context.Context, name string) finding {
	check := "time zone of database " + name
	var zone, system string
	if err := b.databases[name].QueryRowContext(ctx, "SELECT @@global.time_zone, @@system_time_zone").Scan(&zone, &system); err != nil {
		return judge(check, warn, "", err, "")
	}
	if zone == "SYSTEM" {
		zone = system
	}
	detail := fmt.Sprintf("the server's is %s; queries run in UTC", zone)
	said := b.config.Databases[name].TimeZone
	if said != "" {
		return finding{Check: check, Result: pass, Detail: detail + ", and DATETIME columns are in " + said}
	}
	detail += ", and DATETIME columns count as UTC"
	shown := b.showsZones(name)
	if zone == "UTC" || zone == "+00:00" || shown == "" {
		return finding{Check: check, Result: pass, Detail: detail}
	}
	return finding{
		Check: check, Result: warn, Detail: fmt.Sprintf("%s; the report %s shows datetimes in a time zone", detail, shown),
		Hint: fmt.Sprintf("write databases.%s.time_zone: the zone that its DATETIME columns were written in, such as Europe/Berlin or UTC. TIMESTAMP columns need none", name),
	}
}

// showsZones names the first report that shows datetimes of a database in a time zone.
func (b *backend) showsZones(database string) string {
	for _, name := range slices.Sorted(maps.Keys(b.config.Reports)) {
		r := b.config.Reports[name]
		if r.CSV.TimeZone == "" && !strings.Contains(r.CSV.Datetime, "ZZ") {
			continue
		}
		for _, s := range r.Stages {
			if slices.ContainsFunc(s.Listeners, func(l report.Listener) bool { return l.Source == database }) {
				return name
			}
		}
	}
	return ""
}

// checkAPIs connects to each API, and sends it nothing.
func (b *backend) checkAPIs(ctx context.Context) findings {
	var fs findings
	for _, name := range slices.Sorted(maps.Keys(b.apis)) {
		err := b.askSource(ctx, name)
		fs = append(fs, judge("API "+name, fail, "it takes connections", err, "is its url right, and may this process reach it?"))
	}
	return fs
}

func (b *backend) checkQueries(ctx context.Context, database string) findings {
	source, err := b.source(database)
	if err != nil {
		return findings{judge("queries of "+database, fail, "", err, "")}
	}
	var fs findings
	for _, name := range slices.Sorted(maps.Keys(b.config.Reports)) {
		for _, s := range b.config.Reports[name].Stages {
			for i := range s.Listeners {
				l := &s.Listeners[i]
				if l.Source == database {
					fs = append(fs, judge("query "+name+" / "+l.Name, fail, "the server accepts it",
						source.Prepare(ctx, l), fmt.Sprintf("line %d of the configuration; may the user of database %s SELECT there?", l.Line, database)))
				}
			}
		}
	}
	return fs
}

// checkRecords looks at the record table, and tells how many rows of it a start
// would take for work to be done.
func (b *backend) checkRecords(ctx context.Context) findings {
	if err := b.records.Check(ctx); err != nil {
		return findings{judge("records", fail, "", err, "fanfold migrate makes Fanfold's own table; records.columns maps one of yours; the account needs SELECT and UPDATE on it")}
	}
	fs := findings{{Check: "records", Result: pass, Detail: "table and columns are as configured"}}
	pending, processing, err := b.records.CountStartable(ctx, b.config.Limits.Grace)
	detail := fmt.Sprintf("%d PENDING, %d PROCESSING", pending, processing)
	if err == nil && pending+processing > 0 {
		err = fmt.Errorf("%s, older than %v: a rebuild starts those of them whose jobs are not running", detail, b.config.Limits.Grace)
	}
	fs = append(fs, judge("records to be started", warn, "none", err, "records.filter keeps rows out that are not Fanfold's"))
	return append(fs, b.checkFileColumn(ctx), b.checkMemory(ctx), b.checkInstallation(ctx), b.checkTimerRecords(ctx))
}

// checkInstallation names the installation whose files these are.
func (b *backend) checkInstallation(ctx context.Context) finding {
	tag, err := b.records.Installation(ctx)
	detail := "files have the tag " + tag
	if tag == "" {
		detail = "none yet: fanfold serve makes it"
	}
	return judge("installation", warn, detail, err,
		"fanfold migrate makes the tables; the account needs SELECT and INSERT on fanfold_meta. Without them the names of files do not say whose they are, and no file is ever removed: use no sink that another installation uses")
}

// checkMemory looks for the tables that outlive Redis.
func (b *backend) checkMemory(ctx context.Context) finding {
	_, err := b.records.Incarnation(ctx)
	if err == nil {
		_, err = b.records.Dues(ctx, b.scripts.Delayed(), "", 1)
	}
	return judge("records that outlive redis", warn, "due times and timers are mirrored", err,
		"fanfold migrate makes the tables; the account needs SELECT, INSERT, UPDATE and DELETE on them. Without them delayed ids and timers are lost with Redis's memory")
}

func (b *backend) checkSink(ctx context.Context) finding {
	s, err := b.sink(ctx)
	if err == nil {
		err = s.Check(ctx)
	}
	check := "sink " + b.config.Sink
	if errors.Is(err, fs.ErrNotExist) {
		_, place, _, _ := sink.ParseURL(b.config.Sink) // opened above
		return judge(check, warn, "", err, "mkdir -p "+place+", for the user of fanfold serve, which makes it where it may. If it is a mount, it is gone")
	}
	return judge(check, fail, "an object was written and deleted", err, "may this process create and delete objects there?")
}

// checkFileColumn compares the file column with the names that files can have.
func (b *backend) checkFileColumn(ctx context.Context) finding {
	const check, hint = "file column", "ALTER TABLE … MODIFY it to VARCHAR(1024), or shorten the sink or the report's name"
	file, id, err := b.records.Widths(ctx)
	var files sink.Sink
	if err == nil {
		files, err = b.sink(ctx)
	}
	if err != nil {
		return judge(check, fail, "", err, hint)
	}
	if file == 0 {
		return finding{Check: check, Result: pass, Detail: "it has no length that the database tells"}
	}
	longest, first := "", ""
	for _, name := range slices.Sorted(maps.Keys(b.config.Reports)) {
		r := b.config.Reports[name]
		if url := files.URL(engine.LongestFileName(r, id)); len(url) > len(longest) {
			longest = url
		}
		if url := files.URL(engine.FileName{Report: name, ID: "1", Attempt: 1, Tag: engine.NewTag(), Gzip: r.CSV.Gzip}.String()); len(url) > len(first) {
			first = url
		}
	}
	switch {
	case len(first) > file:
		err = fmt.Errorf("it takes %d characters, and the first file has %d, such as %s: its job fails", file, len(first), first)
		return judge(check, fail, "", err, hint)
	case len(longest) > file:
		err = fmt.Errorf("it takes %d characters, and a file can have %d, such as %s: its job would fail", file, len(longest), longest)
	}
	return judge(check, warn, fmt.Sprintf("it takes %d characters, and no file has more than %d", file, len(longest)), err, hint)
}

// scratchHint is what helps where no scratch file can be made.
const scratchHint = "set TMPDIR to a folder on a disk in which the process may make files; without one, a join of more than limits.fold_bytes fails"

func checkScratch(ctx context.Context) finding {
	folder, err := engine.CheckScratch(ctx)
	return judge("scratch files", fail, "one was written in "+folder, err, scratchHint)
}

package main

import (
	"cmp"
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
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// checkDatabases connects to each database and has it parse each query.
func (b *backend) checkDatabases(ctx context.Context) findings {
	var fs findings
	for _, name := range slices.Sorted(maps.Keys(b.databases)) {
		fs = append(fs, within(ctx, func(ctx context.Context) findings { return b.checkDatabase(ctx, name) })...)
		if !fs.failed("database " + name) {
			fs = append(fs, within(ctx, func(ctx context.Context) findings { return b.checkQueries(ctx, name) })...)
		}
	}
	return fs
}

func (b *backend) checkDatabase(ctx context.Context, name string) findings {
	var version string
	var micros int64
	err := b.databases[name].QueryRowContext(ctx, "SELECT VERSION(), CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)").Scan(&version, &micros)
	hint := "is the server up, and the address in the DSN right?"
	if mysqldb.Refused(err) {
		hint = "correct the DSN of database " + name + ": its account, password or schema"
	}
	fs := findings{judge("database "+name, fail, version, err, hint)}
	if err == nil {
		fs = append(fs, judgeSkew("clock of database "+name, time.UnixMicro(micros), nil), b.checkTimeZone(ctx, name))
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
	fs = append(fs, b.checkStartable(ctx))
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

// mostCompared is how many records are compared with Redis. An existing table that is
// connected for the first time can have many more.
const mostCompared = 10_000

// checkStartable counts the records that a rebuild would start: old enough, and without a
// job or a place in which they wait.
func (b *backend) checkStartable(ctx context.Context) finding {
	const check, page = "records to be started", 500
	const hint = "fanfold submit ID starts one at once; to keep rows out that do not belong to Fanfold, set records.filter"
	grace := b.config.Limits.Grace
	pending, processing, err := b.records.CountStartable(ctx, grace)
	if err != nil || pending+processing > mostCompared {
		return judge(check, warn, "", cmp.Or(err, fmt.Errorf("%d PENDING and %d PROCESSING records have not changed for %v: a rebuild starts those of them that have no job", pending, processing, grace)), hint)
	}
	queued, whole, err := b.queuedIDs(ctx)
	counts, example := map[engine.Status]int{}, ""
	unknown, named := 0, "" // records whose report is not in the configuration: nothing starts them
	for after, more := "", true; more && err == nil; {
		var records, left []engine.Record
		if records, err = b.records.Startable(ctx, after, grace, page); err != nil {
			break
		}
		left, err = b.withoutJob(ctx, records, queued)
		for _, r := range left {
			if b.config.Reports[r.Report] == nil {
				unknown++
				named = cmp.Or(named, fmt.Sprintf("record %s names report %q", r.ID, r.Report))
				continue
			}
			counts[r.Status]++
			example = cmp.Or(example, r.ID)
		}
		if more = len(records) == page; more {
			after = records[len(records)-1].ID
		}
	}
	if err == nil && len(counts) > 0 && !whole {
		err = fmt.Errorf("%d PENDING and %d PROCESSING records, such as %s, have not changed for %v and could not be compared with all of %s: only its oldest %d entries were searched",
			counts[engine.Pending], counts[engine.Processing], example, grace, b.scripts.Jobs(), searchPages*searchPage)
		return judge(check, warn, "", err, "run fanfold doctor again once fewer ids wait there; a rebuild starts the records that have no job")
	}
	if err == nil && len(counts) == 0 && unknown > 0 {
		err = fmt.Errorf("%d records, of which %s, wait for reports that are not in this configuration: nothing starts them", unknown, named)
		return judge(check, warn, "", err, "add the reports, or set records.filter to keep rows out that do not belong to Fanfold")
	}
	if err == nil && len(counts) > 0 {
		err = fmt.Errorf("%d PENDING and %d PROCESSING records, such as %s, have not changed for %v and have no job: the next rebuild starts them",
			counts[engine.Pending], counts[engine.Processing], example, grace)
	}
	return judge(check, warn, "none", err, hint)
}

// queuedIDs are the oldest ids that wait to be started, and whether those are all.
func (b *backend) queuedIDs(ctx context.Context) (queued map[string]bool, whole bool, err error) {
	queued = map[string]bool{}
	for start, page := "-", 0; page < searchPages; page++ {
		entries, err := b.redis.XRangeN(ctx, b.scripts.Jobs(), start, "+", searchPage).Result()
		if err != nil {
			return nil, false, err
		}
		for _, m := range entries {
			id, _ := m.Values["id"].(string)
			queued[id] = true
		}
		if len(entries) < searchPage {
			return queued, true, nil
		}
		start = "(" + entries[len(entries)-1].ID
	}
	return queued, false, nil
}

// withoutJob leaves out the records whose jobs run, or that wait in Redis for their time,
// their turn or their report.
func (b *backend) withoutJob(ctx context.Context, records []engine.Record, queued map[string]bool) ([]engine.Record, error) {
	records = slices.DeleteFunc(records, func(r engine.Record) bool { return !report.ValidID(r.ID) })
	if len(records) == 0 {
		return nil, nil
	}
	ids := make([]string, len(records))
	var places []string
	for i, r := range records {
		ids[i] = r.ID
		places = append(places, r.ID)
		for look := range int64(len(report.RecordPolls)) {
			places = append(places, scripts.Later{ID: r.ID, Attempt: look + 1, Step: scripts.StepTrigger}.String())
		}
	}
	attempts, _, err := b.scripts.Attempts(ctx, ids)
	if err != nil {
		return nil, err
	}
	delayed, err := b.scripts.Scores(ctx, b.scripts.Delayed(), places)
	if err != nil {
		return nil, err
	}
	pending := map[string][]string{} // by report
	for _, r := range records {
		if r.Status == engine.Pending {
			pending[r.Report] = append(pending[r.Report], r.ID)
		}
	}
	parked := map[string]map[string]float64{}
	for name, ids := range pending {
		if parked[name], err = b.scripts.Scores(ctx, b.scripts.Waiting(name), ids); err != nil {
			return nil, err
		}
	}
	var left []engine.Record
	for i, r := range records {
		_, waits := parked[r.Report][r.ID]
		waits = waits || queued[r.ID]
		size := 1 + len(report.RecordPolls)
		for _, place := range places[i*size : (i+1)*size] {
			_, ok := delayed[place]
			waits = waits || ok
		}
		if !waits && (r.Status == engine.Pending || attempts[i] < r.Attempt) {
			left = append(left, r)
		}
	}
	return left, nil
}

// checkMemory looks for the tables that outlive Redis.
func (b *backend) checkMemory(ctx context.Context) finding {
	_, err := b.records.Epoch(ctx)
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

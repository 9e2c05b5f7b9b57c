package inspect

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
)

// checkDatabases connects to each database and has it parse each query.
func (in *Inspector) checkDatabases(ctx context.Context) Findings {
	var fs Findings
	for _, name := range slices.Sorted(maps.Keys(in.databases)) {
		fs = append(fs, within(ctx, func(ctx context.Context) Findings { return in.checkDatabase(ctx, name) })...)
		if !fs.Failed("database " + name) {
			fs = append(fs, within(ctx, func(ctx context.Context) Findings { return in.checkQueries(ctx, name) })...)
		}
	}
	return fs
}

func (in *Inspector) checkDatabase(ctx context.Context, name string) Findings {
	var version string
	var micros int64
	err := in.databases[name].QueryRowContext(ctx, "SELECT VERSION(), CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)").Scan(&version, &micros)
	hint := "is the server up, and the address in the DSN right?"
	if mysqldb.Refused(err) {
		hint = "correct the DSN of database " + name + ": its account, password or schema"
	}
	fs := Findings{newFinding("database "+name, Fail, version, err, hint)}
	if err == nil {
		fs = append(fs, checkSkew("clock of database "+name, time.UnixMicro(micros), nil), in.checkTimeZone(ctx, name))
	}
	return fs
}

// checkTimeZone says what the times of a database mean. It warns where nobody has said
// that of a DATETIME, the server's zone is not UTC, and a report shows datetimes in
// another zone than they were written in.
func (in *Inspector) checkTimeZone(ctx context.Context, name string) Finding {
	check := "time zone of database " + name
	var zone, system string
	if err := in.databases[name].QueryRowContext(ctx, "SELECT @@global.time_zone, @@system_time_zone").Scan(&zone, &system); err != nil {
		return newFinding(check, Warn, "", err, "")
	}
	if zone == "SYSTEM" {
		zone = system
	}
	detail := fmt.Sprintf("the server's is %s; queries run in UTC", zone)
	said := in.config.Databases[name].TimeZone
	if said != "" {
		return Finding{Check: check, Result: Pass, Detail: detail + ", and DATETIME columns are in " + said}
	}
	detail += ", and DATETIME columns count as UTC"
	shown := in.showsZones(name)
	if zone == "UTC" || zone == "+00:00" || shown == "" {
		return Finding{Check: check, Result: Pass, Detail: detail}
	}
	return Finding{
		Check: check, Result: Warn, Detail: fmt.Sprintf("%s; the report %s shows datetimes in a time zone", detail, shown),
		Hint: fmt.Sprintf("write databases.%s.time_zone: the zone that its DATETIME columns were written in, such as Europe/Berlin or UTC. TIMESTAMP columns need none", name),
	}
}

// showsZones names the first report that shows datetimes of a database in a time zone.
func (in *Inspector) showsZones(database string) string {
	for _, name := range slices.Sorted(maps.Keys(in.config.Reports)) {
		r := in.config.Reports[name]
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
func (in *Inspector) checkAPIs(ctx context.Context) Findings {
	var fs Findings
	for _, name := range slices.Sorted(maps.Keys(in.apis)) {
		err := in.Reach(ctx, name)
		fs = append(fs, newFinding("API "+name, Fail, "it takes connections", err, "is its url right, and may this process reach it?"))
	}
	return fs
}

func (in *Inspector) checkQueries(ctx context.Context, database string) Findings {
	source, err := in.source(database)
	if err != nil {
		return Findings{newFinding("queries of "+database, Fail, "", err, "")}
	}
	var fs Findings
	for _, name := range slices.Sorted(maps.Keys(in.config.Reports)) {
		for _, s := range in.config.Reports[name].Stages {
			for i := range s.Listeners {
				l := &s.Listeners[i]
				if l.Source == database {
					fs = append(fs, newFinding("query "+name+" / "+l.Name, Fail, "the server accepts it",
						source.Prepare(ctx, l), fmt.Sprintf("line %d of the configuration; may the user of database %s SELECT there?", l.Line, database)))
				}
			}
		}
	}
	return fs
}

// checkRecords looks at the record table, and tells how many rows of it a start
// would take for work to be done.
func (in *Inspector) checkRecords(ctx context.Context) Findings {
	if err := in.records.Check(ctx); err != nil {
		return Findings{newFinding("records", Fail, "", err, "fanfold migrate makes Fanfold's own table; records.columns maps one of yours; the account needs SELECT and UPDATE on it")}
	}
	fs := Findings{{Check: "records", Result: Pass, Detail: "table and columns are as configured"}}
	fs = append(fs, in.checkStartable(ctx))
	return append(fs, in.checkFileColumn(ctx), in.checkMemory(ctx), in.checkInstallation(ctx), in.checkTimerRecords(ctx))
}

// checkInstallation names the installation whose files these are.
func (in *Inspector) checkInstallation(ctx context.Context) Finding {
	tag, err := in.records.Installation(ctx)
	detail := "files have the tag " + tag
	if tag == "" {
		detail = "none yet: fanfold serve makes it"
	}
	return newFinding("installation", Warn, detail, err,
		"fanfold migrate makes the tables; the account needs SELECT and INSERT on fanfold_meta. Without them the names of files do not say whose they are, and no file is ever removed: use no sink that another installation uses")
}

// mostCompared is how many records are compared with Redis. An existing table that is
// connected for the first time can have many more.
const mostCompared = 10_000

// checkStartable counts the records that a rebuild would start: old enough, and without a
// job or a place in which they wait.
func (in *Inspector) checkStartable(ctx context.Context) Finding {
	const check, page = "records to be started", 500
	const hint = "fanfold submit ID starts one at once; to keep rows out that do not belong to Fanfold, set records.filter"
	grace := in.config.Limits.Grace
	pending, processing, err := in.records.CountStartable(ctx, grace)
	if err != nil || pending+processing > mostCompared {
		return newFinding(check, Warn, "", cmp.Or(err, fmt.Errorf("%d PENDING and %d PROCESSING records have not changed for %v: a rebuild starts those of them that have no job", pending, processing, grace)), hint)
	}
	queued, whole, err := in.queuedIDs(ctx)
	counts, example := map[report.Status]int{}, ""
	unknown, named := 0, "" // records whose report is not in the configuration: nothing starts them
	for after, more := "", true; more && err == nil; {
		var records, left []engine.Record
		if records, err = in.records.Startable(ctx, after, grace, page); err != nil {
			break
		}
		left, err = in.withoutJob(ctx, records, queued)
		for _, r := range left {
			if in.config.Reports[r.Report] == nil {
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
			counts[report.Pending], counts[report.Processing], example, grace, in.scripts.Jobs(), searched)
		return newFinding(check, Warn, "", err, "run fanfold doctor again once fewer ids wait there; a rebuild starts the records that have no job")
	}
	if err == nil && len(counts) == 0 && unknown > 0 {
		err = fmt.Errorf("%d records, of which %s, wait for reports that are not in this configuration: nothing starts them", unknown, named)
		return newFinding(check, Warn, "", err, "add the reports, or set records.filter to keep rows out that do not belong to Fanfold")
	}
	if err == nil && len(counts) > 0 {
		err = fmt.Errorf("%d PENDING and %d PROCESSING records, such as %s, have not changed for %v and have no job: the next rebuild starts them",
			counts[report.Pending], counts[report.Processing], example, grace)
	}
	return newFinding(check, Warn, "none", err, hint)
}

// queuedIDs are the oldest ids that wait to be started, and whether those are all.
func (in *Inspector) queuedIDs(ctx context.Context) (queued map[string]bool, whole bool, err error) {
	queued = map[string]bool{}
	seen := 0
	for page, err := range in.entries(ctx, in.scripts.Jobs(), false) {
		if err != nil {
			return nil, false, err
		}
		for _, m := range page {
			id, _ := m.Values["id"].(string)
			queued[id] = true
		}
		if seen += len(page); len(page) == pageSize && seen >= searched {
			return queued, false, nil
		}
	}
	return queued, true, nil
}

// withoutJob leaves out the records whose jobs run, or that wait in Redis for their time,
// their turn or their report.
func (in *Inspector) withoutJob(ctx context.Context, records []engine.Record, queued map[string]bool) ([]engine.Record, error) {
	records = slices.DeleteFunc(records, func(r engine.Record) bool { return !report.ValidID(r.ID) })
	if len(records) == 0 {
		return nil, nil
	}
	ids := make([]string, len(records))
	var places []string
	for i, r := range records {
		ids[i] = r.ID
		places = append(places, BeforeStart(r.ID)...)
	}
	attempts, _, err := in.scripts.Attempts(ctx, ids)
	if err != nil {
		return nil, err
	}
	delayed, err := in.scripts.Scores(ctx, in.scripts.Delayed(), places)
	if err != nil {
		return nil, err
	}
	pending := map[string][]string{} // by report
	for _, r := range records {
		if r.Status == report.Pending {
			pending[r.Report] = append(pending[r.Report], r.ID)
		}
	}
	parked := map[string]map[string]float64{}
	for name, ids := range pending {
		if parked[name], err = in.scripts.Scores(ctx, in.scripts.Waiting(name), ids); err != nil {
			return nil, err
		}
	}
	var left []engine.Record
	for i, r := range records {
		_, waits := parked[r.Report][r.ID]
		waits = waits || queued[r.ID]
		for _, place := range BeforeStart(r.ID) {
			_, ok := delayed[place]
			waits = waits || ok
		}
		if !waits && (r.Status == report.Pending || attempts[i] < r.Attempt) {
			left = append(left, r)
		}
	}
	return left, nil
}

// checkMemory looks for the tables that outlive Redis.
func (in *Inspector) checkMemory(ctx context.Context) Finding {
	_, err := in.records.Epoch(ctx)
	if err == nil {
		_, err = in.records.Dues(ctx, in.scripts.Delayed(), "", 1)
	}
	return newFinding("records that outlive redis", Warn, "due times and timers are mirrored", err,
		"fanfold migrate makes the tables; the account needs SELECT, INSERT, UPDATE and DELETE on them. Without them delayed ids and timers are lost with Redis's memory")
}

func (in *Inspector) checkSink(ctx context.Context) Finding {
	s, err := in.sink(ctx)
	if err == nil {
		err = s.Check(ctx)
	}
	check := "sink " + in.config.Sink.String()
	if errors.Is(err, fs.ErrNotExist) {
		return newFinding(check, Warn, "", err, "mkdir -p "+in.config.Sink.Place+", for the user of fanfold serve, which makes it where it may. If it is a mount, it is gone")
	}
	return newFinding(check, Fail, "an object was written and deleted", err, "may this process create and delete objects there?")
}

// checkFileColumn compares the file column with the names that files can have.
func (in *Inspector) checkFileColumn(ctx context.Context) Finding {
	const check, hint = "file column", "ALTER TABLE … MODIFY it to VARCHAR(1024), or shorten the sink or the report's name"
	file, id, err := in.records.Widths(ctx)
	var files sink.Sink
	if err == nil {
		files, err = in.sink(ctx)
	}
	if err != nil {
		return newFinding(check, Fail, "", err, hint)
	}
	if file == 0 {
		return Finding{Check: check, Result: Pass, Detail: "it has no length that the database tells"}
	}
	longest, first := "", ""
	for _, name := range slices.Sorted(maps.Keys(in.config.Reports)) {
		r := in.config.Reports[name]
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
		return newFinding(check, Fail, "", err, hint)
	case len(longest) > file:
		err = fmt.Errorf("it takes %d characters, and a file can have %d, such as %s: its job would fail", file, len(longest), longest)
	}
	return newFinding(check, Warn, fmt.Sprintf("it takes %d characters, and no file has more than %d", file, len(longest)), err, hint)
}

// ScratchHint is what helps where no scratch file can be made.
const ScratchHint = "set TMPDIR to a folder on a disk in which the process may make files; without one, a join of more than limits.fold_bytes fails"

func checkScratch(ctx context.Context) Finding {
	folder, err := engine.CheckScratch(ctx)
	return newFinding("scratch files", Fail, "one was written in "+folder, err, ScratchHint)
}

// checkTimerRecords proves that timers can insert records, if any does.
func (in *Inspector) checkTimerRecords(ctx context.Context) Finding {
	if !in.config.Timers.Submit() {
		return Finding{Check: "records of timers", Result: Pass, Detail: "no timer submits a report"}
	}
	return newFinding("records of timers", Fail, "each is inserted once", in.records.CheckFirings(ctx),
		"fanfold migrate makes the table; the account needs INSERT on the records, and SELECT, INSERT, UPDATE and DELETE on the table")
}

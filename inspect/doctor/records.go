package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// checkRecords checks the record table, and counts the rows that a start would take for
// work to be done.
func (d recordDoctor) checkRecords(ctx context.Context) Findings {
	if err := d.Records.Check(ctx); err != nil {
		return Findings{newFinding("records", Fail, "", err, "fanfold migrate makes Fanfold's own table; records.columns maps one of yours; the account needs SELECT and UPDATE on it")}
	}
	fs := Findings{{Check: "records", Result: Pass, Detail: "table and columns are as configured"}}
	fs = append(fs, d.checkStartable(ctx))
	return append(fs, d.checkFileColumn(ctx), d.checkSnapshot(ctx), d.checkInstallation(ctx), d.checkTimerRecords(ctx))
}

// checkInstallation names the installation whose files these are.
func (d recordDoctor) checkInstallation(ctx context.Context) Finding {
	tag, err := d.Records.Installation(ctx)
	detail := "files have the tag " + tag
	if tag == "" {
		detail = "none yet: fanfold serve makes it"
	}
	return newFinding("installation", Warn, detail, err,
		"fanfold migrate makes the tables; the account needs SELECT and INSERT on fanfold_meta. Without them the names of files do not say whose they are, and no file is ever removed: use no sink that another installation uses")
}

// checkSnapshot looks for the tables that outlive Redis.
func (d recordDoctor) checkSnapshot(ctx context.Context) Finding {
	members := 0
	_, err := d.Records.Installation(ctx)
	if err == nil {
		members, err = d.Records.SnapshotMembers(ctx)
	}
	return newFinding("records that outlive redis", Warn, fmt.Sprintf("a snapshot has %d ids, timers and pauses", members), err,
		"fanfold migrate makes the tables; the account needs SELECT, INSERT, UPDATE and DELETE on them. Without them delayed ids and timers are lost with Redis's memory")
}

// checkTimerRecords proves that timers can insert records, if any does.
func (d recordDoctor) checkTimerRecords(ctx context.Context) Finding {
	if !d.Config.Timers.Submit() {
		return pass("records of timers", "no timer submits a report")
	}
	return newFinding("records of timers", Fail, "each is inserted once", d.Records.CheckFirings(ctx),
		"fanfold migrate makes the table; the account needs INSERT on the records, and SELECT, INSERT, UPDATE and DELETE on the table")
}

// maxCompared is how many records, and ids of a partition, are compared. An existing table that is
// connected for the first time can have many more.
const maxCompared = 10_000

// checkStartable counts the records that a rebuild would start: old enough, and without a
// job, and waiting nowhere.
func (d recordDoctor) checkStartable(ctx context.Context) Finding {
	const check, page = "records to be started", 500
	const hint = "fanfold submit ID starts one at once; to keep rows out that do not belong to Fanfold, set records.filter"
	grace := d.Config.Limits.Grace
	pending, processing, err := d.Records.CountStartable(ctx, grace)
	if err != nil || pending+processing > maxCompared {
		return newFinding(check, Warn, "", cmp.Or(err, fmt.Errorf("%d PENDING and %d PROCESSING records have not changed for %v: a rebuild starts those of them that have no job", pending, processing, grace)), hint)
	}
	queued, whole, err := d.queuedIDs(ctx)
	counts, example := map[report.Status]int{}, ""
	unknown, named := 0, "" // records whose report is not in the configuration: nothing starts them
	for after, more := "", true; more && err == nil; {
		var records, left []engine.Record
		if records, err = d.Records.Startable(ctx, after, grace, page); err != nil {
			break
		}
		left, err = d.withoutJob(ctx, records, queued)
		for _, r := range left {
			if d.Config.Reports[r.Report] == nil {
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
	stale := fmt.Sprintf("%d PENDING and %d PROCESSING records, such as %s, have not changed for %v and ", counts[report.Pending], counts[report.Processing], example, grace)
	switch {
	case err != nil:
		return newFinding(check, Warn, "", err, hint)
	case len(counts) > 0 && !whole:
		err = fmt.Errorf("%scould not be compared with all of %s: only its oldest %d entries were searched", stale, d.Scripts.Home().Keys.Jobs(), maxCompared)
		return newFinding(check, Warn, "", err, "run fanfold doctor again once fewer ids wait there; a rebuild starts the records that have no job")
	case len(counts) > 0:
		return newFinding(check, Warn, "", errors.New(stale+"have no job: the next rebuild starts them"), hint)
	case unknown > 0:
		err = fmt.Errorf("%d records, of which %s, wait for reports that are not in this configuration: nothing starts them", unknown, named)
		return newFinding(check, Warn, "", err, "add the reports, or set records.filter to keep rows out that do not belong to Fanfold")
	}
	return pass(check, "none")
}

// queuedIDs are the oldest ids that wait to be started, and whether those are all.
func (d recordDoctor) queuedIDs(ctx context.Context) (queued map[string]bool, whole bool, err error) {
	queued, whole = map[string]bool{}, true
	for _, s := range d.Scripts {
		entries, err := d.Redis.XRangeN(ctx, s.Keys.Jobs(), "-", "+", maxCompared).Result()
		if err != nil {
			return nil, false, err
		}
		for _, m := range entries {
			id, _ := m.Values["id"].(string)
			queued[id] = true
		}
		whole = whole && len(entries) < maxCompared
	}
	return queued, whole, nil
}

// withoutJob leaves out the records whose jobs run, or that wait in Redis for their time,
// their start or their report.
func (d recordDoctor) withoutJob(ctx context.Context, records []engine.Record, queued map[string]bool) ([]engine.Record, error) {
	var left []engine.Record
	for _, s := range d.Scripts {
		ours := slices.DeleteFunc(slices.Clone(records), func(r engine.Record) bool { return !report.ValidID(r.ID) || d.Scripts.Of(r.ID) != s })
		some, err := withoutJobIn(ctx, s, ours, queued)
		if err != nil {
			return nil, err
		}
		left = append(left, some...)
	}
	return left, nil
}

// withoutJobIn is withoutJob for records of one partition.
func withoutJobIn(ctx context.Context, s *scripts.Scripts, records []engine.Record, queued map[string]bool) ([]engine.Record, error) {
	if len(records) == 0 {
		return nil, nil
	}
	ids := make([]string, len(records))
	var members []string
	for i, r := range records {
		ids[i] = r.ID
		members = append(members, engine.BeforeStart(r.ID)...)
	}
	attempts, _, err := s.Jobs.Attempts(ctx, ids)
	if err != nil {
		return nil, err
	}
	delayed, err := s.Epoch.Scores(ctx, s.Keys.Delayed(), members)
	if err != nil {
		return nil, err
	}
	parked := map[string]map[string]float64{} // by report
	for _, r := range records {
		if _, asked := parked[r.Report]; asked {
			continue
		}
		if parked[r.Report], err = s.Epoch.Scores(ctx, s.Keys.Waiting(r.Report), ids); err != nil {
			return nil, err
		}
	}
	var left []engine.Record
	for i, r := range records {
		_, isParked := parked[r.Report][r.ID]
		isDelayed := slices.ContainsFunc(engine.BeforeStart(r.ID), func(member string) bool {
			_, ok := delayed[member]
			return ok
		})
		if !isParked && !isDelayed && !queued[r.ID] && (r.Status == report.Pending || attempts[i] < r.Attempt) {
			left = append(left, r)
		}
	}
	return left, nil
}

func (d recordDoctor) checkSink(ctx context.Context) Finding {
	s, err := d.OpenSink(ctx)
	if err == nil {
		err = s.Check(ctx)
	}
	check := "sink " + d.Sink.String()
	if errors.Is(err, fs.ErrNotExist) {
		return newFinding(check, Warn, "", err, "mkdir -p "+d.Sink.Place+", for the user of fanfold serve, which creates it if it may. If it is a mount, it is missing")
	}
	return newFinding(check, Fail, "an object was written and deleted", err, "may this process create and delete objects there?")
}

// checkFileColumn compares the file column with the names that files can have.
func (d recordDoctor) checkFileColumn(ctx context.Context) Finding {
	const check, hint = "file column", "ALTER TABLE … MODIFY it to VARCHAR(1024), or shorten the sink or the report's name"
	file, id, err := d.Records.Widths(ctx)
	var files sink.Sink
	if err == nil {
		files, err = d.OpenSink(ctx)
	}
	if err != nil {
		return newFinding(check, Fail, "", err, hint)
	}
	if file == 0 {
		return pass(check, "it has no length that the database tells")
	}
	longest, first := "", ""
	for _, name := range slices.Sorted(maps.Keys(d.Config.Reports)) {
		r := d.Config.Reports[name]
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

func checkScratch(ctx context.Context) Finding {
	folder, err := engine.CheckScratch(ctx)
	return newFinding("scratch files", Fail, "one was written in "+folder, err, engine.ScratchHint)
}

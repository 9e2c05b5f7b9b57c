package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
)

// mostCompared is how many records are compared with Redis. An existing table that is
// connected for the first time can have many more.
const mostCompared = 10_000

// checkStartable counts the records that a rebuild would start: old enough, and without a
// job, and waiting nowhere.
func (d recordDoctor) checkStartable(ctx context.Context) Finding {
	const check, page = "records to be started", 500
	const hint = "fanfold submit ID starts one at once; to keep rows out that do not belong to Fanfold, set records.filter"
	grace := d.config.Limits.Grace
	pending, processing, err := d.records.CountStartable(ctx, grace)
	if err != nil || pending+processing > mostCompared {
		return newFinding(check, Warn, "", cmp.Or(err, fmt.Errorf("%d PENDING and %d PROCESSING records have not changed for %v: a rebuild starts those of them that have no job", pending, processing, grace)), hint)
	}
	queued, whole, err := d.queuedIDs(ctx)
	counts, example := map[report.Status]int{}, ""
	unknown, named := 0, "" // records whose report is not in the configuration: nothing starts them
	for after, more := "", true; more && err == nil; {
		var records, left []engine.Record
		if records, err = d.records.Startable(ctx, after, grace, page); err != nil {
			break
		}
		left, err = d.withoutJob(ctx, records, queued)
		for _, r := range left {
			if d.config.Reports[r.Report] == nil {
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
			counts[report.Pending], counts[report.Processing], example, grace, d.scripts.Jobs(), searched)
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
func (d recordDoctor) queuedIDs(ctx context.Context) (queued map[string]bool, whole bool, err error) {
	queued = map[string]bool{}
	seen := 0
	for page, err := range entries(ctx, d.redis, d.scripts.Jobs(), false) {
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
// their start or their report.
func (d recordDoctor) withoutJob(ctx context.Context, records []engine.Record, queued map[string]bool) ([]engine.Record, error) {
	records = slices.DeleteFunc(records, func(r engine.Record) bool { return !report.ValidID(r.ID) })
	if len(records) == 0 {
		return nil, nil
	}
	ids := make([]string, len(records))
	var members []string
	for i, r := range records {
		ids[i] = r.ID
		members = append(members, BeforeStart(r.ID)...)
	}
	attempts, _, err := d.scripts.Attempts(ctx, ids)
	if err != nil {
		return nil, err
	}
	delayed, err := d.scripts.Scores(ctx, d.scripts.Delayed(), members)
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
		if parked[name], err = d.scripts.Scores(ctx, d.scripts.Waiting(name), ids); err != nil {
			return nil, err
		}
	}
	var left []engine.Record
	for i, r := range records {
		_, waits := parked[r.Report][r.ID]
		waits = waits || queued[r.ID]
		for _, member := range BeforeStart(r.ID) {
			_, ok := delayed[member]
			waits = waits || ok
		}
		if !waits && (r.Status == report.Pending || attempts[i] < r.Attempt) {
			left = append(left, r)
		}
	}
	return left, nil
}

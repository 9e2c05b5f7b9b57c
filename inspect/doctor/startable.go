package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/trigger"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// maxCompared is the maximum number of records, and of ids of a partition, that are compared. A table
// that is connected for the first time can have many more.
const maxCompared = 10_000

// checkStartable counts the records that a rebuild would start: they are old enough, have no job,
// and are not queued.
func checkStartable(ctx context.Context, d *doctor) Finding {
	const check, page = "records to be started", 500
	const hint = "fanfold submit ID starts one now; set records.filter to exclude rows that do not belong to Fanfold"
	grace := d.Config.Limits.RecoverAfter
	pending, processing, err := d.Records.CountStartable(ctx, grace)
	if err != nil || pending+processing > maxCompared {
		return newFinding(check, Warn, "", cmp.Or(err,
			fmt.Errorf("%d PENDING and %d PROCESSING records have not changed for %v: a rebuild starts those without a job",
				pending, processing, grace)), hint)
	}
	queued, whole, err := queuedIDs(ctx, d)
	counts, example := map[report.Status]int{}, ""
	unknown, named := 0, "" // records whose report is not in the configuration, which never start
	for after, more := "", true; more && err == nil; {
		var records, left []engine.Record
		if records, err = d.Records.Startable(ctx, after, grace, page); err != nil {
			break
		}
		left, err = withoutJob(ctx, d, records, queued)
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
	stale := fmt.Sprintf("%d PENDING and %d PROCESSING records, such as %s, have not changed for %v and ",
		counts[report.Pending], counts[report.Processing], example, grace)
	switch {
	case err != nil:
		return newFinding(check, Warn, "", err, hint)
	case len(counts) > 0 && !whole:
		err = fmt.Errorf("%swere compared only with the oldest %d entries of %s", stale, maxCompared,
			d.Scripts.First().Keys.Jobs)
		return newFinding(check, Warn, "", err,
			"run fanfold doctor again when fewer ids wait there; a rebuild starts the "+
				"records without a job")
	case len(counts) > 0:
		return newFinding(check, Warn, "", errors.New(stale+"have no job: the next rebuild starts them"), hint)
	case unknown > 0:
		err = fmt.Errorf("no job of %s can start, because its report is not in this configuration: %s",
			words.Count(unknown, "record"), named)
		return newFinding(check, Warn, "", err, "add the reports, or set records.filter to exclude rows that do not "+
			"belong to Fanfold")
	}
	return pass(check, "none")
}

// queuedIDs returns the oldest ids that wait to be started, and whether these are all.
func queuedIDs(ctx context.Context, d *doctor) (queued map[string]bool, whole bool, err error) {
	queued, whole = map[string]bool{}, true
	for _, s := range d.Scripts {
		entries, err := s.Entries.First(ctx, s.Keys.Jobs, maxCompared)
		if err != nil {
			return nil, false, err
		}
		for _, e := range entries {
			queued[e.Fields["id"]] = true
		}
		whole = whole && len(entries) < maxCompared
	}
	return queued, whole, nil
}

// withoutJob returns the records that have no job and do not wait in Redis for their time, their
// start or their report.
func withoutJob(ctx context.Context, d *doctor, records []engine.Record,
	queued map[string]bool) ([]engine.Record, error) {
	var left []engine.Record
	var ids []string
	for _, r := range records {
		ids = append(ids, r.ID)
	}
	waits, err := d.Scripts.First().Once.Waiting(ctx, ids)
	if err != nil {
		return nil, err
	}
	maps.Copy(queued, waits)
	for _, s := range d.Scripts {
		ours := slices.DeleteFunc(slices.Clone(records),
			func(r engine.Record) bool { return !report.ValidID(r.ID) || d.Scripts.Of(r.ID) != s })
		some, err := withoutJobIn(ctx, s, ours, queued)
		if err != nil {
			return nil, err
		}
		left = append(left, some...)
	}
	return left, nil
}

// withoutJobIn is withoutJob for the records of one partition.
func withoutJobIn(ctx context.Context, s *scripts.Scripts, records []engine.Record,
	queued map[string]bool) ([]engine.Record, error) {
	if len(records) == 0 {
		return nil, nil
	}
	ids := make([]string, len(records))
	var members []string
	for i, r := range records {
		ids[i] = r.ID
		members = append(members, trigger.BeforeStart(r.ID)...)
	}
	attempts, _, err := s.Jobs.Attempts(ctx, ids)
	if err != nil {
		return nil, err
	}
	delayed, err := s.Sets.Scores(ctx, s.Keys.Delayed, members)
	if err != nil {
		return nil, err
	}
	parked := map[string]map[string]float64{} // by report
	for _, r := range records {
		if _, asked := parked[r.Report]; asked {
			continue
		}
		if parked[r.Report], err = s.Sets.Scores(ctx, s.Keys.Waiting(r.Report), ids); err != nil {
			return nil, err
		}
	}
	lanes, err := s.Lanes.Entries(ctx, ids...)
	if err != nil {
		return nil, err
	}
	var left []engine.Record
	for i, r := range records {
		_, isParked := parked[r.Report][r.ID]
		isParked = isParked || lanes[r.ID].Waits
		isDelayed := slices.ContainsFunc(trigger.BeforeStart(r.ID), func(member string) bool {
			_, ok := delayed[member]
			return ok
		})
		if !isParked && !isDelayed && !queued[r.ID] && (r.Status == report.Pending || attempts[i] < r.Attempt) {
			left = append(left, r)
		}
	}
	return left, nil
}

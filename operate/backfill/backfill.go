package backfill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/watch"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// Run is a period with its record.
type Run struct {
	Period
	Parameters []byte // of the record, as JSON
	// Job is what is known of the record. Its ID is empty while the period has none.
	Job    inspect.Job
	Exists bool // the record existed before this backfill looked
}

// Backfill creates the records of periods, and waits for their jobs. It is used by one goroutine.
type Backfill struct {
	Inspect *inspect.Inspector
	Jobs    operate.Jobs
	Report  *report.Report
	Dates   []string // the parameters that get the first, and the last day
	Runs    []*Run   // in the order in which they are created
	Running int      // maximum number of jobs of the backfill that have not ended; at least 1
	// RetryFailed runs FAILED records again.
	RetryFailed bool
	Show        Watcher // shows the progress
}

// Watcher shows the progress of a backfill.
type Watcher interface {
	watch.Watcher
	// Began shows that the record of a run was created, retried, or found running.
	Began(r *Run, how string) error
}

// batch is how many periods one statement looks for. It bounds the records in memory, which may have other
// parameters.
const batch = 100

// Find looks for the records of all periods, in one SELECT per 100 periods. If a period has several, one with a
// file counts, or else one that has not ended, or else the last one that failed. The records of other people and
// services count, too.
func (b *Backfill) Find(ctx context.Context) error {
	if b.Inspect.Config.Records.Columns["parameters"] == "-" {
		return fault.Refused.New("the table %s has no column for parameters, so its records have no periods: add a "+
			"column, and name it in records.columns.parameters", b.Inspect.Config.Records.Table)
	}
	now := time.Now()
	for some := range slices.Chunk(b.Runs, batch) {
		runs, days := map[string]*Run{}, []string{}
		for _, r := range some {
			form, _ := formOf(b.Report, r.Parameters, now)
			runs[form] = r
			days = append(days, r.First)
		}
		filter := record.Filter{Report: b.Report.Name, AnyOf: map[string][]string{b.Dates[0]: days}}
		maps.Copy(filter.AnyOf, b.constants(some[0]))
		found, err := b.Inspect.Jobs.Search(ctx, filter, maxFound)
		if err != nil {
			return err
		}
		for _, record := range found { // the last change first
			form, ok := formOf(b.Report, record.Parameters, now)
			if r := runs[form]; ok && r != nil && (!r.Exists || rank(record.Status) < rank(r.Job.Status)) {
				r.Job, r.Exists = inspect.OfRecord(record), true
			}
		}
	}
	return nil
}

// maxFound bounds nothing: Search needs a number.
const maxFound = math.MaxInt32

// rank orders the records of one period.
func rank(s report.Status) int {
	switch {
	case s.HasFile():
		return 0
	case !s.Final():
		return 1
	}
	return 2
}

// constants returns texts of parameters that all runs share and every record that matches them has, so that the
// database does not send the records of others. A record that lacks a parameter has its default.
func (b *Backfill) constants(of *Run) map[string][]string {
	fields, _ := report.ParameterFields(of.Parameters) // they were checked
	values, _ := b.Report.Check(fields, time.Now())
	same := map[string][]string{}
	for _, p := range b.Report.Parameters {
		value := values[p.Name]
		if slices.Contains(b.Dates, p.Name) || p.Default != nil && isDefault(p, value) {
			continue
		}
		switch v := value.(type) {
		case string:
			if p.Type == report.ParamString {
				same[p.Name] = []string{v}
			}
		case int64, uint64:
			same[p.Name] = []string{fmt.Sprint(v)} // databases write 7 and "7" as this text
		}
	}
	return same
}

// isDefault tells whether a value is the default of a parameter.
func isDefault(p report.Parameter, value any) bool {
	bound, wrong := p.Bind(json.RawMessage(*p.Default), "")
	return wrong != nil || fmt.Sprint(bound) == fmt.Sprint(value)
}

// Go creates the missing records, as many at a time as may run, and waits until all jobs have ended, also those
// that exist. After an error or the end of ctx, jobs continue, and another backfill of the same range goes on from
// there.
func (b *Backfill) Go(ctx context.Context) error {
	byID, left, open := map[string]*Run{}, []*Run{}, []string{}
	for _, r := range b.Runs {
		switch {
		case r.Exists && !r.Job.Status.Final():
			// It may not have been pushed; a second push has no effect.
			if r.Job.Status == report.Pending {
				if err := b.Jobs.Push(ctx, r.Job.ID); err != nil {
					return err
				}
			}
			byID[r.Job.ID] = r
			open = append(open, r.Job.ID)
			if err := b.Show.Began(r, "exists"); err != nil {
				return err
			}
		case !r.Exists, b.RetryFailed && r.Job.Status == report.Failed:
			left = append(left, r)
		}
	}
	next := func(ctx context.Context, open int) (ids []string, err error) {
		for ; open < b.Running && len(left) > 0; open++ {
			r := left[0]
			if err := b.begin(ctx, r); err != nil {
				return nil, err
			}
			left, byID[r.Job.ID] = left[1:], r
			ids = append(ids, r.Job.ID)
		}
		return ids, nil
	}
	ended, err := watch.More(ctx, b.Inspect, open, b.Show, next)
	for _, j := range ended {
		byID[j.ID].Job = j
	}
	return err
}

// begin creates the record of a run, or retries it.
func (b *Backfill) begin(ctx context.Context, r *Run) error {
	if r.Exists {
		_, err := b.Jobs.Retry(ctx, r.Job.ID, job.AnyAge)
		if errors.Is(err, fault.Refused) {
			var now engine.Record
			if now, err = b.Inspect.Jobs.Record(ctx, r.Job.ID); err == nil && now.Status.Final() {
				return fault.Refused.New("record %s is %s and was not retried", r.Job.ID, now.Status)
			}
		}
		if err != nil {
			return err
		}
		return b.Show.Began(r, "is retried")
	}
	id, before, err := createUnique(ctx, b.Jobs, b.Report.Name, r.Parameters)
	if err != nil {
		return err
	}
	r.Job = inspect.Job{ID: id, Report: b.Report.Name, Status: report.Pending}
	if before {
		return b.Show.Began(r, "was created by another backfill")
	}
	return b.Show.Began(r, "was created")
}

package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// Flood is what the jobs with one value of a parameter take.
type Flood struct {
	Value   string  `json:"value"`
	Waiting int     `json:"waiting"` // jobs that have not started
	Running int     `json:"running"` // jobs
	Failed  int     `json:"failed"`  // jobs, in the last day
	Bytes   int64   `json:"bytes"`   // of the data of running jobs in Redis
	Seconds float64 `json:"seconds"` // that the queries of running jobs have taken so far

	Queued, Runs []string `json:"-"` // ids of the jobs that wait and that run
}

// Use has what a parameter's values are in the records, and how long the queries of their running jobs have taken.
type Use struct {
	At     time.Time
	Cut    bool // there are more than maxFloods records, and these are those that changed last
	values []record.Value
	worked map[string]time.Duration // by id
	lists  map[string]bool          // reports in which the parameter is a list
}

const (
	// maxFloods is the maximum number of records that are read: of those that are not final, and of those that failed.
	maxFloods = 20_000
	// floodDay is how long ago a job may have failed.
	floodDay = 24 * time.Hour
)

// Use reads the values of a parameter in the records of a report (empty: of all reports) that are not final, or that
// failed in the last day.
func (j Jobs) Use(ctx context.Context, of, parameter string) (*Use, error) {
	u := &Use{At: time.Now(), lists: map[string]bool{}, worked: map[string]time.Duration{}}
	for name, r := range j.o.Config.Reports {
		u.lists[name] = slices.ContainsFunc(r.Parameters, func(p report.Parameter) bool {
			return p.Name == parameter && p.List
		})
	}
	for _, filter := range []record.Filter{
		{Report: of, Open: true}, {Report: of, Status: report.Failed, Since: floodDay},
	} {
		found, err := j.o.Records.Values(ctx, filter, parameter, maxFloods)
		if err != nil {
			return nil, err
		}
		u.Cut = u.Cut || len(found) == maxFloods
		u.values = append(u.values, found...)
	}
	tasks := map[*scripts.Scripts][]job.Later{}
	for _, v := range u.values {
		r := j.o.Config.Reports[v.Report]
		if v.Status != report.Processing || v.Text == "" || r == nil {
			continue
		}
		s := j.o.Scripts.Of(v.ID)
		for _, l := range r.Listeners() {
			tasks[s] = append(tasks[s], job.Later{ID: v.ID, Step: l.Name})
		}
	}
	for s, all := range tasks {
		worked, err := s.Hashes.Worked(ctx, all)
		if err != nil {
			return nil, err
		}
		for i, t := range all {
			u.worked[t.ID] += worked[i]
		}
	}
	return u, nil
}

// Floods returns what the jobs with each value take, those with the most jobs first. running are the running jobs,
// which were read afterwards. A job with a list counts for every one of its values.
func (u *Use) Floods(running []Running) []Flood {
	runs := make(map[string]int64, len(running))
	for _, r := range running {
		runs[r.ID] = r.Bytes
	}
	all := map[string]*Flood{}
	for _, v := range u.values {
		bytes, ok := runs[v.ID]
		for _, value := range u.split(v) {
			f := all[value]
			if f == nil {
				f = &Flood{Value: value}
				all[value] = f
			}
			switch {
			case v.Status == report.Failed:
				f.Failed++
			case ok:
				f.Runs, f.Running = append(f.Runs, v.ID), f.Running+1
				f.Bytes, f.Seconds = f.Bytes+bytes, f.Seconds+u.worked[v.ID].Seconds()
			case v.Status == report.Pending: // another one has ended meanwhile
				f.Queued, f.Waiting = append(f.Queued, v.ID), f.Waiting+1
			}
		}
	}
	var list []Flood
	for _, f := range slices.Collect(maps.Values(all)) {
		if f.Waiting+f.Running+f.Failed > 0 {
			list = append(list, *f)
		}
	}
	slices.SortFunc(list, func(a, b Flood) int {
		return cmp.Or(cmp.Compare(b.Waiting+b.Running, a.Waiting+a.Running), cmp.Compare(b.Failed, a.Failed),
			strings.Compare(a.Value, b.Value))
	})
	return list
}

// Reports returns the reports of jobs, sorted.
func (u *Use) Reports(ids []string) (all []string) {
	wanted := make(map[string]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	for _, v := range u.values {
		if wanted[v.ID] && !slices.Contains(all, v.Report) {
			all = append(all, v.Report)
		}
	}
	slices.Sort(all)
	return all
}

// split returns the values of a record.
func (u *Use) split(v record.Value) []string {
	if v.Text == "" {
		return nil
	}
	var items []json.RawMessage
	if !u.lists[v.Report] || json.Unmarshal([]byte(v.Text), &items) != nil {
		return []string{v.Text}
	}
	var values []string
	for _, item := range items {
		text := string(item)
		_ = json.Unmarshal(item, &text) // what is no string stays as it is
		values = append(values, text)
	}
	slices.Sort(values)
	return slices.Compact(values)
}

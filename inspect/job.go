package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Job is a record with the state of its job.
type Job struct {
	ID        string        `json:"id"`
	Report    string        `json:"report"`
	Status    report.Status `json:"status"`
	Attempt   int64         `json:"attempt"`
	File      string        `json:"file,omitempty"`
	Error     string        `json:"error,omitempty"`
	Job       string        `json:"job,omitempty"` // status of the state in Redis
	Stage     int64         `json:"stage,omitempty"`
	Deadline  *time.Time    `json:"deadline,omitempty"`
	Orphan    bool          `json:"orphan,omitempty"` // no process has the definition of the job
	Waits     string        `json:"waits,omitempty"`  // why its job has not started, as Why says; only Watch sets it
	Waiting   Kind          `json:"-"`                // the kind of Waits
	Paused    []string      `json:"paused,omitempty"` // pauses that it waits for: report/<name>, listener/<name>
	Listeners []Listener    `json:"listeners,omitempty"`
	FanIn     *Listener     `json:"fan_in,omitempty"` // once the job waits for it

	Parameters json.RawMessage `json:"parameters,omitempty"` // of the record, if they are JSON
	Changed    *time.Time      `json:"changed,omitempty"`    // when the record was changed last

	Rows     *int64     `json:"rows,omitempty"`        // of the file
	Size     *int64     `json:"size,omitempty"`        // of the file, in bytes; an Inspector does not set it
	Created  *time.Time `json:"created,omitempty"`     // when the record was inserted
	Started  *time.Time `json:"started,omitempty"`     // start of the running or last attempt; see Times
	Ended    *time.Time `json:"ended,omitempty"`       // when the record became final
	Duration *int64     `json:"duration_ms,omitempty"` // of that attempt, until its end or now; see Times
}

// OfRecord returns a Job from a record alone.
func OfRecord(r engine.Record) Job {
	v := Job{ID: r.ID, Report: r.Report, Status: r.Status, Attempt: r.Attempt, File: r.File, Error: r.Error}
	if json.Valid(r.Parameters) {
		v.Parameters = r.Parameters
	}
	if r.Age < 50*365*24*time.Hour { // otherwise it is not known
		v.Changed = ago(r.Age)
		if r.Status.Final() {
			v.Ended = v.Changed
		}
	}
	if r.Created > 0 {
		v.Created = ago(r.Created)
	}
	v.Rows = r.Rows
	return v
}

// Listener is the state of a listener in a job.
type Listener struct {
	Name  string `json:"name"`
	Stage int64  `json:"stage"`
	State string `json:"state"` // waiting, running, done, omitted (given up, and the job continues without it), failed (with its job), or stopped
	Rows  int64  `json:"rows"`
	Tries int64  `json:"tries"`
	Owner string `json:"owner,omitempty"`

	Next *time.Time `json:"next,omitempty"` // end of its wait
	Why  string     `json:"why,omitempty"`  // what it waits for, or the error of its last try

	Began *time.Time `json:"began,omitempty"` // start of its last try, if Redis knows it; while the job runs
	Ended *time.Time `json:"ended,omitempty"` // when it was done; while the job runs

	Waits bool `json:"-"` // Why is what it waits for, not an error
}

// Job reads a record and the state of its job. It returns engine.ErrNoRecord if the row does not
// exist.
func (in *Inspector) Job(ctx context.Context, id string) (Job, error) {
	r, err := in.Record(ctx, id)
	if err != nil {
		return Job{}, err
	}
	v := OfRecord(r)
	if !v.Status.HasFile() {
		v.File = "" // of an earlier attempt
	}
	j, err := readJob(ctx, in.o.Scripts.Of(id), id)
	if err != nil {
		return v, err
	}
	if !r.Status.Final() {
		found, err := in.o.Scripts.Of(id).Gate.Paused(ctx)
		if err != nil {
			return v, err
		}
		v.Paused = j.pausedBy(found, r.Report)
	}
	if j == nil || j.Attempt != r.Attempt {
		return v, nil
	}
	v.Job, v.Stage = j.Status, j.Stage
	if !r.Status.Final() {
		v.Started, v.Deadline = &j.Started, &j.Deadline
	}
	ours := in.o.Config.Reports[j.Report]
	v.Listeners = j.listeners(ours)
	if j.runs() && !j.querying() {
		fanIn := Listener{Name: j.FanIn.Name, Stage: j.Stage}
		fanIn.is(j.FanIn)
		v.FanIn = &fanIn
	}
	if j.NeedsDefinition() && !j.of(ours) {
		seen, err := in.o.Scripts.Home().Definitions.Seen(ctx)
		v.Orphan = err == nil && j.orphan(ours, seen)
		return v, err
	}
	return v, nil
}

// Record reads a record, or returns engine.ErrNoRecord.
func (in *Inspector) Record(ctx context.Context, id string) (engine.Record, error) {
	records, err := in.Records(ctx, []string{id})
	return records[id], err
}

// Records reads records by their ids. It returns engine.ErrNoRecord if one does not exist.
func (in *Inspector) Records(ctx context.Context, ids []string) (map[string]engine.Record, error) {
	records, err := in.o.Records.Read(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if r, ok := records[id]; !ok || r.ID != id {
			return nil, in.NoRecord(id)
		}
	}
	return records, nil
}

// NoRecord returns the error for an id without a record.
func (in *Inspector) NoRecord(id string) error {
	return fmt.Errorf("%w: %s is not in table %s of database %s", engine.ErrNoRecord, id, in.o.Config.Records.Table, in.o.Config.Records.Database)
}

// listeners returns the listeners of a job, in the order of its report. If the configuration does
// not have the report, it returns those that have a task.
func (j *jobState) listeners(ours *report.Report) []Listener {
	tasks := map[string]part{}
	var views []Listener
	for _, t := range j.Steps {
		tasks[t.Name] = t
		if !j.of(ours) {
			views = append(views, Listener{Name: t.Name, Stage: t.Stage})
		}
	}
	if j.of(ours) {
		for stage, l := range ours.Listeners() {
			views = append(views, Listener{Name: l.Name, Stage: int64(stage)})
		}
	}
	for i, v := range views {
		v.is(tasks[v.Name])
		switch over := v.State != "done" && v.State != "omitted" && !j.querying(); {
		case over && j.FailedBy(v.Name):
			v.State, v.Tries = "failed", max(1, v.Tries)
		case over:
			v.State = "stopped"
		}
		views[i] = v
	}
	return views
}

// is sets the state of a listener from its step.
func (l *Listener) is(p part) {
	l.State, l.Rows, l.Tries, l.Owner = "waiting", p.Rows, p.Tries, p.Owner
	switch {
	case p.Policy != "":
		l.State = "omitted"
	case p.Done:
		l.State = "done"
	case p.Owner != "":
		l.State = "running"
	}
	switch {
	case !p.DoneAt.IsZero():
		began := p.DoneAt.Add(-p.Took)
		l.Began, l.Ended = &began, &p.DoneAt
	case !p.Taken.IsZero() && p.Owner != "":
		l.Began = &p.Taken
	}
	if !p.Done && !p.Next.IsZero() {
		l.Next, l.Why, l.Waits = &p.Next, cmp.Or(p.Waits, p.Error), p.Waits != ""
	}
}

// pausedBy returns the pauses that a job waits for: of its report before the start, when j is nil or
// has ended, and of its open listeners after the start.
func (j *jobState) pausedBy(found scripts.Pauses, report string) []string {
	if j == nil || !j.runs() {
		if _, ok := found[scripts.PausedReport(report)]; ok {
			return []string{scripts.PausedReport(report)}
		}
		return nil
	}
	var waits []string
	for _, p := range j.open() {
		if _, ok := found[scripts.PausedListener(p.Name)]; ok && p.Owner == "" {
			waits = append(waits, scripts.PausedListener(p.Name))
		}
	}
	return waits
}

package inspect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/spool"
)

// Job is a record with the state of its job.
type Job struct {
	ID       string        `json:"id"`
	Report   string        `json:"report"`
	Status   report.Status `json:"status"`
	Attempt  int64         `json:"attempt"`
	File     string        `json:"file,omitempty"`
	Error    string        `json:"error,omitempty"`
	Job      string        `json:"job,omitempty"` // status of the state in Redis
	Stage    int64         `json:"stage,omitempty"`
	Deadline *time.Time    `json:"deadline,omitempty"`
	Bytes    int64         `json:"bytes,omitempty"`   // of its data in Redis, while it runs
	Spooled  int64         `json:"spooled,omitempty"` // of its data in the spool, while it runs
	Orphan   bool          `json:"orphan,omitempty"`  // no process has the definition of the job
	// Definition is that of the job; empty: neither Redis nor its history knows this attempt.
	Definition string `json:"-"`
	// SharedWith is the id of the job whose file the record has, or for which it waits (once); empty: none.
	SharedWith string     `json:"shared_with,omitempty"`
	Unread     string     `json:"unread,omitempty"` // what could not be read, and why; empty: nothing
	Turn       *Turn      `json:"turn,omitempty"`   // that it waits for, with lanes; only Get sets it
	Waits      string     `json:"waits,omitempty"`  // why its job has not started; only package watch sets it
	Waiting    string     `json:"-"`                // the kind of that verdict
	Pauses     []string   `json:"-"`                // the same, as texts for people
	Paused     []string   `json:"paused,omitempty"` // that it waits for: report/, listener/ or source/<name>
	Listeners  []Listener `json:"listeners,omitempty"`
	FanIn      *Listener  `json:"fan_in,omitempty"` // once the job waits for it; if it has ended: see engine.History
	Kept       *Kept      `json:"kept,omitempty"`   // for the next attempt of a job that ended without a file

	Parameters json.RawMessage `json:"parameters,omitempty"` // of the record, if they are JSON
	Changed    *time.Time      `json:"changed,omitempty"`    // when the record was changed last

	Rows     *int64     `json:"rows,omitempty"`        // of the file
	Size     *int64     `json:"size,omitempty"`        // of the file, in bytes; an Inspector does not set it
	Owner    string     `json:"owner,omitempty"`       // of the record
	Tenant   string     `json:"tenant,omitempty"`      // of the record
	Created  *time.Time `json:"created,omitempty"`     // when the record was inserted
	Started  *time.Time `json:"started,omitempty"`     // start of the running or last attempt; see Times
	Ended    *time.Time `json:"ended,omitempty"`       // when the record became final
	Duration *int64     `json:"duration_ms,omitempty"` // of that attempt, until its end or now; see Times
}

// OfRecord returns a Job from a record alone.
func OfRecord(r engine.Record) Job {
	v := Job{ID: r.ID, Report: r.Report, Status: r.Status, Attempt: r.Attempt, File: r.File, Error: r.Error,
		Owner: r.Owner, Tenant: r.Tenant}
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
	if maker := files.Maker(r.File); r.Status.HasFile() && maker != r.ID {
		v.SharedWith = maker
	}
	return v
}

// Neutral returns the job for who does not see every record: without ids of other records, which are also in the names
// of files, and without what servers say.
func (j Job) Neutral() Job {
	j.SharedWith = ""
	for of, says := range map[*string]string{
		&j.File: "in the sink", &j.Unread: "a server does not answer", &j.Waits: "The job has not started yet.",
	} {
		if *of != "" {
			*of = says
		}
	}
	j.Listeners = slices.Clone(j.Listeners)
	for i := range j.Listeners {
		j.Listeners[i].Owner, j.Listeners[i].Why = "", ""
	}
	if j.FanIn != nil {
		of := *j.FanIn
		of.Owner, of.Why = "", ""
		j.FanIn = &of
	}
	return j
}

// Turn is the place of a record in the queue of its lane.
type Turn struct {
	Class   string `json:"class"`
	Lane    string `json:"lane"`    // see report.LaneName
	Before  int64  `json:"before"`  // ids of the queue that start first
	Queue   int64  `json:"queue"`   // ids that wait in the queue
	Running int64  `json:"running"` // jobs of the lane that run
}

// Listener is the state of a listener in a job.
type Listener struct {
	Name  string `json:"name"`
	Stage int64  `json:"stage"`
	// State is waiting, running, done, omitted (given up, and the job continues without it), failed (with
	// its job), or stopped.
	State string `json:"state"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes,omitempty"`      // of its data, where it lies; while the job runs
	Spool string `json:"spool,omitempty"`      // what the URLs of its segments begin with; empty: data is in Redis
	Parts int64  `json:"parts,omitempty"`      // in which it is read, into the spool; 0: at once
	Read  int64  `json:"parts_read,omitempty"` // of Parts; while it is read
	Tries int64  `json:"tries"`
	Owner string `json:"owner,omitempty"` // that runs it, or has run it last
	// Reused is the attempt that has read its dataset; 0: this one
	Reused int64 `json:"reused_from,omitempty"`
	// AsOf is when an earlier job has read the rows that it has instead of its own, because of Why
	AsOf *time.Time `json:"as_of,omitempty"`

	Next *time.Time `json:"next,omitempty"` // end of its wait
	Why  string     `json:"why,omitempty"`  // what it waits for, or the error of its last try

	Began *time.Time `json:"began,omitempty"` // start of its last try, if it is known
	Ended *time.Time `json:"ended,omitempty"` // when it was done, or was stopped with its job

	Waits bool `json:"-"` // Why is what it waits for, not an error
}

// listeners returns the listeners of a job, in the order of its report. If the configuration does
// not have the report, it returns those that have a task.
func (j *State) listeners(ours *report.Report) []Listener {
	tasks := map[string]Part{}
	var views []Listener
	for _, t := range j.Steps {
		tasks[t.Name] = t
		if !j.Of(ours) {
			views = append(views, Listener{Name: t.Name, Stage: t.Stage})
		}
	}
	if j.Of(ours) {
		for stage, l := range ours.Listeners() {
			views = append(views, Listener{Name: l.Name, Stage: int64(stage)})
		}
	}
	for i, v := range views {
		v.is(tasks[v.Name])
		switch over := v.State != "done" && v.State != "omitted" && !j.Querying(); {
		case over && j.FailedBy(v.Name):
			v.State, v.Tries = "failed", max(1, v.Tries)
			if j.Of(ours) { // who finds that all tries are used takes the task, and tries nothing
				l, _, _ := ours.Listener(v.Name)
				v.Tries = min(v.Tries, int64(l.Retry.Retries)+1)
			}
		case over:
			v.State = "stopped"
		}
		if !j.Querying() { // nothing of the job runs again
			v.Next = nil
		}
		views[i] = v
	}
	return views
}

// is sets the state of a listener from its step.
func (l *Listener) is(p Part) {
	l.State, l.Rows, l.Tries, l.Owner = "waiting", p.Rows, p.Tries, p.Owner
	l.Bytes, l.Parts, l.Read = p.Bytes+p.PartsBytes, p.Parts, p.PartsRead
	if at, err := spool.ParseTicket(p.At); err == nil {
		l.Bytes, l.Spool = at.Bytes(), at[0].URL
	}
	switch {
	case p.Policy != "":
		l.State = "omitted"
	case p.Done:
		l.State, l.Reused = "done", p.Reused
	case p.Owner != "" && (p.Pause == "" || p.Rows > 0):
		l.State = "running"
	}
	switch {
	case !p.DoneAt.IsZero():
		began := p.DoneAt.Add(-p.Took)
		l.Began, l.Ended = &began, &p.DoneAt
	case !p.Taken.IsZero() && l.State == "running":
		l.Began = &p.Taken
	}
	l.Why = p.Pause
	if !p.StaleAt.IsZero() {
		l.AsOf, l.Why = &p.StaleAt, p.Failed
	}
	if !p.Done && !p.Next.IsZero() {
		l.Next, l.Why, l.Waits = &p.Next, cmp.Or(p.Waits, p.Error), p.Waits != ""
	}
}

// Where says how much data lies where; empty: there is none.
func (j Job) Where() string {
	var parts []string
	if j.Bytes > 0 {
		parts = append(parts, words.Bytes(j.Bytes)+" in Redis")
	}
	if j.Spooled > 0 {
		parts = append(parts, words.Bytes(j.Spooled)+" in the spool")
	}
	return strings.Join(parts, ", ")
}

// Where says which parts were read, and how much data lies where; empty: there is none.
func (l Listener) Where() string {
	switch lies := (Job{Spooled: l.Bytes}).Where(); {
	case l.Parts > 0 && l.State != "done":
		return strings.TrimSuffix(fmt.Sprintf("%d of %d parts, %s", l.Read, l.Parts, lies), ", ")
	case l.Spool != "":
		return lies
	}
	return Job{Bytes: l.Bytes}.Where()
}

// pausedBy returns the pauses that a job waits for: of its report before the start, when j is nil or
// has ended, and of its open listeners and their sources after
// the start.
func (j *State) pausedBy(found scripts.Holds, name string, of *report.Report) []string {
	if j == nil || !j.Runs() {
		if _, ok := found[scripts.PausedReport(name)]; ok {
			return []string{scripts.PausedReport(name)}
		}
		return nil
	}
	var waits []string
	for _, p := range j.Open() {
		var sources []string
		if of != nil {
			if l, _, ok := of.Listener(p.Name); ok {
				sources = append(sources, l.Source)
			}
		}
		what := found.Stops(p.Name, sources...)
		if what != "" && p.Owner == "" && !slices.Contains(waits, what) {
			waits = append(waits, what)
		}
	}
	return waits
}

package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// jobView is what is known of one record and its job.
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
	Orphan    bool          `json:"orphan,omitempty"` // no process has the definition that its job was started with
	Paused    []string      `json:"paused,omitempty"` // that it waits for: report/<name>, listener/<name>
	Listeners []Listener    `json:"listeners,omitempty"`
}

type Listener struct {
	Name  string `json:"name"`
	Stage int64  `json:"stage"`
	State string `json:"state"` // waiting, running, done, omitted (given up, and the job goes on without it), or stopped
	Rows  int64  `json:"rows"`
	Tries int64  `json:"tries"`
	Owner string `json:"owner,omitempty"`

	Next *time.Time `json:"next,omitempty"` // it waits until then
	Why  string     `json:"why,omitempty"`  // it waits: for what, or the error of its last try

	Waits bool `json:"-"` // why is no error: it waits for something
}

// view reads a record and the state of its job. It returns engine.ErrNoRecord
// where there is no such row.
func (in *Inspector) Job(ctx context.Context, id string) (Job, error) {
	records, err := in.records.Read(ctx, []string{id})
	if err != nil {
		return Job{}, err
	}
	r, ok := records[id]
	if !ok || r.ID != id {
		return Job{}, in.NoRecord(id)
	}
	v := Job{ID: id, Report: r.Report, Status: r.Status, Attempt: r.Attempt, File: r.File, Error: r.Error}
	if !v.Status.HasFile() {
		v.File = "" // of an earlier attempt
	}
	state, err := in.scripts.Read(ctx, id)
	if err != nil && !errors.Is(err, scripts.ErrNoJob) {
		return v, err
	}
	if !r.Status.Final() {
		found, err := in.scripts.Paused(ctx)
		if err != nil {
			return v, err
		}
		v.Paused = pausedFor(found, r.Report, state)
	}
	if state == nil {
		return v, nil
	}
	if state.Attempt == r.Attempt {
		v.Job, v.Stage = state.Status, state.Stage
		if !r.Status.Final() {
			v.Deadline = &state.Deadline
		}
		if v.Orphan, err = in.Orphan(ctx, state); err != nil {
			return v, err
		}
		v.Listeners = listenerViews(in.config.Reports[state.Report], state)
	}
	return v, nil
}

// listenerViews lists the listeners of a job: those of its report in their
// order; those that have a task, where the report is not in the configuration.
func listenerViews(r *report.Report, state *scripts.State) []Listener {
	var views []Listener
	if r != nil && r.Hash() == state.Definition {
		for stage, s := range r.Stages {
			for _, l := range s.Listeners {
				views = append(views, Listener{Name: l.Name, Stage: int64(stage) + 1})
			}
		}
	} else {
		for name, task := range state.Tasks {
			views = append(views, Listener{Name: name, Stage: task.Stage})
		}
		slices.SortFunc(views, func(a, b Listener) int {
			return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Name, b.Name))
		})
	}
	for i := range views {
		task := state.Tasks[views[i].Name]
		views[i].State, views[i].Rows, views[i].Tries, views[i].Owner = "waiting", task.Rows, task.Tries, task.Owner
		if !task.Done && !task.Next.IsZero() {
			views[i].Next, views[i].Why = &task.Next, cmp.Or(task.Waits, task.Error)
			views[i].Waits = task.Waits != ""
		}
		switch {
		case task.Policy != "":
			views[i].State = "omitted"
		case task.Done:
			views[i].State = "done"
		case state.Status != scripts.StatusRun:
			views[i].State = "stopped"
		case task.Owner != "":
			views[i].State = "running"
		}
	}
	return views
}

// pausedFor is what of the pauses a record waits for: its report before the start, after
// that listeners that are not done. State is nil where it has none.
func pausedFor(found scripts.Pauses, report string, state *scripts.State) []string {
	if state == nil || !runs(state) {
		if _, ok := found[scripts.PausedReport(report)]; ok {
			return []string{scripts.PausedReport(report)}
		}
		return nil
	}
	var waits []string
	for _, l := range state.Listeners {
		task := state.Tasks[l]
		if _, ok := found[scripts.PausedListener(l)]; ok && state.Status == scripts.StatusRun && !task.Done && task.Owner == "" {
			waits = append(waits, scripts.PausedListener(l))
		}
	}
	return waits
}

// orphan tells whether no process has the definition of a running job.
func (in *Inspector) Orphan(ctx context.Context, state *scripts.State) (bool, error) {
	if r := in.config.Reports[state.Report]; !scripts.NeedsDefinition(state.Status) || r != nil && r.Hash() == state.Definition {
		return false, nil
	}
	seen, err := in.scripts.Seen(ctx)
	return err == nil && seen.AnyLive() && !seen.Live(scripts.DefinitionMember(state.Report, state.Definition)), err
}

// noRecord is the error of an id that has no record.
func (in *Inspector) NoRecord(id string) error {
	return fmt.Errorf("%w: %s is not in table %s of database %s", engine.ErrNoRecord, id, in.config.Records.Table, in.config.Records.Database)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/scripts"
)

// jobView is what is known of one record and its job.
type jobView struct {
	ID        string         `json:"id"`
	Report    string         `json:"report"`
	Status    engine.Status  `json:"status"`
	Attempt   int64          `json:"attempt"`
	File      string         `json:"file,omitempty"`
	Error     string         `json:"error,omitempty"`
	Job       string         `json:"job,omitempty"` // status of the state in Redis
	Stage     int64          `json:"stage,omitempty"`
	Deadline  *time.Time     `json:"deadline,omitempty"`
	Orphan    bool           `json:"orphan,omitempty"` // no process has the definition that its job was started with
	Paused    []string       `json:"paused,omitempty"` // that it waits for: report/<name>, listener/<name>
	Listeners []listenerView `json:"listeners,omitempty"`
}

type listenerView struct {
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
func (b *backend) view(ctx context.Context, id string) (jobView, error) {
	records, err := b.records.Read(ctx, []string{id})
	if err != nil {
		return jobView{}, err
	}
	r, ok := records[id]
	if !ok || r.ID != id {
		return jobView{}, b.noRecord(id)
	}
	v := jobView{ID: id, Report: r.Report, Status: r.Status, Attempt: r.Attempt, File: r.File, Error: r.Error}
	if !v.Status.HasFile() {
		v.File = "" // of an earlier attempt
	}
	state, err := b.scripts.Read(ctx, id)
	if err != nil && !errors.Is(err, scripts.ErrNoJob) {
		return v, err
	}
	if !r.Status.Final() {
		found, err := b.scripts.Paused(ctx)
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
		if v.Orphan, err = b.orphan(ctx, state); err != nil {
			return v, err
		}
		v.Listeners = listenerViews(b.config.Reports[state.Report], state)
	}
	return v, nil
}

func (v jobView) table(t table.Writer) {
	t.AppendRow(table.Row{"id", v.ID})
	t.AppendRow(table.Row{"report", v.Report})
	t.AppendRow(table.Row{"status", v.Status})
	t.AppendRow(table.Row{"attempt", v.Attempt})
	if v.File != "" {
		t.AppendRow(table.Row{"file", v.File})
	}
	if v.Error != "" {
		t.AppendRow(table.Row{"error", v.Error})
	}
	if v.Job != "" {
		job := fmt.Sprintf("%s, stage %d", v.Job, v.Stage)
		if v.Deadline != nil {
			job += ", deadline " + stamp(*v.Deadline)
		}
		t.AppendRow(table.Row{"job", job})
	}
	if v.Orphan {
		t.AppendRow(table.Row{"waits", "no process has the definition that it was started with: fanfold adopt " + v.ID + " restarts it with today's"})
	}
	for _, p := range v.Paused {
		t.AppendRow(table.Row{"paused", p})
	}
	for _, l := range v.Listeners {
		t.AppendRow(table.Row{l.Name, fmt.Sprintf("%s, %d rows, try %d", l.State, l.Rows, l.Tries)})
	}
}

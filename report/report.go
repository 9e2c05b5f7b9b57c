package report

import (
	"fmt"
	"iter"
	"slices"
	"time"
)

// Report is the definition of a report.
type Report struct {
	Name string `key:"report"`
	// Name of the report on the [waiting page](../guides/waiting-page.md)
	Label string `yaml:"label" unset:"the name"`
	// What the report has, for those who choose one: `GET /reports` shows it
	Description string `yaml:"description" unset:"none"`
	Line        int    // in the configuration file
	Stages      []Stage
	// Maximum number of running jobs of the report, in all processes together; the ids of others wait, and start
	// in their order
	Running int `yaml:"running" min:"1" max:"1000000" unset:"unlimited"`
	// One of the `classes` of `lanes`
	Class string `yaml:"class" unset:"none"`
	// `true`: a new request replaces an older one of the same person for the same report that still waits for its
	// turn; the older record becomes CANCELLED. Needs `lanes`, and the owner in the [records](#records)
	NewestOnly bool `yaml:"newest_only" default:"false"`
	// Deadline of a job: time from its start until its file is committed. See [Timeouts](#timeouts)
	Timeout time.Duration `yaml:"timeout" unset:"computed"`
	// Retries of making the file. Its fields are also the defaults of the listeners' `retry`
	Retry Retry `yaml:"retry"`
	// Values that a record passes, by name: a type, or these fields
	Parameters []Parameter `yaml:"parameters"`
	// How long the datasets of listeners that are done are kept when a job ends as FAILED or CANCELLED: the next
	// attempt reads only the others. See [Read only what is missing](../guides/retry.md)
	Keep time.Duration `yaml:"keep" min:"1s" max:"168h" unset:"nothing is kept"`
	// Zone of [relative dates](#relative-dates) in parameters
	TimeZone string `yaml:"time_zone" form:"zone" unset:"UTC"`
	// One SELECT over the listeners, which are its tables: see [Fold](#fold)
	Fold string `yaml:"fold" unset:"see join"`
	// Short form of a fold: how the rows of the listeners are joined. Required for two or more listeners without a
	// `fold`
	Join Join `yaml:"join"`
	// Columns and format of the file
	File File `yaml:"file"`
	// Where to send a request when a job ends: see [Notifications](#notifications)
	Notify *Notify `yaml:"notify"`
	// Equal jobs share one run and its file: see [Share equal exports](../guides/once.md)
	Once *Once `yaml:"once"`
	// What happens to a running job when no process has its definition any more: `restart` starts its next attempt
	// with the current definition after `limits.recover_after`; `wait` waits for a process with that definition or for
	// `fanfold adopt`, such as if a source must not be asked twice. See [Changes of a
	// definition](#changes-of-a-definition)
	WaitOnChange bool `yaml:"on_change" enum:"restart,wait" default:"restart"`
	// `waits` extends the deadline by the time for which the job waits for a paused listener; `runs` fails a job whose
	// deadline passes meanwhile
	DeadlineWaits bool `yaml:"deadline_during_pause" enum:"runs,waits" default:"waits"`
}

// Stage is one fan-out and its barrier.
type Stage struct {
	Listeners []Listener
}

// Names returns the names of the listeners.
func (s Stage) Names() []string {
	var names []string
	for _, l := range s.Listeners {
		names = append(names, l.Name)
	}
	return names
}

// CanBePartial reports whether a job of the report may continue although one of its listeners fails, and end as
// PARTIAL.
func (r *Report) CanBePartial() bool {
	for _, l := range r.Listeners() {
		if l.CanFail() {
			return true
		}
	}
	return false
}

// Listeners iterates over the listeners, with the numbers of their stages from 1.
func (r *Report) Listeners() iter.Seq2[int, *Listener] {
	return func(yield func(int, *Listener) bool) {
		for s := range r.Stages {
			for i := range r.Stages[s].Listeners {
				if !yield(s+1, &r.Stages[s].Listeners[i]) {
					return
				}
			}
		}
	}
}

// Listener returns the listener of a name and the number of its stage from 1.
func (r *Report) Listener(name string) (l *Listener, stage int, ok bool) {
	for stage, l := range r.Listeners() {
		if l.Name == name {
			return l, stage, true
		}
	}
	return nil, 0, false
}

// Chosen returns the report for a job whose parameters, those of Canonical, choose columns of the file.
func Chosen(r *Report, parameters []byte) (*Report, error) {
	if r.File.ColumnsFrom == "" {
		return r, nil
	}
	values, err := r.Decode(parameters)
	if err != nil {
		return nil, err
	}
	labels, _ := values[r.File.ColumnsFrom].([]any)
	var columns []FileColumn
	for i, label := range labels {
		at := slices.IndexFunc(r.File.Columns, func(c FileColumn) bool { return c.Label == label })
		if at < 0 {
			return nil, fmt.Errorf("%w: the file has no column %q", ErrParameters, label)
		}
		if !slices.Contains(labels[:i], label) {
			columns = append(columns, r.File.Columns[at])
		}
	}
	if columns == nil {
		return r, nil
	}
	chosen := *r
	chosen.File.Columns = columns
	return &chosen, nil
}

// Without returns the report for a job that continues without these listeners. They are
// not part of the join, whatever their type in it, and their columns in the file are
// empty or have their values in every row. The first listener of the join cannot be
// omitted.
func (r *Report) Without(omitted []string) *Report {
	if len(omitted) == 0 {
		return r
	}
	rest := *r
	rest.Join.Listeners = slices.DeleteFunc(slices.Clone(r.Join.Listeners),
		func(j Joined) bool { return slices.Contains(omitted, j.Listener) })
	rest.File.Columns, rest.File.Fixed = slices.Clone(r.File.Columns), map[int]string{}
	for i, c := range rest.File.Columns {
		if c.Listener == "" || !slices.Contains(omitted, c.Listener) {
			continue
		}
		text := "null"
		if l, _, ok := r.Listener(c.Listener); ok && l.Values[c.Column] != "" {
			text = l.Values[c.Column]
		}
		rest.File.Columns[i], rest.File.Fixed[i] = FileColumn{Label: c.Label}, text
	}
	return &rest
}

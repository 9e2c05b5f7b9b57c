package report

import (
	"iter"
	"slices"
	"time"
)

// Report is the definition of a report.
type Report struct {
	Name string `key:"report"`
	// what people who [wait](../guides/waiting-page.md) for one read in place of the name
	Label  string `yaml:"label" unset:"the name"`
	Line   int    // in the configuration file
	Stages []Stage
	// deadline of a job, from its start until its file is committed
	Timeout time.Duration `yaml:"timeout" unset:"what its stages can take, and time for the file: see Timeouts"`
	// of making the file, and of its listeners
	Retry Retry `yaml:"retry"`
	// values that a record gives, by name: a type, or these fields
	Parameters []Parameter `yaml:"parameters"`
	// how the listeners' rows meet; needed for two or more listeners
	Join Join `yaml:"join"`
	// what the file looks like
	CSV CSV `yaml:"csv"`
	// whom to tell that a job has ended: see [Notifications](#notifications)
	Notify *Notify `yaml:"notify"`
	// a running job whose definition no process has any more waits for one that has it, or is started again with this definition
	RestartOnChange bool `yaml:"on_change" enum:"wait,restart" default:"wait"`
	// `waits`: the deadline moves by the time for which a listener that the job waits for is paused
	DeadlineWaits bool `yaml:"paused_deadline" enum:"runs,waits" default:"runs"`
}

// Stage is one fan-out and its barrier.
type Stage struct {
	Listeners []Listener
}

// CanOmit tells whether a job of the report can go on without one of its listeners,
// and so end as PARTIAL.
func (r *Report) CanOmit() bool {
	return slices.ContainsFunc(r.Stages, func(s Stage) bool {
		return slices.ContainsFunc(s.Listeners, func(l Listener) bool { return l.CanOmit() })
	})
}

// Listeners iterates over the listeners, with the numbers of their stages, counted from 1.
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

// Listener returns the listener of that name and the number of its stage,
// counted from 1.
func (r *Report) Listener(name string) (l *Listener, stage int, ok bool) {
	for stage, l := range r.Listeners() {
		if l.Name == name {
			return l, stage, true
		}
	}
	return nil, 0, false
}

// Without returns the report for a job that goes on without these listeners: they
// are no part of the join, whatever their type in it, and in every row their columns
// in the file are empty, or have their defaults. The first listener of the join is
// never one of them.
func (r *Report) Without(omitted []string) *Report {
	if len(omitted) == 0 {
		return r
	}
	rest := *r
	rest.Join.Listeners = slices.DeleteFunc(slices.Clone(r.Join.Listeners), func(j Joined) bool { return slices.Contains(omitted, j.Listener) })
	rest.CSV.Columns, rest.CSV.Fixed = slices.Clone(r.CSV.Columns), map[int]string{}
	for i, c := range rest.CSV.Columns {
		if c.Listener == "" || !slices.Contains(omitted, c.Listener) {
			continue
		}
		text := "null"
		if l, _, ok := r.Listener(c.Listener); ok && l.Defaults[c.Column] != "" {
			text = l.Defaults[c.Column]
		}
		rest.CSV.Columns[i], rest.CSV.Fixed[i] = CSVColumn{Label: c.Label}, text
	}
	return &rest
}

package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// History is what a job did. Records keep it after the end of the job, when Redis has forgotten it.
type History struct {
	Report     string
	Definition string        // hash
	Status     report.Status // final
	Started    time.Time     // by the clock of Redis, like the times of listeners
	Ended      time.Time
	Rows       int64 // of the file
	Bytes      int64 // of the file
	Reason     string
	Steps      []Past // the listeners that had a task, in the order of the report, and fan-in if it began
}

// Past is what a step did: a listener's task, or fan-in. Its times are those of its last try.
type Past struct {
	Name   string     `json:"name"`
	Stage  int64      `json:"stage"`
	State  string     `json:"state"` // done, omitted, failed or stopped
	Rows   int64      `json:"rows,omitempty"`
	Tries  int64      `json:"tries,omitempty"`
	Owner  string     `json:"owner,omitempty"` // of its last try
	Parts  int64      `json:"parts,omitempty"` // in which it was read
	Reused int64      `json:"reused_from,omitempty"`
	AsOf   *time.Time `json:"as_of,omitempty"` // when an earlier job has read its rows
	Began  *time.Time `json:"began,omitempty"` // nil: not known
	Ended  *time.Time `json:"ended,omitempty"`
	Error  string     `json:"error,omitempty"` // why it has no rows of its own
}

// HistoryOf returns what the job of a state did that ends now with a status. The report is its definition; nil: not
// known.
func HistoryOf(state *job.State, r *report.Report, status report.Status) *History {
	h := &History{
		Report: state.Report, Definition: state.Definition, Status: status,
		Started: state.Started, Ended: time.Now(), Reason: state.Reason,
	}
	order, done := state.Listeners, time.Time{}
	if r != nil {
		order = nil
		for _, l := range r.Listeners() {
			order = append(order, l.Name)
		}
	}
	for name, t := range state.Tasks {
		past := h.past(state, name, t)
		if past.State == "failed" && r != nil { // who finds that all tries are used takes the task, and tries nothing
			if l, _, ok := r.Listener(name); ok {
				past.Tries = min(past.Tries, int64(l.Retry.Retries)+1)
			}
		}
		if h.Steps = append(h.Steps, past); t.DoneAt.After(done) {
			done = t.DoneAt
		}
	}
	slices.SortFunc(h.Steps, func(a, b Past) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage),
			cmp.Compare(slices.Index(order, a.Name), slices.Index(order, b.Name)), cmp.Compare(a.Name, b.Name))
	})
	open := slices.ContainsFunc(h.Steps, func(p Past) bool { return p.State == "failed" || p.State == "stopped" })
	if len(h.Steps) > 0 && !open {
		fanIn := h.past(state, job.StepFanIn, job.TaskState{
			StepState: state.Fold, Stage: state.Stage, Owner: state.Worker, Taken: done,
			Done: status.HasFile(), DoneAt: h.Ended,
		})
		fanIn.Tries = max(1, fanIn.Tries)
		if status == report.Failed {
			fanIn.State, fanIn.Error = "failed", state.Reason
		}
		h.Steps = append(h.Steps, fanIn)
	}
	return h
}

// past returns what a step did.
func (h *History) past(state *job.State, name string, t job.TaskState) Past {
	p := Past{
		Name: name, Stage: t.Stage, State: "stopped", Rows: t.Rows, Tries: t.Tries, Parts: t.Parts, Error: t.Error,
		Owner: cmp.Or(t.Owner, t.LastOwner), Ended: known(h.Ended), Began: known(t.Taken),
	}
	switch {
	case t.Policy != "":
		p.State, p.Error = "omitted", t.Failed
	case t.Done:
		p.State, p.Reused, p.AsOf, p.Error = "done", t.Reused, known(t.StaleAt), t.Failed
	case state.FailedBy(name):
		p.State, p.Tries, p.Error = "failed", max(1, t.Tries), strings.TrimPrefix(state.Reason, job.ReasonOf(name, ""))
	}
	if t.Done && name != job.StepFanIn {
		p.Began, p.Ended = known(t.DoneAt.Add(-t.Took)), known(t.DoneAt)
	}
	return p
}

// known returns a time to the millisecond in UTC; nil: it is zero.
func known(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC().Truncate(time.Millisecond)
	return &at
}

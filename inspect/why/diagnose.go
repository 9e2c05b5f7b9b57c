package why

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// diagnosis is a job with the answers for its steps. What is nil in the facts is empty in record,
// report and state.
type diagnosis struct {
	*facts
	steps []*step
	worst *step // the one with the highest severity; nil: no step is open

	record engine.Record
	report report.Report
	state  inspect.State
}

// newDiagnosis finds the answers for the open steps of a job.
func newDiagnosis(f *facts) *diagnosis {
	d := &diagnosis{facts: f, state: inspect.State{State: &job.State{}}}
	if f.Record != nil {
		d.record = *f.Record
	}
	if f.Report != nil {
		d.report = *f.Report
	}
	if f.Job != nil {
		d.state = *f.Job
	}
	if f.runs() {
		for _, p := range f.open() {
			d.steps = append(d.steps, newStep(f, p))
		}
	}
	for _, s := range d.steps {
		if d.worst == nil || s.severity > d.worst.severity {
			d.worst = s
		}
	}
	return d
}

// diagnose turns facts into a verdict. It needs no server.
func diagnose(f *facts) Verdict {
	d := newDiagnosis(f)
	v := Verdict{ID: f.ID, Now: f.Now, Delayed: f.hasDelayed()}
	if f.Record != nil {
		v.Status, v.Report, v.Attempt = d.record.Status, d.record.Report, d.record.Attempt
	}
	if f.Job != nil && (f.Record == nil || d.state.Attempt == d.record.Attempt) {
		v.Report, v.Attempt, v.Job, v.Stage = d.state.Report, d.state.Attempt, d.state.Status, d.state.Stage
	}
	for _, s := range d.steps {
		v.Steps = append(v.Steps, s.public())
		v.add(s.answer)
	}
	k := d.known()
	a := k.answer(jobRules)
	if v.Kind, v.Summary = a.kind, a.says; v.Kind == "" {
		v.Kind = d.worst.kind
	}
	v.add(a)
	k.kind = v.Kind
	for _, alternatives := range notes {
		a := k.answer(alternatives)
		if a.says != "" {
			a.more = []string{a.says}
		}
		v.add(a)
	}
	if f.RecordErr != nil && f.RedisErr == nil {
		if v.Summary != "" {
			v.Details = slices.Insert(v.Details, 0, "According to Redis: "+v.Summary)
		}
		v.Kind, v.Summary = KindRecordsAway, fmt.Sprintf("The records' database does not answer: %v.", f.RecordErr)
	}
	slices.SortStableFunc(v.Upcoming, func(a, b Upcoming) int { return a.At.Compare(b.At) })
	v.Commands = f.commands(v)
	return v
}

// hasDelayed reports whether fanfold delay run makes the id, or a step of it, due now.
func (f *facts) hasDelayed() bool {
	return len(f.Delayed) > 0 && (f.Job == nil || !f.Job.NeedsDefinition() || f.definition() != nil)
}

// known has what rules of the job can name.
func (d *diagnosis) known() *known {
	return &known{scopes: []scope{subject[*diagnosis]{d, &ofJob}, subject[*facts]{d.facts, &ofBoth}}}
}

// add adds the details, remedies and time of an answer.
func (v *Verdict) add(a answer) {
	v.Details = append(v.Details, a.more...)
	for _, text := range a.do {
		if text != "" && !slices.Contains(v.Remedies, text) {
			v.Remedies = append(v.Remedies, text)
		}
	}
	if !a.at.IsZero() {
		v.Upcoming = append(v.Upcoming, Upcoming{a.at, a.then})
	}
}

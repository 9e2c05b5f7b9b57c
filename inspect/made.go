package inspect

import (
	"cmp"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
)

// addHistory adds what the job of a record did. Redis does not know it any more.
func (v *Job) addHistory(h engine.History) {
	v.Listeners, v.FanIn = nil, nil
	for _, p := range h.Steps {
		one := Listener{
			Name: p.Name, Stage: p.Stage, State: p.State, Rows: p.Rows, Tries: p.Tries, Owner: p.Owner, Parts: p.Parts,
			Reused: p.Reused, AsOf: p.AsOf, Began: p.Began, Ended: p.Ended, Why: p.Error,
		}
		if v.Stage = one.Stage; p.Name == job.StepFanIn {
			v.FanIn = &one
		} else {
			v.Listeners = append(v.Listeners, one)
		}
	}
	v.Error, v.Definition = cmp.Or(v.Error, h.Reason), cmp.Or(v.Definition, h.Definition)
	if !h.Started.IsZero() {
		took := max(0, h.Ended.Sub(h.Started).Milliseconds())
		v.Started, v.Duration = &h.Started, &took
	}
}

// AddManifest adds what the job of a record did from the manifest of its file, if its history is not kept. The manifest
// of another attempt, or of the job whose file the record shares, changes nothing.
func (v *Job) AddManifest(m sink.Manifest) {
	if v.FanIn != nil || m.Job.Record != v.ID || m.Job.Attempt != v.Attempt {
		return
	}
	h := engine.History{Started: m.Job.StartedAt, Ended: m.CreatedAt}
	var stage int64
	var done time.Time
	for _, l := range m.Listeners {
		began := l.DoneAt.Add(-time.Duration(l.DurationMS) * time.Millisecond)
		one := engine.Past{
			Name: l.Name, Stage: int64(l.Stage), State: "done", Rows: l.Rows, Tries: l.Tries, Parts: l.Parts,
			Reused: l.ReusedFrom, Began: &began, Ended: &l.DoneAt, Error: l.Error,
		}
		switch {
		case l.Omitted != "":
			one.State = "omitted"
		case l.Stale:
			one.AsOf = &l.AsOf
		}
		if l.DoneAt.After(done) {
			done = l.DoneAt
		}
		h.Steps, stage = append(h.Steps, one), one.Stage
	}
	h.Steps = append(h.Steps, engine.Past{Name: job.StepFanIn, Stage: stage, State: "done", Tries: 1,
		Began: &done, Ended: &m.CreatedAt})
	v.addHistory(h)
}

package inspect

import (
	"time"

	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
)

// AddManifest adds what the job of a record did, from the manifest of its file. Redis does not know it any more. The
// manifest of another attempt, or of the job whose file the record shares, changes nothing.
func (v *Job) AddManifest(m sink.Manifest) {
	if m.Job.Record != v.ID || m.Job.Attempt != v.Attempt {
		return
	}
	v.Listeners = nil
	var done time.Time
	for _, l := range m.Listeners {
		began := l.DoneAt.Add(-time.Duration(l.DurationMS) * time.Millisecond)
		one := Listener{
			Name: l.Name, Stage: int64(l.Stage), State: "done", Rows: l.Rows, Tries: l.Tries, Parts: l.Parts,
			Reused: l.ReusedFrom, Began: &began, Ended: &l.DoneAt, Why: l.Error,
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
		v.Listeners, v.Stage = append(v.Listeners, one), one.Stage
	}
	v.FanIn = &Listener{Name: job.StepFanIn, Stage: v.Stage, State: "done", Tries: 1, Began: &done, Ended: &m.CreatedAt}
	if at := m.Job.StartedAt; !at.IsZero() {
		took := m.CreatedAt.Sub(at).Milliseconds()
		v.Started, v.Duration = &at, &took
	}
}

package dashboard

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// span is a part of a step: its class, and its place on the axis in percent.
type span struct {
	Class    string
	From, To float64
}

func spansOf(t *timeline) map[string][]span {
	all := map[string][]span{}
	for _, s := range t.Steps {
		all[s.Name] = nil
		for _, p := range s.Parts {
			from := (p.X - timeLabels) / timeWidth * 100
			all[s.Name] = append(all[s.Name], span{p.Class, from, from + p.Width/timeWidth*100})
		}
	}
	return all
}

// TestTimelineOfARunningJob: all steps have one scale, from the insertion of the record until now.
func TestTimelineOfARunningJob(t *testing.T) {
	t.Parallel()
	now := time.Now()
	at := func(ago int) *time.Time { a := now.Add(-time.Duration(ago) * time.Second); return &a }
	v := inspect.Job{Status: report.Processing, Created: at(100), Started: at(90), Stage: 2, Listeners: []inspect.Listener{
		{Name: "quick", Stage: 1, State: "done", Began: at(85), Ended: at(80)},
		{Name: "slow", Stage: 1, State: "done", Began: at(90), Ended: at(40)},
		{Name: "older", Stage: 1, State: "done", Began: at(60), Ended: at(50), AsOf: at(5000), Why: "away"},
		{Name: "left out", Stage: 1, State: "omitted", Began: at(70), Ended: at(70)},
		{Name: "reused", Stage: 1, State: "done", Reused: 1, Began: at(1000), Ended: at(990)},
		{Name: "runs", Stage: 2, State: "running", Began: at(30)},
		{Name: "comes", Stage: 2, State: "waiting", Next: at(-60)},
		{Name: "open", Stage: 2, State: "waiting"},
		{Name: "polls", Stage: 2, State: "waiting", Next: at(-60), Waits: true},
		{Name: "not yet", Stage: 3, State: "waiting"},
	}}
	want := map[string][]span{
		"queue":    {{"wait", 0, 10}},
		"quick":    {{"wait", 10, 15}, {"done", 15, 20}},
		"slow":     {{"done", 10, 60}},
		"older":    {{"wait", 10, 40}, {"failed", 40, 50}},
		"left out": {{"failed", 10, 30}},
		"reused":   nil,
		"runs":     {{"wait", 60, 70}, {"work", 70, 100}},
		"comes":    {{"retry", 60, 100}},
		"open":     {{"wait", 60, 100}},
		"polls":    {{"wait", 60, 100}},
	}
	got := newTimeline(v, now)
	if diff := cmp.Diff(want, spansOf(got), cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Error(diff)
	}
	for name := range want {
		if got.When(name) == "" {
			t.Errorf("%s: nothing is said", name)
		}
	}
	if len(got.Marks) != 1 || got.Marks[0].Class != "stage" || len(got.Ticks) != 7 || got.Ticks[1].Text != "15s" {
		t.Errorf("%+v %+v", got.Marks, got.Ticks)
	}
	if newTimeline(inspect.Job{Created: at(1)}, now) != nil {
		t.Error("a timeline of a job that has not started")
	}
}

// TestTimelineOfAFile: a job that has ended is drawn from the manifest of its file, and ends with that.
func TestTimelineOfAFile(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	after := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	m := sink.Manifest{
		Job: sink.ManifestJob{Record: "1", Attempt: 2, StartedAt: began}, CreatedAt: after(10),
		Listeners: []sink.ManifestListener{
			{Name: "a", Stage: 1, DoneAt: after(4), DurationMS: 3000, Rows: 7, Tries: 1},
			{Name: "b", Stage: 2, DoneAt: after(8), DurationMS: 4000, Stale: true, AsOf: after(-100), Error: "away"},
		},
	}
	v := inspect.Job{ID: "1", Attempt: 2, Status: report.Partial}
	v.AddManifest(m)
	want := map[string][]span{
		"a": {{"wait", 0, 10}, {"done", 10, 40}}, "b": {{"failed", 40, 80}}, "file": {{"done", 80, 100}},
	}
	if diff := cmp.Diff(want, spansOf(newTimeline(v, after(9999))), cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Error(diff)
	}
	if *v.Duration != 10_000 || v.Listeners[0].Rows != 7 || v.Listeners[1].AsOf == nil {
		t.Errorf("%+v", v)
	}
	for name, other := range map[string]inspect.Job{"another attempt": {ID: "1", Attempt: 3}, "another record": {ID: "2", Attempt: 2}} {
		if other.AddManifest(m); other.Listeners != nil {
			t.Errorf("the manifest of %s is used", name)
		}
	}
}

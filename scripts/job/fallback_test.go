package job

import (
	"testing"
	"time"

	"github.com/fanfold/fanfold/report"
)

// TestUsable: a listener falls back only to a dataset of its own definition and of the same parameters, which is no
// older than it may be and has every column that the job needs.
func TestUsable(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_000)
	definition := func(max time.Duration, own string) *report.Report {
		return &report.Report{Name: "r", Stages: []report.Stage{{Listeners: []report.Listener{
			{Name: "a", Own: own, Columns: []string{"k", "v"}, OnFailure: report.OnFailure{Stale: max}},
		}}}}
	}
	r := definition(time.Hour, "q")
	left := func(change func(s *State, a *TaskState)) *State {
		s := &State{Report: "r", Parameters: []byte("{}"), Keep: KeepOf(r)}
		a := TaskState{Done: true, DoneAt: at.Add(time.Second), Took: time.Second, KeptUntil: at.Add(time.Hour),
			Columns: []byte(`[{"name":"k"},{"name":"v"}]`)}
		change(s, &a)
		s.Tasks = map[string]TaskState{"a": a}
		return s
	}
	none := func(*State, *TaskState) {}
	for name, c := range map[string]struct {
		of     *report.Report
		change func(s *State, a *TaskState)
		stored map[string][]string
		after  time.Duration
		want   bool
	}{
		"the same":                 {r, none, nil, time.Hour - 1, true},
		"expired":                  {r, none, nil, time.Hour, false},
		"older than it is now":     {definition(time.Minute, "q"), none, nil, time.Minute + 1, false},
		"another query":            {definition(time.Hour, "p"), none, nil, 0, false},
		"of another report":        {r, func(s *State, _ *TaskState) { s.Report = "x" }, nil, 0, false},
		"of other parameters":      {r, func(s *State, _ *TaskState) { s.Parameters = []byte(`{"a":1}`) }, nil, 0, false},
		"not done":                 {r, func(_ *State, a *TaskState) { a.Done = false }, nil, 0, false},
		"older than its job":       {r, func(_ *State, a *TaskState) { a.StaleAt = at.Add(-2 * time.Hour) }, nil, 0, false},
		"without an unused column": {r, func(_ *State, a *TaskState) { a.Columns = []byte(`[{"name":"k"}]`) }, map[string][]string{"a": {"k"}}, 0, true},
		"without a column":         {r, func(_ *State, a *TaskState) { a.Columns = []byte(`[{"name":"k"}]`) }, nil, 0, false},
	} {
		l, _, _ := c.of.Listener("a")
		if got := Usable(c.of, l, c.stored, left(c.change), []byte("{}"), at.Add(c.after)); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if text := KeepOf(r).String(); ParseKeep(text).String() != text || ParseKeep(text).Stale["a"] != time.Hour || KeepOf(r).After("FAILED") ||
		!KeepOf(r).Good("PARTIAL") || KeepOf(r).Good("FAILED") || KeepOf(definition(0, "q")).String() != "" {
		t.Errorf("%q", text)
	}
}

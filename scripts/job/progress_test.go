package job

import (
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1763773822000)
	running := func(rows int64, since time.Duration) TaskState {
		return TaskState{StepState: StepState{Tries: 1}, Owner: "w", Taken: now.Add(-since), Rows: rows}
	}
	three := func(tasks ...TaskState) map[string]TaskState {
		all := map[string]TaskState{}
		for i, name := range []string{"plt_fund.vs_withdraw", "plt_user.tags", "other.tags"} {
			if i < len(tasks) {
				all[name] = tasks[i]
			}
		}
		return all
	}
	names := []string{"plt_fund.vs_withdraw", "plt_user.tags", "other.tags"}
	done := TaskState{Done: true}
	for want, c := range map[string]struct {
		state State
		left  time.Duration
	}{
		"2/3 · vs_withdraw 41,000 rows in 31 s · about 12 s left": {State{Status: StatusRun, Done: 2, Target: 3, Tasks: three(running(41000, 31*time.Second), done, done)}, 12 * time.Second},
		"0/3 · vs_withdraw runs for 4 s, plt_user.tags, other.tags again in 2 min": {State{
			Status: StatusRun, Target: 3, Tasks: three(running(0, 4*time.Second), TaskState{}, TaskState{StepState: StepState{Next: now.Add(2 * time.Minute)}}),
		}, 0},
		"3/3 · the file is being made · about 1 s left":         {State{Status: StatusReady, Done: 3, Target: 3}, time.Millisecond},
		"3/3 · the file again in 5 s":                           {State{Status: StatusFold, Done: 3, Target: 3, Fold: StepState{Next: now.Add(5 * time.Second)}}, 0},
		"3/3 · the file is being published":                     {State{Status: StatusPublishing, Done: 3, Target: 3}, 0},
		"0/3 · the file is being published · longer than usual": {State{Status: StatusPublishing, Target: 3}, -1},
		"the job ends without a file":                           {State{Status: StatusFailing, Done: 1, Target: 3}, time.Second},
	} {
		c.state.Listeners = names
		if got := c.state.Progress(now, c.left); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	many := State{Status: StatusRun, Target: 5, Listeners: []string{"a", "b", "c", "d", "e"}, Tasks: map[string]TaskState{}}
	if got, want := many.Progress(now, 0), "0/5 · a, b, c, 2 more"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "1 s", 12400 * time.Millisecond: "12 s", 89 * time.Second: "89 s", 3*time.Minute + 29*time.Second: "3 min", 2 * time.Hour: "2 h", 125 * time.Minute: "2 h 5 min",
	} {
		if got := Span(d); got != want {
			t.Errorf("%s: %q, not %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 41_000: "41,000", 1_234_567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		if got := Grouped(n); got != want {
			t.Errorf("%d: %q, not %q", n, got, want)
		}
	}
}

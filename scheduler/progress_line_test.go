package scheduler

import (
	"testing"
	"time"

	"github.com/fanfold/fanfold/scripts/job"
)

func TestProgressLine(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1763773822000)
	running := func(rows int64, since time.Duration) job.TaskState {
		return job.TaskState{StepState: job.StepState{Tries: 1}, Owner: "w", Taken: now.Add(-since), Rows: rows}
	}
	three := func(tasks ...job.TaskState) map[string]job.TaskState {
		all := map[string]job.TaskState{}
		for i, name := range []string{"plt_fund.vs_withdraw", "plt_user.tags", "other.tags"} {
			if i < len(tasks) {
				all[name] = tasks[i]
			}
		}
		return all
	}
	names := []string{"plt_fund.vs_withdraw", "plt_user.tags", "other.tags"}
	done := job.TaskState{Done: true}
	for want, c := range map[string]struct {
		state job.State
		left  time.Duration
	}{
		"2/3 · vs_withdraw 41,000 rows in 31s · about 12s left": {job.State{Status: job.StatusRun, Done: 2, Target: 3, Tasks: three(running(41000, 31*time.Second), done, done)}, 12 * time.Second},
		"0/3 · vs_withdraw runs for 4s, plt_user.tags, other.tags again in 2m": {job.State{
			Status: job.StatusRun, Target: 3, Tasks: three(running(0, 4*time.Second), job.TaskState{}, job.TaskState{StepState: job.StepState{Next: now.Add(2 * time.Minute)}}),
		}, 0},
		"3/3 · the file is being made · about 1s left":          {job.State{Status: job.StatusReady, Done: 3, Target: 3}, time.Millisecond},
		"3/3 · the file again in 5s":                            {job.State{Status: job.StatusFold, Done: 3, Target: 3, Fold: job.StepState{Next: now.Add(5 * time.Second)}}, 0},
		"3/3 · the file is being published":                     {job.State{Status: job.StatusPublishing, Done: 3, Target: 3}, 0},
		"0/3 · the file is being published · longer than usual": {job.State{Status: job.StatusPublishing, Target: 3}, -1},
		"the job ends without a file":                           {job.State{Status: job.StatusFailing, Done: 1, Target: 3}, time.Second},
	} {
		c.state.Listeners = names
		if got := progressLine(&c.state, now, c.left); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	many := job.State{Status: job.StatusRun, Target: 5, Listeners: []string{"a", "b", "c", "d", "e"}, Tasks: map[string]job.TaskState{}}
	if got, want := progressLine(&many, now, 0), "0/5 · a, b, c, 2 more"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

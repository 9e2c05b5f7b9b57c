package command

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestStatusRows: an ended job has no stage, a listener that never ran has no try, and fan-in says
// why it waits.
func TestStatusRows(t *testing.T) {
	t.Parallel()
	next, over := time.Now().Add(time.Minute), time.Now().Add(-time.Minute)
	at := func(seconds int) *time.Time {
		at := over.Add(time.Duration(seconds) * time.Second)
		return &at
	}
	for want, v := range map[string]inspect.Job{
		"job=FAILED; a=failed, try 1; b=stopped": {Status: report.Failed, Job: string(report.Failed), Listeners: []inspect.Listener{
			{Name: "a", State: "failed", Tries: 1}, {Name: "b", State: "stopped"},
		}},
		"job=FOLD, stage 2; a=done, 5 rows, try 1; fan-in=waiting, try 2, next at " + words.Stamp(next) + ": sink: 503": {
			Status: report.Processing, Job: job.StatusFold, Stage: 2, Listeners: []inspect.Listener{{Name: "a", State: "done", Rows: 5, Tries: 1}},
			FanIn: &inspect.Listener{Name: "@fanin", State: "waiting", Tries: 2, Next: &next, Why: "sink: 503"},
		},
		"job=RUN, stage 1; a=waiting, 0 rows, try 2": {
			Status: report.Processing, Job: job.StatusRun, Stage: 1,
			Listeners: []inspect.Listener{{Name: "a", State: "waiting", Tries: 2, Next: &over}},
		},
		"created=" + words.Stamp(*at(0)) + "; started=" + words.Stamp(*at(20)) + "; queue=waited 20s; " +
			"a=done, 5 rows, try 3, waited 10s, took 5s; b=done, 1 row, try 1, waited 1s, took 1s; fan-in=done, waited 2s, took 3s": {
			Status: report.Success, Attempt: 1, Created: at(0), Started: at(20), Stage: 2, Listeners: []inspect.Listener{
				{Name: "a", Stage: 1, State: "done", Rows: 5, Tries: 3, Began: at(30), Ended: at(35)},
				{Name: "b", Stage: 2, State: "done", Rows: 1, Tries: 1, Began: at(36), Ended: at(37)},
			},
			FanIn: &inspect.Listener{State: "done", Began: at(39), Ended: at(42)},
		},
	} {
		var got []string
		for _, row := range jobRows(v)[4:] {
			got = append(got, fmt.Sprintf("%v=%v", row[0], row[1]))
		}
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("%s\nwant %s", text, want)
		}
	}
}

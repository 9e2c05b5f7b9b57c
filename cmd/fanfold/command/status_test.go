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
	next := time.Now().Add(time.Minute)
	for want, v := range map[string]inspect.Job{
		"job=FAILED; a=failed, try 1; b=stopped": {Status: report.Failed, Job: string(report.Failed), Listeners: []inspect.Listener{
			{Name: "a", State: "failed", Tries: 1}, {Name: "b", State: "stopped"},
		}},
		"job=FOLD, stage 2; a=done, 5 rows, try 1; fan-in=waiting, try 2, next at " + words.Stamp(next) + ": sink: 503": {
			Status: report.Processing, Job: job.StatusFold, Stage: 2, Listeners: []inspect.Listener{{Name: "a", State: "done", Rows: 5, Tries: 1}},
			FanIn: &inspect.Listener{Name: "@fanin", State: "waiting", Tries: 2, Next: &next, Why: "sink: 503"},
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

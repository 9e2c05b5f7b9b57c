package inspect

import (
	"testing"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestWhereDataLies: in Redis, or in the segments that a ticket lists.
func TestWhereDataLies(t *testing.T) {
	t.Parallel()
	const ticket = "gs://b/r/1-1-k7m2qx=a=0-w1= 38,380000,8388112,1a2b3c4d 12,118000,2388112,0a2b3c4d"
	for _, c := range []struct {
		of    job.TaskState
		bytes int64
		spool string
		where string
	}{
		{job.TaskState{}, 0, "", ""},
		{job.TaskState{Bytes: 700}, 700, "", "700 B in Redis"},
		{job.TaskState{At: ticket}, 10776224, "gs://b/r/1-1-k7m2qx=a=0-w1=", "10.3 MB in the spool"},
		{job.TaskState{At: "x= 1,2"}, 0, "", ""},
		{job.TaskState{Parts: 8}, 0, "", "0 of 8 parts"},
		{job.TaskState{Parts: 8, PartsRead: 3, PartsBytes: 2 << 20}, 2 << 20, "", "3 of 8 parts, 2.0 MB in the spool"},
		{job.TaskState{Parts: 8, Done: true, At: ticket}, 10776224, "gs://b/r/1-1-k7m2qx=a=0-w1=", "10.3 MB in the spool"},
	} {
		var l Listener
		if l.is(Part{"a", c.of}); l.Bytes != c.bytes || l.Spool != c.spool || l.Where() != c.where {
			t.Errorf("%+v: %d %s %q", c.of, l.Bytes, l.Spool, l.Where())
		}
	}
	if got := (Job{Bytes: 700, Spooled: 3 << 30}).Where(); got != "700 B in Redis, 3.0 GB in the spool" {
		t.Error(got)
	}
}

// TestAListenerWhoseQueryWaits in its process does not run, unless it has rows and pauses between parts.
func TestAListenerWhoseQueryWaits(t *testing.T) {
	t.Parallel()
	for pause, of := range map[string]map[int64]string{"": {0: "running"}, "db is busy": {0: "waiting", 7: "running"}} {
		for rows, want := range of {
			var l Listener
			if l.is(Part{"a", job.TaskState{Owner: "w", Rows: rows, Pause: pause}}); l.State != want || l.Why != pause {
				t.Errorf("%d rows, %q: %+v", rows, pause, l)
			}
		}
	}
}

// TestTriesOfAListenerThatFailed: the process that gives it up, because its workers fell silent, is no try.
func TestTriesOfAListenerThatFailed(t *testing.T) {
	t.Parallel()
	r := &report.Report{Name: "r", Stages: []report.Stage{{Listeners: []report.Listener{{
		Name: "a", Retry: report.Retry{Retries: 2}}}}}}
	for tries, want := range map[int64]int64{0: 1, 1: 1, 3: 3, 4: 3} {
		state := &job.State{Report: "r", Definition: r.Hash(), Status: job.StatusFailing,
			Reason: job.ReasonOf("a", "given up after 3 tries: worker w fell silent")}
		steps := []Part{{"a", job.TaskState{StepState: job.StepState{Tries: tries}}}}
		got := (&State{State: state, Steps: steps}).listeners(r)
		if len(got) != 1 || got[0].State != "failed" || got[0].Tries != want {
			t.Errorf("%d: %+v", tries, got)
		}
	}
}

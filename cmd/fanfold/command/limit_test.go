package command

import (
	"testing"

	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/report"
)

// TestRunningJobsOfAReport: at most as many jobs of a report run as its field running says, in all
// processes; the others wait for them, and jobs of other reports pass.
func TestRunningJobsOfAReport(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  two:
    running: 2
    listeners: {one: {database: db, query: "SELECT id AS k FROM {schema}.held"}}
  other:
    listeners: {other: {database: db, query: "SELECT 1 AS k"}}
`, "limits: {lease: 2s}")
	s.Records.Exec("CREATE TABLE held (id INT PRIMARY KEY)")
	s.Records.Exec("INSERT INTO held VALUES (1)")
	release := hold(s.Stack)
	var ids []string
	for range 8 {
		ids = append(ids, s.Records.Insert("two", ""))
	}
	s.Jobs.Push(ids...)
	s.Serve(s.File)
	s.Serve(s.File)
	keys := s.Partitions.First().Keys
	queued := func(want int64) func() bool {
		return func() bool { return s.Redis.ZCard(t.Context(), keys.Waiting("two")).Val() == want }
	}
	s.Eventually("six of them wait", queued(6))
	if v := s.Jobs.Run("other", ""); v.Status != report.Success {
		t.Errorf("%+v", v)
	}
	var running, waiting []string
	for _, id := range ids {
		if s.Redis.Exists(t.Context(), keys.Job(id)).Val() == 1 {
			running = append(running, id)
		} else {
			waiting = append(waiting, id)
		}
	}
	if len(running) != 2 {
		t.Fatalf("%v run", running)
	}
	s.because(waiting[0], why.KindNoRoom, "at most 2 of them run at once")
	s.must("cancel "+running[0], "cancelled")
	s.must("cancel "+waiting[0], "cancelled")
	s.Eventually("another one starts", queued(5))
	release()
	for _, v := range s.Jobs.Wait(append(waiting[1:], running[1])...) {
		if v.Status != report.Success || v.Attempt != 1 {
			t.Errorf("%+v", v)
		}
	}
	s.Jobs.Idle()
	now, most := 0, 0
	for _, m := range s.Redis.XRange(t.Context(), keys.Events, "-", "+").Val() {
		switch {
		case m.Values["event"] == "started" && m.Values["report"] == "two":
			now++
		case m.Values["event"] == "finished" && m.Values["report"] == "two" && m.Values["attempt"] != "0":
			now--
		}
		most = max(most, now)
	}
	if most != 2 {
		t.Errorf("%d ran at once", most)
	}
}

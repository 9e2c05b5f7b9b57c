package command

import (
	"fmt"
	"regexp"
	"strings"
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

// TestLimitsWhileProcessesRun: a source and a report without a limit get one, another one, and none again, and what waits
// for it says so.
func TestLimitsWhileProcessesRun(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  two:
    listeners: {one: {database: db, query: "SELECT id AS k FROM {schema}.held"}}
  nine:
    running: 9
    listeners: {other: {database: db, query: "SELECT 1 AS k"}}
`, "limits: {lease: 2s}")
	s.Records.Exec("CREATE TABLE held (id INT PRIMARY KEY)")
	s.Records.Exec("INSERT INTO held VALUES (1)")
	release := hold(s.Stack)
	s.must("limit report two 3 --for 1h --reason busy", "no limit")
	s.must("limit report nine 4 -o json", `"configured": 9`)
	s.must("limit source db 1", "source/db")
	s.must("limit ls", "report/two")
	if out, _ := s.fanfold("doctor"); !strings.Contains(out, "report two has been limited to 3 since ") {
		t.Error(out)
	}
	s.Serve(s.File)
	s.Serve(s.File)
	var ids []string
	for range 6 {
		ids = append(ids, s.Records.Insert("two", ""))
	}
	s.Jobs.Push(ids...)
	keys := s.Partitions.First().Keys
	wait := func(waiting, running int64) {
		t.Helper()
		s.Eventually(fmt.Sprintf("%d run and %d wait", running, waiting), func() bool {
			return s.Redis.ZCard(t.Context(), keys.Waiting("two")).Val() == waiting &&
				s.Redis.ZCard(t.Context(), keys.Deadlines).Val() == running
		})
	}
	slots := func(n int64) {
		t.Helper()
		s.Eventually(fmt.Sprintf("%d have a slot", n), func() bool { return s.Redis.ZCard(t.Context(), keys.Slots("db")).Val() == n })
	}
	wait(3, 3)
	slots(1)
	waiting := s.Redis.ZRange(t.Context(), keys.Waiting("two"), 0, 0).Val()[0]
	s.because(waiting, why.KindNoRoom, "at most 3 of them run at once")
	s.must("why "+waiting, "fanfold limit report two reset: the limit was set ")
	holder := strings.Split(s.Redis.ZRange(t.Context(), keys.Slots("db"), 0, 0).Val()[0], "/")[0]
	s.Eventually("the others say who has waited longer", func() bool {
		said := ""
		for _, id := range ids {
			out, _ := s.fanfold("why", id)
			said += out
		}
		const headline = `(?m)^It waits .*; `
		return len(regexp.MustCompile(headline+"no task has waited longer$").FindAllString(said, -1)) == 1 &&
			len(regexp.MustCompile(headline+"1 task came before it$").FindAllString(said, -1)) == 1
	})
	for _, id := range ids {
		if id != holder && s.Redis.Exists(t.Context(), keys.Job(id)).Val() == 1 {
			s.because(id, why.KindNoSlot, "all 1 that fanfold limit allows are taken, by job "+holder)
			s.Eventually("top says that it waits", func() bool {
				out, _ := s.fanfold("top", "--once")
				return regexp.MustCompile(`(?m)^ *`+id+` .* WAIT `).MatchString(out) && !regexp.MustCompile(`(?m)^ *`+holder+` .* WAIT `).MatchString(out)
			})
		}
	}
	s.must("pause source db --for 1h --reason calmer", "source/db")
	s.must("why "+waiting, "3 of the 3 running jobs still need database db, which has been paused since ")
	s.must("why "+waiting, "fanfold resume source db")
	s.must("pause source db --reason ticket -o json", `"until": "`) // which stays
	s.must("pause ls", "ticket")
	for _, id := range ids {
		if id != holder && s.Redis.Exists(t.Context(), keys.Job(id)).Val() == 1 {
			s.because(id, why.KindPaused, "database db has been paused since ")
		}
	}
	s.must("resume source db", "source/db")
	s.must("limit report two 5 --reason calmer", "calmer")
	wait(1, 5)
	s.must("limit source db 2", "source/db")
	slots(2)
	s.must("limit report two reset", "true")
	wait(0, 6)
	s.must("limit source db reset", "true")
	release()
	for _, v := range s.Jobs.Wait(ids...) {
		if v.Status != report.Success || v.Attempt != 1 {
			t.Errorf("%+v", v)
		}
	}
	s.must("limit report two reset", "false")
	s.Jobs.Idle()
	for _, command := range []string{"limit source none 1", "limit report two 0", "limit report two 10001", "limit source db x", "limit source db 1 --until 9999-01-02T03:04:05Z",
		"limit source db 1 --for 1h --until 2999-01-02T03:04:05Z"} {
		if out, code := s.fanfold(strings.Fields(command)...); code != exitUsage {
			t.Errorf("%s: %d %s", command, code, out)
		}
	}
}

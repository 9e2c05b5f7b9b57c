package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/report"
)

// laned is a report of tenants whose jobs wait while the table held is locked.
const laned = `
  two:
    class: bulk
    newest_only: true
    parameters: {tenant: string}
    listeners: {one: {database: db, query: "SELECT id AS k, :tenant AS t FROM {schema}.held"}}
  quick:
    parameters: {tenant: string}
    listeners: {quick: {database: db, query: "SELECT :tenant AS k"}}
`

// lanedLimits are its lanes.
const lanedLimits = `
limits: {lease: 2s, recover_after: 1s}
lanes: {by: BY, running: 2, classes: {bulk: {running: 3}}}
`

// newLaned returns a stack with that report, whose lanes have their names from there, and a function that lets its
// jobs end.
func newLaned(t *testing.T, by string) (*stack, func()) {
	s := newStackAlone(t, nil, laned, strings.Replace(lanedLimits, "BY", by, 1))
	s.Records.Exec("CREATE TABLE held (id INT PRIMARY KEY)")
	s.Records.Exec("INSERT INTO held VALUES (1)")
	return s, hold(s.Stack)
}

// TestLanes: a lane and a class have their limits in all processes, other lanes pass, why and top say what waits, a
// newer request replaces one that waits, and all jobs end once.
func TestLanes(t *testing.T) {
	t.Parallel()
	s, release := newLaned(t, "tenant")
	var acme, other []string
	for range 8 {
		acme = append(acme, s.Records.Insert("two", `{"tenant": "acme"}`))
	}
	s.Jobs.Push(acme...)
	keys := s.Partitions.First().Keys
	size := func(key string, want int64) func() bool {
		return func() bool { return s.Redis.ZCard(t.Context(), key).Val() == want }
	}
	s.Serve(s.File) // one process reads them in their order
	s.Eventually("six of them wait", size(keys.ClassWaiting("bulk"), 6))
	s.Serve(s.File)
	for range 3 {
		other = append(other, s.Records.Insert("two", `{"tenant": "other one"}`))
	}
	s.Jobs.Push(other...)
	s.Eventually("one of another lane runs", size(keys.ClassWaiting("bulk"), 8))
	if v := s.Jobs.Run("quick", `{"tenant": "third"}`); v.Status != report.Success {
		t.Errorf("%+v", v)
	}
	s.because(acme[7], why.KindNoRoom, " of 6: 2 of its 2 jobs run.")
	entries, err := s.Partitions.First().Lanes.Entries(t.Context(), other...)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range other { // two processes read them, so any of them may have started
		if entries[id].Waits {
			s.because(id, why.KindNoRoom, " of 2: 3 of the 3 jobs of class bulk run.")
		}
	}
	s.must("top --once", "acme")
	s.must("status "+acme[7], " in lane acme of class bulk; 2 of the lane run")
	if v, err := s.Inspect.Jobs.Get(t.Context(), acme[7]); err != nil || v.Turn == nil || v.Turn.Lane != "acme" || v.Turn.Queue != 6 {
		t.Errorf("%+v %v", v.Turn, err)
	}
	// A person's newer request replaces the one that waits.
	s.Records.Exec("UPDATE file_download_record SET owner = 'p' WHERE id = " + acme[7])
	s.Jobs.Push(acme[7])
	older := s.Records.Insert("two", `{"tenant": "acme"}`)
	newer := s.Records.Insert("two", `{"tenant": "acme"}`)
	s.Records.Exec("UPDATE file_download_record SET owner = 'p' WHERE id IN (" + older + ", " + newer + ")")
	s.Jobs.Push(older)
	s.Eventually("the older one waits", size(keys.ClassWaiting("bulk"), 9))
	s.Jobs.Push(newer)
	if v := s.Jobs.Wait(older)[0]; v.Status != report.Cancelled || !strings.Contains(v.Error, "newer request") {
		t.Errorf("%+v", v)
	}
	s.must("cancel "+acme[6], "cancelled")
	s.must("cancel "+acme[0], "cancelled")
	release()
	for _, v := range s.Jobs.Wait(append(append(acme[1:6], acme[7], newer), other...)...) {
		if v.Status != report.Success || v.Attempt != 1 {
			t.Errorf("%+v", v)
		}
	}
	s.Jobs.Idle()
	s.Eventually("nothing is left", func() bool { return len(s.Redis.Keys(t.Context(), keys.Lanes+"*").Val()) == 0 })
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
	if most != 3 {
		t.Errorf("%d ran at once", most)
	}
}

// TestLanesSurvive: processes die, and Redis loses everything, while ids wait in lanes.
func TestLanesSurvive(t *testing.T) {
	t.Parallel()
	s, release := newLaned(t, "{column: lane}")
	s.Records.Exec("ALTER TABLE file_download_record ADD lane VARCHAR(20) DEFAULT NULL")
	var ids []string
	for i := range 30 {
		ids = append(ids, s.Records.Insert("two", `{"tenant": "x"}`))
		s.Records.Exec(fmt.Sprintf("UPDATE file_download_record SET lane = 't%d' WHERE id = %s", i%3, ids[i]))
	}
	s.Jobs.Push(ids...)
	stop := s.Serve(s.File)
	keys := s.Partitions.First().Keys
	waits := func() bool { return s.Redis.ZCard(t.Context(), keys.ClassWaiting("bulk")).Val() == 27 }
	s.Eventually("the others wait", waits)
	for _, member := range s.Redis.ZRange(t.Context(), keys.ClassRunning("bulk"), 0, -1).Val() {
		if !strings.HasPrefix(member, "t") {
			t.Errorf("a job of lane %s runs", member)
		}
	}
	s.Redis.FlushAll(t.Context())
	s.Eventually("they wait again", waits)
	stop()
	s.Serve(s.File)
	release()
	for _, v := range s.Jobs.Wait(ids...) {
		if v.Status != report.Success {
			t.Errorf("%+v", v)
		}
	}
	s.Jobs.Idle()
	e2e.Eventually(t, "nothing is left", func() bool {
		return len(s.Redis.Keys(t.Context(), keys.Lanes+"*").Val()) == 0
	})
}

// TestLanesInPartitions: every partition has its share of the limits, and all jobs end.
func TestLanesInPartitions(t *testing.T) {
	t.Parallel()
	const jobs = 40
	s := newStack(t, e2e.Crowd)
	s.File = s.Divided("four.yaml", 4, e2e.Crowd, "limits: {running_jobs: 8}", "lanes: {by: job, running: 4}")
	s.Use(s.File)
	s.Serve(s.File)
	ids := s.crowd.insert(jobs)
	s.Jobs.Push(ids...)
	s.Jobs.Wait(ids...)
	s.Jobs.Idle()
	s.crowd.check(jobs)
	for i, p := range s.Partitions {
		now, most := 0, 0
		for _, e := range s.Redis.XRange(t.Context(), p.Keys.Events, "-", "+").Val() {
			switch e.Values["event"] {
			case "started":
				now++
			case "finished":
				now--
			}
			most = max(most, now)
		}
		if most == 0 || most > 2 {
			t.Errorf("%d jobs ran at once in partition %d", most, i)
		}
	}
}

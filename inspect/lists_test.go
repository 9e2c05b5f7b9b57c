package inspect

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/installation"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestListsReadPages: a list that is longer than a page is whole, in its order, and ends at
// its limit.
func TestListsReadPages(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	const pageSize = 1000
	const n = 2*pageSize + 3
	_, err := b.Redis.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range n {
			p.XAdd(t.Context(), &redis.XAddArgs{Stream: b.Keys().Quarantined, ID: fmt.Sprintf("1-%d", i+1), Values: []string{"reason", "r" + strconv.Itoa(i%2), "fields", "id=" + strconv.Itoa(i), "stream", "s"}})
			p.ZAdd(t.Context(), b.Keys().Delayed, redis.Z{Score: installation.In(time.Duration(i) * time.Minute), Member: strconv.Itoa(i)})
		}
		return nil
	})
	b.OK(err)
	for limit, want := range map[int]int{0: n, 5: 5, pageSize: pageSize, pageSize + 1: pageSize + 1} {
		q, err := b.in.Quarantine.List(t.Context(), func(Quarantined) bool { return true }, limit)
		b.OK(err)
		if len(q) != want || q[0].Entry != fmt.Sprintf("1-%d", n) || q[want-1].Entry != fmt.Sprintf("1-%d", n-want+1) || q[0].Stream != "s" {
			t.Errorf("limit %d: %d entries, the first %+v", limit, len(q), q[0])
		}
		d, err := b.in.Delayed.List(t.Context(), func(Delayed) bool { return true }, limit)
		b.OK(err)
		if len(d) != want || d[0].Member != "0" || d[want-1].Member != strconv.Itoa(want-1) {
			t.Errorf("limit %d: %d members, the last %+v", limit, len(d), d[len(d)-1])
		}
	}
	q, err := b.in.Quarantine.List(t.Context(), func(q Quarantined) bool { return q.Reason == "r1" }, 0)
	if err != nil || len(q) != n/2 {
		t.Errorf("%d %v", len(q), err)
	}
	if q, err := b.in.Quarantine.List(t.Context(), func(Quarantined) bool { return false }, 0); err != nil || q == nil || len(q) != 0 {
		t.Errorf("%v %v", q, err)
	}
	found, whole, err := b.in.Quarantine.Search(t.Context(), "0")
	if err != nil || found == nil || found.Entry != "1-1" || !whole {
		t.Errorf("%+v %v %v", found, whole, err)
	}
	if found, whole, err := b.in.Quarantine.Search(t.Context(), "none"); err != nil || found != nil || !whole {
		t.Errorf("%+v %v %v", found, whole, err)
	}
}

// TestDelayedMembers says what each of them is, and what will never run.
func TestDelayedMembers(t *testing.T) {
	t.Parallel()
	for member, want := range map[string]string{
		"1": "job", "1/2/@trigger": "poll of the record", "1/2/@fanin": "retry of fan-in", "1/2/@record": "retry of the record", "1/2/a.b": "retry of a.b", "1/no": "?",
	} {
		if d := NewDelayed(member, installation.In(time.Minute), time.Now()); d.What != want || (d.Bad != "") != (want == "?") {
			t.Errorf("%s: %+v", member, d)
		}
	}
	for score, want := range map[float64]bool{math.Inf(1): false, math.NaN(): false, 1e15: false, installation.In(20 * 365 * 24 * time.Hour): false, 0: true, float64(time.Now().Unix()): true} {
		d := NewDelayed("1", score, time.Now())
		if (d.Due != nil) != want {
			t.Errorf("%v: %+v", score, d)
		}
		if want && time.Since(*d.Due).Abs() > time.Minute {
			t.Errorf("%v is due %v", score, d.Due)
		}
	}
}

// TestDeadJobs are listed with what their records say now.
func TestDeadJobs(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	failed, pending := b.Insert(), b.Insert()
	if _, err := b.DB.ExecContext(t.Context(), "UPDATE file_download_record SET status = 'FAILED', error = 'no disk' WHERE id = ?", failed); err != nil {
		t.Fatal(err)
	}
	b.Add(b.Keys().Dead, redis.Z{Score: installation.In(-time.Minute), Member: failed}, redis.Z{Score: installation.In(-2 * time.Minute), Member: pending}, redis.Z{Score: installation.In(-3 * time.Minute), Member: "404"}, redis.Z{Score: installation.In(time.Hour), Member: "later"})
	list, err := b.in.Dead.List(t.Context(), func(DeadJob) bool { return true }, 0)
	b.OK(err)
	var got []string
	for _, j := range list {
		got = append(got, j.ID+": "+j.Error+j.Note)
	}
	if want := []string{failed + ": no disk", pending + ": the record is PENDING", "404: the record was deleted"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestTimers tells those that are set from overdue, paused and undefined ones.
func TestTimers(t *testing.T) {
	t.Parallel()
	b := setup(t, `timers: {beep: {key: "beep-{x}", every: 1h, append: {stream: messages, fields: {x: "{x}"}}}}`)
	b.Add(b.Keys().Timers, redis.Z{Score: installation.In(time.Hour), Member: "beep-1"}, redis.Z{Score: installation.In(-time.Minute), Member: "beep-2"}, redis.Z{Score: installation.In(-time.Hour), Member: "boop"}, redis.Z{Score: math.Inf(1), Member: "beep-never"})
	b.Add(b.Keys().PausedTimers, redis.Z{Score: installation.In(-2 * time.Hour), Member: "beep-3"})
	list, err := b.in.Timers.List(t.Context(), func(name string) bool { return strings.HasPrefix(name, "b") }, 10)
	b.OK(err)
	var got []string
	for _, timer := range list {
		got = append(got, timer.Name+": "+timer.State)
	}
	if want := []string{"beep-never: set", "beep-3: paused", "boop: overdue, no definition", "beep-2: overdue", "beep-1: set"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if list[4].Definition != "beep" || list[4].Every == "" || list[0].Due != nil {
		t.Errorf("%+v", list)
	}
	if list, err := b.in.Timers.List(t.Context(), func(string) bool { return true }, 2); err != nil || len(list) != 2 {
		t.Errorf("%v %v", list, err)
	}
}

// TestPauses are listed with how many ids wait for a report.
func TestPauses(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	for _, member := range []string{scripts.PausedReport("two"), scripts.PausedListener("a")} {
		if _, err := b.Scripts.Hold(t.Context(), member, scripts.Hold{}); err != nil {
			t.Fatal(err)
		}
	}
	b.Add(b.Keys().Waiting("two"), redis.Z{Score: 1, Member: "1"}, redis.Z{Score: 2, Member: "2"})
	list, err := b.in.Pauses.List(t.Context())
	if err != nil || len(list) != 2 || list[0].What != "listener/a" || list[1].What != "report/two" || list[1].Waiting != 2 || time.Since(list[0].Since) > time.Minute {
		t.Errorf("%+v %v", list, err)
	}
}

// TestJob is the record alone before the start, and the state of its job after that.
func TestJob(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	ctx, id := t.Context(), b.Insert()
	if _, err := b.in.Jobs.Get(ctx, "404"); err == nil || !strings.Contains(err.Error(), "404 is not in table file_download_record of database db") {
		t.Error(err)
	}
	v, err := b.in.Jobs.Get(ctx, id)
	if err != nil || v.Status != report.Pending || v.Job != "" || v.Listeners != nil || v.Paused != nil {
		t.Errorf("%+v %v", v, err)
	}
	if _, err := b.Scripts.Hold(ctx, scripts.PausedReport("two"), scripts.Hold{}); err != nil {
		t.Fatal(err)
	}
	if v, err := b.in.Jobs.Get(ctx, id); err != nil || !slices.Equal(v.Paused, []string{"report/two"}) {
		t.Errorf("%+v %v", v, err)
	}
	if _, err := b.DB.ExecContext(ctx, "UPDATE file_download_record SET status = 'PROCESSING', attempt = 1 WHERE id = ?", id); err != nil {
		t.Fatal(err)
	}
	two := b.Config.Reports["two"]
	if _, err := b.Scripts.First().Jobs.Start(ctx, "", scripts.Start{ID: id, Attempt: 1, Plan: scripts.Plan{Report: "two", Definition: two.Hash(), Timeout: time.Hour, Listeners: "a,b"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Scripts.Hold(ctx, scripts.PausedListener("b"), scripts.Hold{}); err != nil {
		t.Fatal(err)
	}
	v, err = b.in.Jobs.Get(ctx, id)
	if err != nil || v.Job != job.StatusRun || v.Stage != 1 || v.Deadline == nil || v.Orphan || !slices.Equal(v.Paused, []string{"listener/b"}) {
		t.Errorf("%+v %v", v, err)
	}
	if len(v.Listeners) != 2 || v.Listeners[0].Name != "a" || v.Listeners[1].State != "waiting" || v.Listeners[1].Stage != 1 {
		t.Errorf("%+v", v.Listeners)
	}
}

// TestParts: while a listener is read in parts, its job, and the list of running ones, have the bytes of those that were
// read. Until its segments are listed, only its memo has them.
func TestParts(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	ctx, id := t.Context(), b.Insert()
	b.Exec("UPDATE file_download_record SET status = 'PROCESSING', attempt = 1 WHERE id = ?", id)
	two := b.Config.Reports["two"]
	two.Stages[0].Listeners[0].Divide = &report.Divide{By: "k"}
	if _, err := b.Scripts.First().Jobs.Start(ctx, "", scripts.Start{ID: id, Attempt: 1, Plan: scripts.Plan{Report: "two", Definition: two.Hash(), Timeout: time.Hour, Listeners: "a,b"}}); err != nil {
		t.Fatal(err)
	}
	b.OK(b.Redis.HSet(ctx, b.Keys().Job(id), "spooled", 5, "a:memo", `{"memo":{"by":"k","bounds":[1,2],"rows":7,"bytes":50,"read":["file:///s/x= 1,7,50,0a1b2c3d","-",""]}}`).Err())
	v, err := b.in.Jobs.Get(ctx, id)
	if a := v.Listeners[0]; err != nil || v.Spooled != 55 || a.Rows != 7 || a.Bytes != 50 || a.Parts != 3 || a.Read != 2 {
		t.Errorf("%+v %v", v, err)
	}
	if list, err := b.in.Jobs.Running(ctx, 0); err != nil || len(list) != 1 || list[0].Spooled != 55 {
		t.Errorf("%+v %v", list, err)
	}
	b.OK(b.Redis.HSet(ctx, b.Keys().Job(id), "a:found", "chunks=1").Err())
	if list, err := b.in.Jobs.Running(ctx, 0); err != nil || len(list) != 1 || list[0].Spooled != 5 {
		t.Errorf("%+v %v", list, err)
	}
}

// TestListeners says what becomes of each, by the state of its job alone.
func TestListeners(t *testing.T) {
	t.Parallel()
	two := &report.Report{Name: "r", Stages: []report.Stage{{Listeners: []report.Listener{{Name: "a"}, {Name: "b"}}}}}
	running := func() *State {
		state := &job.State{Report: "r", Definition: two.Hash(), Attempt: 2, Stage: 1, Status: job.StatusRun, Target: 2}
		return &State{State: state, FanIn: Part{Name: job.StepFanIn}}
	}
	next := time.Now().Add(time.Minute)
	j := running()
	waits := func(s job.StepState, what string) job.TaskState {
		s.Next = next
		return job.TaskState{Stage: 1, StepState: s, Waits: what}
	}
	j.Steps = []Part{
		{"a", job.TaskState{Stage: 1, Done: true, Rows: 5}}, {"b", job.TaskState{Stage: 1, Owner: "w", Rows: 2}}, {"c", job.TaskState{Stage: 1, Done: true, Policy: "optional"}},
		{"d", waits(job.StepState{Error: "cut"}, "")}, {"e", waits(job.StepState{Error: "cut"}, "job 5")}, {"f", job.TaskState{Stage: 1}},
	}
	var got []string
	for _, l := range j.listeners(nil) {
		got = append(got, fmt.Sprintf("%s %s %d %q %v", l.Name, l.State, l.Rows, l.Why, l.Waits))
	}
	want := []string{`a done 5 "" false`, `b running 2 "" false`, `c omitted 0 "" false`, `d waiting 0 "cut" false`, `e waiting 0 "job 5" true`, `f waiting 0 "" false`}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	j.Status = job.StatusFailing
	if l := j.listeners(nil); l[1].State != "stopped" || l[0].State != "done" {
		t.Errorf("%+v", l)
	}
	// Those of the report come in its order, with the stages that are still to come.
	if l := running().listeners(two); len(l) != 2 || l[0].Name != "a" || l[1].Stage != 1 {
		t.Errorf("%+v", l)
	}
}

// TestStatusOfWhatFailed names the listener that has failed the job, and shows why fan-in waits.
func TestStatusOfWhatFailed(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	ctx, id := t.Context(), b.Insert()
	if _, err := b.DB.ExecContext(ctx, "UPDATE file_download_record SET status = 'PROCESSING', attempt = 1 WHERE id = ?", id); err != nil {
		t.Fatal(err)
	}
	two := b.Config.Reports["two"]
	if _, err := b.Scripts.First().Jobs.Start(ctx, "", scripts.Start{ID: id, Attempt: 1, Plan: scripts.Plan{Report: "two", Definition: two.Hash(), Timeout: time.Hour, Listeners: "a,b"}}); err != nil {
		t.Fatal(err)
	}
	task, _ := b.Scripts.First().Tasks.New(scripts.Message{ID: id, Attempt: 1}, "a", scripts.Entry{Stream: b.Keys().Task("a")})
	if outcome, err := task.Fail(ctx, "no such table", job.BlameSource); err != nil || outcome != scripts.OK {
		t.Fatal(outcome, err)
	}
	b.OK(b.Redis.HSet(ctx, b.Keys().Job(id), "b:error", "a deadlock", "b:next", time.Now().Add(time.Hour).UnixMilli()).Err())
	v, err := b.in.Jobs.Get(ctx, id)
	b.OK(err)
	var got []string
	for _, l := range v.Listeners {
		if l.Next != nil {
			t.Errorf("%s has a next try", l.Name)
		}
		got = append(got, fmt.Sprint(l.Name, " ", l.State, " ", l.Tries))
	}
	if want := []string{"a failed 1", "b stopped 0"}; !slices.Equal(got, want) || v.FanIn == nil || v.FanIn.State != "waiting" {
		t.Errorf("%q, fan-in %+v", got, v.FanIn)
	}
	// What its end waits for is told, too.
	next := time.Now().Add(time.Minute)
	b.OK(b.Redis.HSet(ctx, b.Keys().Job(id), "@fanin:error", "records are away", "@fanin:next", next.UnixMilli(), "@fanin:tries", 2).Err())
	v, err = b.in.Jobs.Get(ctx, id)
	if b.OK(err); v.FanIn.Why != "records are away" || v.FanIn.Next == nil || v.FanIn.Next.UnixMilli() != next.UnixMilli() || v.FanIn.Tries != 2 {
		t.Errorf("%+v", v.FanIn)
	}
}

// TestTopCountsIDsThatWait: not only those in the stream, but also those that wait because their report is
// paused, or because as many of its jobs run as its field running allows.
func TestTopCountsIDsThatWait(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	ctx, s := t.Context(), b.Scripts.First()
	b.OK(s.Streams.Push(ctx, map[string]string{"id": "1"}))
	b.OK(s.Gate.Park(ctx, "two", "2"))
	b.OK(s.Gate.Queue(ctx, "two", "3", 1))
	top, err := b.in.Top(ctx, []string{"a", "b"}, 10)
	b.OK(err)
	if top.Waiting != 3 {
		t.Errorf("%v ids wait, not 3", top.Waiting)
	}
}

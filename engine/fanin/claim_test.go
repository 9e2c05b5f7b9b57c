package fanin

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/step"
)

// twoStages is a report whose jobs advance.
func twoStages() *report.Report {
	return &report.Report{Name: "r", Stages: []report.Stage{{Listeners: []report.Listener{{Name: "a"}}}, {Listeners: []report.Listener{{Name: "b"}}}}, Retry: report.DefaultRetry}
}

// TestALostClaimIsNotAcknowledged: the worker that has the claim by now has the same entry,
// and would lose it. It is the error that keeps an entry.
func TestALostClaimIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	e := newFanIn(t, engine.Options{Redis: client, Scripts: s, Records: noRecords{}, Consumer: "c"}, noSink{})
	e.definitions["d"] = twoStages()
	of := func(fold *scripts.Fold) *work { return &work{Fold: fold, report: twoStages()} }
	start(t, s, "1", "d", time.Hour, "a")
	complete(t, s, "1", "a", "x")
	entry := delivered(t, client, s.Keys.FanIn, "c")[0]
	lost := claim(t, s, "1", scripts.Claim{Worker: "asleep", Entry: entry})
	held := claim(t, s, "1", scripts.Claim{Worker: "awake", Entry: entry, Redelivered: true})
	entries := func(want int64) {
		t.Helper()
		if n := client.XLen(t.Context(), s.Keys.FanIn).Val(); n != want {
			t.Errorf("%d entries, not %d", n, want)
		}
	}
	w := of(lost)
	if e.bring(t.Context(), []*work{w}, nil, nil); w.result.Kind != step.Elsewhere {
		t.Errorf("advance with a lost claim: %+v", w.result)
	}
	w = of(lost)
	w.end = scripts.End{Status: string(report.Failed), Detail: "x"}
	if e.settle(t.Context(), []*work{w}); w.result.Kind != step.Elsewhere {
		t.Errorf("settle with a lost claim: %+v", w.result)
	}
	entries(1)
	w = of(held)
	if e.bring(t.Context(), []*work{w}, nil, nil); w.result.Kind != step.Done || w.end.Status != "" {
		t.Errorf("advance with the claim: %+v %+v", w.result, w.end)
	}
	entries(0)
	if state, err := s.Jobs.Read(t.Context(), "1"); err != nil || state.Stage != 2 || state.Status != job.StatusRun {
		t.Errorf("%+v %v", state, err)
	}
}

// TestAnEntryOfAPastStageIsAcknowledged: its worker has sent the job into the next stage, and
// the entry was sent again.
func TestAnEntryOfAPastStageIsAcknowledged(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	e := newFanIn(t, engine.Options{
		Redis: client, Scripts: s, Records: noRecords{}, Consumer: "c", Limits: report.Limits{Lease: time.Minute, LargeFiles: 1},
		Reports: map[string]*report.Report{"r": twoStages()},
	}, noSink{})
	start(t, s, "1", e.known[0], time.Hour, "a")
	complete(t, s, "1", "a", "x")
	defer folding(t, e)()
	for _, fields := range [][]string{
		nil, // the entry that the barrier has sent
		{"id", "1", "attempt", "1", "stage", "1"},
		{"id", "1", "attempt", "1", "stage", "1", "bytes", "10"},
	} {
		if fields != nil {
			client.XAdd(ctx, &redis.XAddArgs{Stream: s.Keys.FanIn, Values: fields})
		}
		until(t, "no entry is left", func() bool { return client.XLen(ctx, s.Keys.FanIn).Val() == 0 })
		if state, err := s.Jobs.Read(ctx, "1"); err != nil || state.Stage != 2 || state.Status != job.StatusRun {
			t.Errorf("%q: %+v %v", fields, state, err)
		}
	}
	if n := client.XLen(ctx, s.Keys.Task("b")).Val(); n != 1 {
		t.Errorf("%d messages of one task", n)
	}
}

// TestALostAnswerIsNoTry: the same claim again is the same one.
func TestALostAnswerIsNoTry(t *testing.T) {
	t.Parallel()
	s, _ := newScripts(t)
	start(t, s, "1", "d", time.Hour, "a")
	task, _ := s.Tasks.New(scripts.Message{ID: "1", Attempt: 1}, "a", scripts.Entry{})
	for range 2 {
		if outcome, err := task.Take(t.Context(), scripts.Take{Owner: "o", Known: []string{"d"}}); err != nil || outcome != scripts.OK || task.Tries != 1 || task.Failure != "" || task.Generation != 1 {
			t.Fatalf("%v %+v %v", outcome, task, err)
		}
	}
	if outcome, err := task.Complete(t.Context(), scripts.Chunk{Columns: []string{}, Names: []string{"c"}, Fields: [][]byte{[]byte("[]")}}, 0); err != nil || outcome != scripts.Already {
		t.Fatal(outcome, err)
	}
	for range 2 {
		f := claim(t, s, "1", scripts.Claim{Worker: "w"})
		if f.Fold.Tries != 1 || f.Fold.Error != "" || f.Fence != 1 {
			t.Fatalf("%+v", f.State)
		}
	}
}

// TestAFullRedisAdvances: a job goes into its next stage, whose tasks then compete for memory.
func TestAFullRedisAdvances(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server, err := testenv.StartRedis(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	client := server.Client()
	t.Cleanup(func() { _ = client.Close() })
	s := scripts.New(scripts.Options{Redis: client})
	e := newFanIn(t, engine.Options{
		Redis: client, Scripts: s, Records: noRecords{}, Consumer: "c", Limits: report.Limits{Lease: time.Minute, LargeFiles: 1},
		Reports: map[string]*report.Report{"r": twoStages()},
	}, noSink{})
	for id, fields := range map[string]map[string]string{
		"alone": {"id": "alone", "attempt": "1", "stage": "1"},
		"small": {"id": "small", "attempt": "1", "stage": "1", "bytes": "10"},
	} {
		start(t, s, id, e.known[0], time.Hour, "a")
		complete(t, s, id, "a", "x")
		entry := delivered(t, client, s.Keys.FanIn, "c")[0].ID
		if err := client.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
			t.Fatal(err)
		}
		read := step.Entry{Entry: scripts.Entry{Stream: s.Keys.FanIn, Consumer: "c", ID: entry, Deliveries: 1, Fields: fields}}
		read.Content, read.Leased = parse(read)
		e.handle(ctx, []step.Entry{read})
		state, err := s.Jobs.Read(ctx, id)
		if err != nil || state.Worker != "" || state.Stage != 2 || state.Status != job.StatusRun {
			t.Errorf("%s: %+v %v", id, state, err)
		}
		if err := client.ConfigSet(ctx, "maxmemory", "0").Err(); err != nil {
			t.Fatal(err)
		}
	}
}

type noRecords struct{ engine.Records }

type noSink struct{ sink.Sink }

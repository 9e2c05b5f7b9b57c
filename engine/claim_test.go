package engine

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// TestALostClaimIsNotAcknowledged: whoever has the claim by now has the same
// entry, and would lose it. It is the error that keeps an entry.
func TestALostClaimIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	name, ctx := testmain.Name(t), t.Context()
	s := scripts.New(scripts.Options{Redis: client, Keys: scripts.Keys{Prefix: name + ":", Hash: name + "-"}})
	stages := []report.Stage{{Listeners: []report.Listener{{Name: "a"}}}, {Listeners: []report.Listener{{Name: "b"}}}}
	e := &Engine{o: Options{Scripts: s}, log: slog.New(slog.DiscardHandler), definitions: map[string]*report.Report{"d": {Name: "r", Stages: stages, Retry: report.DefaultRetry}}}

	if _, err := s.Start(ctx, scripts.Start{ID: "1", Attempt: 1, Report: "r", Definition: "d", Timeout: time.Hour, Listeners: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	task := scripts.Task{ID: "1", Attempt: 1, Listener: "a", Owner: "o", Lease: time.Minute}
	if _, _, err := s.Take(ctx, task, []string{"d"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Complete(ctx, task, scripts.Chunk{Columns: []string{}, Names: []string{"c"}, Fields: [][]byte{[]byte("[]")}}, 0); err != nil {
		t.Fatal(err)
	}
	claim := func(worker string, lease time.Duration) *scripts.State {
		t.Helper()
		_, state, err := s.Claim(ctx, scripts.Claim{ID: "1", Attempt: 1, Worker: worker, Lease: lease, Known: []string{"d"}})
		if err != nil || state == nil {
			t.Fatal(state, err)
		}
		return state
	}
	lost := claim("asleep", -time.Second)
	held := claim("awake", time.Minute)
	if err := e.forward(ctx, lost); !errors.Is(err, errElsewhere) {
		t.Errorf("advance with a lost claim: %v", err)
	}
	if err := e.settle(ctx, lost, string(report.Failed), "x"); !errors.Is(err, errElsewhere) {
		t.Errorf("settle with a lost claim: %v", err)
	}
	if err := e.forward(ctx, held); err != nil {
		t.Errorf("advance with the claim: %v", err)
	}
	if state, err := s.Read(ctx, "1"); err != nil || state.Stage != 2 || state.Status != scripts.StatusRun {
		t.Errorf("%+v %v", state, err)
	}
}

// TestAnEntryOfAPastStageIsAcknowledged: its worker has sent the job into the next
// stage, and did not come to acknowledge it.
func TestAnEntryOfAPastStageIsAcknowledged(t *testing.T) {
	t.Parallel()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	name, ctx := testmain.Name(t), t.Context()
	s := scripts.New(scripts.Options{Redis: client, Keys: scripts.Keys{Prefix: name + ":", Hash: name + "-"}})
	stages := []report.Stage{{Listeners: []report.Listener{{Name: "a"}}}, {Listeners: []report.Listener{{Name: "b"}}}}
	e := &Engine{
		o:   Options{Scripts: s, Consumer: "c", Limits: config.Limits{Lease: time.Minute}},
		log: slog.New(slog.DiscardHandler), known: []string{"d"},
		definitions: map[string]*report.Report{"d": {Name: "r", Stages: stages, Retry: report.DefaultRetry}},
	}
	if _, err := s.Start(ctx, scripts.Start{ID: "1", Attempt: 1, Report: "r", Definition: "d", Timeout: time.Hour, Listeners: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	task := scripts.Task{ID: "1", Attempt: 1, Listener: "a", Owner: "o", Lease: time.Minute}
	if _, _, err := s.Take(ctx, task, []string{"d"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Complete(ctx, task, scripts.Chunk{Columns: []string{}, Names: []string{"c"}, Fields: [][]byte{[]byte("[]")}}, 0); err != nil {
		t.Fatal(err)
	}
	found := client.XRange(ctx, s.FanIn(), "-", "+").Val()
	entry := step.Entry{ID: found[0].ID, Fields: map[string]string{"id": "1", "attempt": "1", "stage": "1"}, Deliveries: 1}
	for i, want := range []string{"its worker's", "once more"} {
		if i > 0 { // as if it had not been acknowledged
			entry.ID = client.XAdd(ctx, &redis.XAddArgs{Stream: s.FanIn(), Values: []string{"id", "1", "attempt", "1", "stage", "1"}}).Val()
		}
		e.fanIn(ctx, entry)
		if n := client.XLen(ctx, s.FanIn()).Val(); n != 0 {
			t.Errorf("%s: %d entries", want, n)
		}
		if state, err := s.Read(ctx, "1"); err != nil || state.Stage != 2 || state.Status != scripts.StatusRun {
			t.Errorf("%s: %+v %v", want, state, err)
		}
	}
}

// TestALostAnswerIsNoTry: the same claim again is the same one.
func TestALostAnswerIsNoTry(t *testing.T) {
	t.Parallel()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	name, ctx := testmain.Name(t), t.Context()
	s := scripts.New(scripts.Options{Redis: client, Keys: scripts.Keys{Prefix: name + ":", Hash: name + "-"}})
	if _, err := s.Start(ctx, scripts.Start{ID: "1", Attempt: 1, Report: "r", Definition: "d", Timeout: time.Hour, Listeners: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	task := scripts.Task{ID: "1", Attempt: 1, Listener: "a", Owner: "o", Lease: time.Minute}
	for range 2 {
		if _, taken, err := s.Take(ctx, task, []string{"d"}); err != nil || taken.Tries != 1 || taken.Failure != "" {
			t.Fatalf("%+v %v", taken, err)
		}
	}
	if _, err := s.Complete(ctx, task, scripts.Chunk{Columns: []string{}, Names: []string{"c"}, Fields: [][]byte{[]byte("[]")}}, 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, state, err := s.Claim(ctx, scripts.Claim{ID: "1", Attempt: 1, Worker: "w", Lease: time.Minute, Known: []string{"d"}})
		if err != nil || state.Fold.Tries != 1 || state.Fold.Error != "" || state.Fence != 1 {
			t.Fatalf("%+v %v", state, err)
		}
	}
}

// TestAFullRedisHoldsNoClaim: a job that cannot go into its next stage makes room
// for those that end, and comes again without a try.
func TestAFullRedisHoldsNoClaim(t *testing.T) {
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
	stages := []report.Stage{{Listeners: []report.Listener{{Name: "a"}}}, {Listeners: []report.Listener{{Name: "b"}}}}
	e, err := New(Options{
		Redis: client, Scripts: s, Records: noRecords{}, Sink: noSink{}, Consumer: "c", Limits: config.Limits{Lease: time.Minute},
		Reports: map[string]*report.Report{"r": {Name: "r", Stages: stages, Retry: report.DefaultRetry}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(ctx, scripts.Start{ID: "1", Attempt: 1, Report: "r", Definition: e.known[0], Timeout: time.Hour, Listeners: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	task := scripts.Task{ID: "1", Attempt: 1, Listener: "a", Owner: "o", Lease: time.Minute}
	if _, _, err := s.Take(ctx, task, e.known); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Complete(ctx, task, scripts.Chunk{Columns: []string{}, Names: []string{"c"}, Fields: [][]byte{[]byte("[]")}}, 0); err != nil {
		t.Fatal(err)
	}
	if err := client.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	e.fanIn(ctx, step.Entry{ID: "1-0", Fields: map[string]string{"id": "1", "attempt": "1", "stage": "1"}})
	state, err := s.Read(ctx, "1")
	if err != nil || state.Worker != "" || state.Fold.Tries != 0 || state.Fold.Next.IsZero() {
		t.Errorf("%+v %v", state, err)
	}
}

type noRecords struct{ Records }

type noSink struct{ sink.Sink }

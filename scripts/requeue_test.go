package scripts

import (
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/redis/go-redis/v9"
)

// TestAStopHandsATaskBackAtOnce: into the stream, where the next reader has it,
// without a try.
func TestAStopHandsATaskBackAtOnce(t *testing.T) {
	t.Parallel()
	for _, split := range []bool{false, true} {
		s, client := newScripts(t, split)
		ctx := t.Context()
		if _, err := s.Start(ctx, Start{ID: "1", Attempt: 1, Report: "r", Definition: "d", Timeout: time.Hour, Listeners: []string{"a"}}); err != nil {
			t.Fatal(err)
		}
		task := Task{ID: "1", Attempt: 1, Listener: "a", Owner: "w", Lease: time.Minute}
		if _, _, err := s.Take(ctx, task, []string{"d"}); err != nil {
			t.Fatal(err)
		}
		if outcome, err := s.RequeueTask(ctx, task, Again{}); outcome != OK || err != nil {
			t.Fatal(outcome, err)
		}
		if n := client.XLen(ctx, s.Task("a")).Val(); n != 2 {
			t.Errorf("split %v: %d entries, not the first and the one that was handed back", split, n)
		}
		if n := client.ZCard(ctx, s.Delayed()).Val(); n != 0 {
			t.Errorf("split %v: %d members are delayed", split, n)
		}
		state, err := s.Read(ctx, "1")
		if err != nil || state.Tasks["a"].Tries != 0 || state.Tasks["a"].Owner != "" {
			t.Errorf("split %v: %+v %v", split, state, err)
		}
	}
}

// TestWhatIsWaitedForIsToldOnce, however often a task looks for it.
func TestWhatIsWaitedForIsToldOnce(t *testing.T) {
	t.Parallel()
	for _, split := range []bool{false, true} {
		s, client := newScripts(t, split)
		ctx := t.Context()
		if _, err := s.Start(ctx, Start{ID: "1", Attempt: 1, Report: "r", Definition: "d", Timeout: time.Hour, Listeners: []string{"a"}}); err != nil {
			t.Fatal(err)
		}
		for i, what := range []string{"a job", "a job", "its rows"} {
			task := Task{ID: "1", Attempt: 1, Listener: "a", Owner: string(rune('a' + i)), Lease: time.Minute}
			if _, _, err := s.Take(ctx, task, []string{"d"}); err != nil {
				t.Fatal(err)
			}
			if outcome, err := s.RequeueTask(ctx, task, Again{Delay: time.Minute, Waits: true, Error: what}); outcome != OK || err != nil {
				t.Fatal(outcome, err)
			}
		}
		var told []any
		for _, e := range client.XRange(ctx, s.Events(), "-", "+").Val() {
			if e.Values["event"] == "waits" {
				told = append(told, e.Values["for"])
			}
		}
		if len(told) != 2 || told[0] != "a job" || told[1] != "its rows" {
			t.Errorf("split %v: %v", split, told)
		}
	}
}

// TestForget: a consumer that is gone goes, unless something is pending for it.
func TestForget(t *testing.T) {
	t.Parallel()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	stream, ctx := testmain.Name(t), t.Context()
	s := New(Options{Redis: client})
	if err := client.XGroupCreateMkStream(ctx, stream, Group, "0").Err(); err != nil {
		t.Fatal(err)
	}
	client.XGroupCreateConsumer(ctx, stream, Group, "idle")
	client.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: []string{"a", "b"}})
	if err := client.XReadGroup(ctx, &redis.XReadGroupArgs{Group: Group, Consumer: "busy", Streams: []string{stream, ">"}}).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Forget(ctx, stream, time.Hour); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := s.Forget(ctx, stream, -time.Second); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if left := client.XInfoConsumers(ctx, stream, Group).Val(); len(left) != 1 || left[0].Name != "busy" {
		t.Errorf("%+v", left)
	}
}

// TestABigJobIsRefused: the data of a job has a bound, over all its listeners;
// what an earlier try had stored does not count.
func TestABigJobIsRefused(t *testing.T) {
	t.Parallel()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	name, ctx := testmain.Name(t), t.Context()
	s := New(Options{Redis: client, Keys: Keys{Prefix: name + ":", Hash: name + "-"}, JobBytes: 10})
	if _, err := s.Start(ctx, Start{ID: "1", Attempt: 1, Report: "r", Definition: "d", Timeout: time.Hour, Listeners: []string{"a", "b"}}); err != nil {
		t.Fatal(err)
	}
	chunk := Chunk{Rows: 1, Columns: []map[string]string{{"name": "c"}}, Names: []string{"c"}, Fields: [][]byte{[]byte("[12345]")}}
	take := func(listener, owner string) Task {
		t.Helper()
		task := Task{ID: "1", Attempt: 1, Listener: listener, Owner: owner, Lease: -time.Second}
		if outcome, _, err := s.Take(ctx, task, []string{"d"}); outcome != OK || err != nil {
			t.Fatal(outcome, err)
		}
		return task
	}
	for _, owner := range []string{"w1", "w2"} {
		if outcome, err := s.Append(ctx, take("a", owner), chunk); outcome != OK || err != nil {
			t.Fatalf("%s: %v %v", owner, outcome, err)
		}
	}
	b := take("b", "w3")
	if outcome, err := s.Append(ctx, b, chunk); outcome != TooMuch || err != nil {
		t.Errorf("append: %v %v", outcome, err)
	}
	if outcome, err := s.Complete(ctx, b, chunk, 0); outcome != TooMuch || err != nil {
		t.Errorf("complete: %v %v", outcome, err)
	}
}

// TestAStepThatRestsKeepsItsKeys for as long as it rests.
func TestAStepThatRestsKeepsItsKeys(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t, false)
	ctx := t.Context()
	started(t, s, "1", time.Second, true)
	_, state, err := s.Claim(ctx, Claim{ID: "1", Attempt: 1, Worker: "w", Lease: time.Minute, Known: []string{"d"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.RequeueFold(ctx, state, StepFanIn, Again{Delay: time.Hour, Counts: true, Error: "403"}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{s.State("1"), s.Data("1")} {
		if ttl := client.PTTL(ctx, key).Val(); ttl < time.Hour {
			t.Errorf("%s ends in %v, and is needed in an hour", key, ttl)
		}
	}
}

package scripts

import (
	"fmt"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/redis/go-redis/v9"
)

// TestAStopHandsATaskBackAtOnce: into the stream, where the next reader has it, without a
// try.
func TestAStopHandsATaskBackAtOnce(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	started(t, s, "1", time.Hour, "l")
	if outcome, err := firstTask(t, s, "l", "w").Requeue(ctx, Requeue{}); outcome != OK || err != nil {
		t.Fatal(outcome, err)
	}
	if n, p := pending(t, s, s.Keys.Task("l")); n != 1 || p != 0 {
		t.Errorf("%d entries, not the one that was handed back, and %d pending", n, p)
	}
	if n := client.ZCard(ctx, s.Keys.Delayed).Val(); n != 0 {
		t.Errorf("%d members are delayed", n)
	}
	state, err := s.Jobs.Read(ctx, "1")
	if err != nil || state.Tasks["l"].Tries != 0 || state.Tasks["l"].Owner != "" {
		t.Errorf("%+v %v", state, err)
	}
}

// TestWhatIsWaitedForIsToldOnce, however often a task polls it.
func TestWhatIsWaitedForIsToldOnce(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	started(t, s, "1", time.Hour, "l")
	task := firstTask(t, s, "l", "w")
	for i, what := range []string{"a job", "a job", "its rows"} {
		if i > 0 {
			task.Entry = Entry{} // its message is not what is tested
			if outcome, err := task.Take(ctx, Take{Owner: fmt.Sprint("w", i), Known: []string{"d"}}); outcome != OK || err != nil {
				t.Fatal(outcome, err)
			}
		}
		if outcome, err := task.Requeue(ctx, Requeue{Delay: time.Minute, Waits: true, Error: what}); outcome != OK || err != nil {
			t.Fatal(outcome, err)
		}
	}
	var told []any
	for _, e := range client.XRange(ctx, s.Keys.Events, "-", "+").Val() {
		if e.Values["event"] == "waits" {
			told = append(told, e.Values["for"])
		}
	}
	if len(told) != 2 || told[0] != "a job" || told[1] != "its rows" {
		t.Errorf("%v", told)
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
	if n, err := s.Streams.RemoveIdleConsumers(ctx, stream, time.Hour); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := s.Streams.RemoveIdleConsumers(ctx, stream, -time.Second); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if left := client.XInfoConsumers(ctx, stream, Group).Val(); len(left) != 1 || left[0].Name != "busy" {
		t.Errorf("%+v", left)
	}
	client.XGroupCreateConsumer(ctx, stream, Group, "other")
	client.XGroupCreateConsumer(ctx, stream, Group, "leaves")
	for _, name := range []string{"busy", "leaves"} {
		if err := s.Streams.RemoveConsumer(ctx, stream, name); err != nil {
			t.Fatal(err)
		}
	}
	if left := client.XInfoConsumers(ctx, stream, Group).Val(); len(left) != 2 || left[0].Name != "busy" || left[1].Name != "other" {
		t.Errorf("%+v", left)
	}
}

// TestABigJobIsRefused: the data of a job has a bound, over all its listeners; what an
// earlier try had stored does not count.
func TestABigJobIsRefused(t *testing.T) {
	t.Parallel()
	s, _ := newScripts(t)
	s.bytes = 10
	ctx := t.Context()
	started(t, s, "1", time.Hour, "a,b")
	chunk := chunkOf(0, "12345")
	first := firstTask(t, s, "a", "w1")
	if outcome, err := first.Append(ctx, chunk); outcome != OK || err != nil {
		t.Fatal(outcome, err)
	}
	if outcome, err := takenOver(t, s, first, "w2").Append(ctx, chunk); outcome != OK || err != nil {
		t.Fatal(outcome, err)
	}
	b := firstTask(t, s, "b", "w3")
	if outcome, err := b.Append(ctx, chunk); outcome != TooMuch || err != nil {
		t.Errorf("append: %v %v", outcome, err)
	}
	if outcome, err := b.Store(ctx, chunk); outcome != TooMuch || err != nil {
		t.Errorf("store: %v %v", outcome, err)
	}
	if outcome, err := b.Complete(ctx, chunk, 0); outcome != TooMuch || err != nil {
		t.Errorf("complete: %v %v", outcome, err)
	}
	if n, p := pending(t, s, s.Keys.Task("b")); n != 1 || p != 1 {
		t.Errorf("%d entries, %d pending: a task that is refused is not done", n, p)
	}
}

// TestAStepThatWaitsKeepsItsHash for as long as it waits.
func TestAStepThatWaitsKeepsItsHash(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	ready(t, s, "1", time.Second)
	fold := claimed(t, s, "1", "w", OK)
	if _, err := fold.Requeue(ctx, job.StepFanIn, Requeue{Delay: time.Hour, Counts: true, Error: "403"}); err != nil {
		t.Fatal(err)
	}
	if ttl := client.PTTL(ctx, s.Keys.Job("1")).Val(); ttl < time.Hour {
		t.Errorf("it ends in %v, and is needed in an hour", ttl)
	}
}

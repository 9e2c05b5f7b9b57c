package scripts

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/scripts/job"
)

// TestARedisThatHasForgotten its last second delivers an entry for the first time twice, and
// gives a generation twice: the rows of two workers never become one dataset.
func TestARedisThatHasForgotten(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(t *testing.T, s *Scripts) (a, b *Task){
		"a first delivery": func(t *testing.T, s *Scripts) (a, b *Task) {
			a = firstTask(t, s, "l", "a")
			if err := s.rdb.XGroupDestroy(t.Context(), s.Keys.Task("l"), Group).Err(); err != nil {
				t.Fatal(err)
			}
			return a, firstTask(t, s, "l", "b")
		},
		"a take": func(t *testing.T, s *Scripts) (a, b *Task) {
			first := firstTask(t, s, "l", "w")
			before, err := s.rdb.Dump(t.Context(), s.Keys.Job("1")).Result()
			if err != nil {
				t.Fatal(err)
			}
			a = takenOver(t, s, first, "a")
			if err := s.rdb.RestoreReplace(t.Context(), s.Keys.Job("1"), time.Hour, before).Err(); err != nil {
				t.Fatal(err)
			}
			return a, takenOver(t, s, first, "b")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, client := newScripts(t)
			ctx := t.Context()
			started(t, s, "1", time.Hour, "l")
			a, b := forget(t, s)
			if a.Generation != b.Generation {
				t.Fatalf("generations %d and %d: the test is not what it says", a.Generation, b.Generation)
			}
			if outcome, err := b.Append(ctx, chunkOf(0, "10")); err != nil || outcome != OK {
				t.Fatal(outcome, err)
			}
			for number, want := range []Outcome{Busy, Busy} {
				if outcome, err := a.Append(ctx, chunkOf(int64(number), "20")); err != nil || outcome != want {
					t.Errorf("chunk %d of the other one: %v %v", number, outcome, err)
				}
			}
			if outcome, err := a.Complete(ctx, Chunk{Number: 0}, 0); err != nil || outcome != Busy {
				t.Errorf("the other one's end: %v %v", outcome, err)
			}
			if n, _ := pending(t, s, s.Keys.Task("l")); n != 1 {
				t.Errorf("%d entries lead to the task", n)
			}
			if outcome, err := b.Complete(ctx, chunkOf(1, "11"), 0); err != nil || outcome != Already {
				t.Errorf("its end: %v %v", outcome, err)
			}
			if found := client.HMGet(ctx, s.Keys.Job("1"), "l.c", "l.c#1").Val(); found[0] != "[10]" || found[1] != "[11]" {
				t.Errorf("%v", found)
			}
		})
	}
}

// TestLoad reads the parameters that are too large for an entry.
func TestLoad(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	large := `{"a":"` + strings.Repeat("x", maxInline) + `"}`
	for _, id := range []string{"1", "next", "lost", "broken"} {
		start := attempt(id, time.Hour, "l")
		start.Parameters = []byte(large)
		if outcomes, err := s.Jobs.Start(ctx, "", start); err != nil || outcomes[0] != OK {
			t.Fatal(outcomes, err)
		}
	}
	next := attempt("next", time.Hour, "m")
	next.Attempt = 2
	if outcomes, err := s.Jobs.Start(ctx, "", next); err != nil || outcomes[0] != OK {
		t.Fatal(outcomes, err)
	}
	client.Del(ctx, s.Keys.Job("lost"), s.Keys.Job("broken"))
	client.Set(ctx, s.Keys.Job("broken"), "x", 0)
	for range 4 {
		task := firstTask(t, s, "l", "w")
		if task.Parameters != nil {
			t.Fatalf("the entry has %d bytes of parameters", len(task.Parameters))
		}
		outcome, err := task.Load(ctx)
		want := map[string]Outcome{"1": OK, "next": Gone, "lost": Gone}[task.ID]
		if task.ID == "broken" {
			if !errors.Is(err, ErrBroken) {
				t.Errorf("%v %v", outcome, err)
			}
			continue
		}
		if err != nil || outcome != want || outcome == OK && string(task.Parameters) != large {
			t.Errorf("%s: %v %v", task.ID, outcome, err)
		}
	}
	// A later stage reads them, too.
	ready(t, s, "2", time.Hour)
	rewriteParameters := client.HSet(ctx, s.Keys.Job("2"), "parameters", large)
	if rewriteParameters.Err() != nil {
		t.Fatal(rewriteParameters.Err())
	}
	if outcome, err := claimed(t, s, "2", "f", OK).Advance(ctx, []string{"n"}); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	task := firstTask(t, s, "n", "w")
	if outcome, err := task.Load(ctx); err != nil || outcome != OK || string(task.Parameters) != large {
		t.Error(outcome, err)
	}
	if outcome, err := task.Load(ctx); err != nil || outcome != OK {
		t.Error(outcome, err)
	}
}

// TestAnEntryThatWaitedForLong is checked before its query runs: its job may have ended.
func TestAnEntryThatWaitedForLong(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	for _, id := range []string{"runs", "ended", "taken"} {
		started(t, s, id, time.Hour, "l")
	}
	other, _ := s.Tasks.New(Message{ID: "taken", Attempt: 1}, "l", Entry{})
	if outcome, err := other.Take(ctx, Take{Owner: "other", Known: []string{attempt("taken", time.Hour, "l").Definition}}); outcome != OK || err != nil {
		t.Fatal(outcome, err)
	}
	if outcome, _, err := s.Jobs.Cancel(ctx, "ended", 1, "not needed"); outcome != OK || err != nil {
		t.Fatal(outcome, err)
	}
	client.Del(ctx, s.Keys.Job("ended"))
	for range 3 {
		task := firstTask(t, s, "l", "w")
		task.Entry.ID = fmt.Sprint(time.Now().UnixMilli(), "-0")
		if outcome, err := task.Load(ctx); outcome != OK || err != nil {
			t.Errorf("%s, which is fresh: %v %v", task.ID, outcome, err)
		}
		task.Entry.ID = fmt.Sprint(time.Now().Add(-2*uncheckedAge).UnixMilli(), "-0")
		if outcome, err := task.Load(ctx); outcome != map[string]Outcome{"runs": OK, "ended": Gone, "taken": Busy}[task.ID] || err != nil {
			t.Errorf("%s, which has waited: %v %v", task.ID, outcome, err)
		}
	}
}

// TestADecisionOutlivesTheDeadline: what was decided is not forgotten while the engines are
// away.
func TestADecisionOutlivesTheDeadline(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	for _, id := range []string{"fails", "cancelled"} {
		started(t, s, id, time.Hour, "l")
		client.PExpire(ctx, s.Keys.Job(id), time.Minute)
	}
	task, _ := s.Tasks.New(Message{ID: "fails", Attempt: 1}, "l", Entry{})
	if outcome, err := task.Fail(ctx, "it is broken", job.BlameSource); outcome != OK || err != nil {
		t.Fatal(outcome, err)
	}
	if outcome, _, err := s.Jobs.Cancel(ctx, "cancelled", 1, "not needed"); outcome != OK || err != nil {
		t.Fatal(outcome, err)
	}
	for _, id := range []string{"fails", "cancelled"} {
		if ttl := client.PTTL(ctx, s.Keys.Job(id)).Val(); ttl < Margin-time.Minute {
			t.Errorf("%s lives for %v", id, ttl)
		}
	}
}

// TestBrokenKeys are not tried for ever: a key of another type, and a line that is not a
// state.
func TestBrokenKeys(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	ready(t, s, "ready", time.Hour)
	fold := claimed(t, s, "ready", "w", OK)
	started(t, s, "runs", time.Hour, "l")
	task := firstTask(t, s, "l", "w")
	for what, spoil := range map[string]func(key string){
		"another type": func(key string) { client.Del(ctx, key); client.Set(ctx, key, "x", 0) },
		"no state":     func(key string) { client.Del(ctx, key); client.HSet(ctx, key, "job", "1 RUN 1", "listeners", "l") },
	} {
		spoil(s.Keys.Job("ready"))
		spoil(s.Keys.Job("runs"))
		for name, call := range map[string]func() error{
			"take":     func() error { _, err := task.Take(ctx, Take{Owner: "o"}); return err },
			"append":   func() error { _, err := task.Append(ctx, chunkOf(0, "1")); return err },
			"store":    func() error { _, err := task.Store(ctx, chunkOf(0, "1")); return err },
			"complete": func() error { _, err := task.Complete(ctx, chunkOf(0, "1"), 0); return err },
			"keep":     func() error { _, err := task.Renew(ctx); return err },
			"requeue":  func() error { _, err := task.Requeue(ctx, Requeue{}); return err },
			"fail":     func() error { _, err := task.Fail(ctx, "x", job.BlameSource); return err },
			"omit":     func() error { _, err := task.Omit(ctx, "optional", "x"); return err },
			"remember": func() error { _, err := task.Remember(ctx, []byte("x")); return err },
			"pause":    func() error { _, err := s.Tasks.Pause(ctx, task, "x", job.BlameBusy); return err },
			"claim": func() error {
				_, _, err := s.Folds.Claim(ctx, Claim{Message: Message{"ready", 1}, Worker: "w"})
				return err
			},
			"keep fold":    func() error { _, err := fold.Renew(ctx); return err },
			"advance":      func() error { _, err := fold.Advance(ctx, []string{"m"}); return err },
			"fail fold":    func() error { _, err := fold.Fail(ctx, "x", job.BlameSink, false); return err },
			"requeue fold": func() error { _, err := fold.Requeue(ctx, job.StepFanIn, Requeue{}); return err },
			"cancel":       func() error { _, _, err := s.Jobs.Cancel(ctx, "runs", 1, "x"); return err },
			"expire":       func() error { _, _, err := s.Jobs.Expire(ctx, "runs"); return err },
			"read":         func() error { _, err := s.Jobs.Read(ctx, "runs"); return err },
			"resend": func() error {
				_, err := s.Streams.Resend(ctx, Message{"runs", 1}, "l", Entry{Stream: s.Keys.Task("l")})
				return err
			},
		} {
			if err := call(); !errors.Is(err, ErrBroken) {
				t.Errorf("%s, %s: %v", what, name, err)
			}
		}
	}
	if n, p := pending(t, s, s.Keys.Task("l")); n != 1 || p != 1 {
		t.Errorf("%d entries, %d pending: what is broken is not done", n, p)
	}
}

// TestABrokenJobDoesNotKeepOthersBack: when a listener is resumed, and when a member of the
// delayed set is due.
func TestABrokenJobDoesNotKeepOthersBack(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	var moves []Move
	for _, id := range []string{"type", "line", "good"} {
		start := attempt(id, time.Minute, "l")
		start.Waits = true
		if outcomes, err := s.Jobs.Start(ctx, "", start); err != nil || outcomes[0] != OK {
			t.Fatal(outcomes, err)
		}
		member := id + "/1/l"
		moves = append(moves, Move{Member: member, ID: id, Field: "attempt", Value: "1"})
		if err := s.Clock.Delay(ctx, member, -time.Second); err != nil {
			t.Fatal(err)
		}
	}
	rewrite(t, s, "good", func(words []string) { words[9] = "1" }) // it started long ago
	setPause(t, s, PausedListener("l"), time.Hour, 0)
	before := deadlineOf(t, s, "good")
	client.Del(ctx, s.Keys.Job("type"))
	client.Set(ctx, s.Keys.Job("type"), "x", 0)
	client.HSet(ctx, s.Keys.Job("line"), "job", "1 RUN")
	late, unknown, err := s.Clock.Move(ctx, s.Keys.Task("l"), "l", moves)
	if err != nil || len(late) != 1 || len(unknown) != 2 {
		t.Errorf("moved %v, unknown %v, %v", late, unknown, err)
	}
	if was, _, err := (Partitions{s}).Unhold(ctx, PausedListener("l"), false); err != nil || !was {
		t.Error(was, err)
	}
	if moved := deadlineOf(t, s, "good") - before; moved < time.Hour.Milliseconds() {
		t.Errorf("the deadline has moved by %d ms", moved)
	}
}

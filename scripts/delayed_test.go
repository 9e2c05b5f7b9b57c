package scripts

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestDueRewritesSecondsAndTellsTheNext(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	now := time.Now()
	for member, score := range map[string]float64{
		"due-ms": float64(now.Add(-time.Second).UnixMilli()), "due-s": float64(now.Add(-time.Minute).Unix()),
		"later-s": float64(now.Add(time.Hour).Unix()), "tiny": 3, "minus": -7,
	} {
		if err := client.ZAdd(ctx, s.Keys.Delayed, redis.Z{Score: score, Member: member}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	due, err := s.Clock.Due(ctx, 10, 0)
	if err != nil || len(due.Members) != 4 || due.Wait < 59*time.Minute || due.Wait > time.Hour || len(due.Invalid) != 0 {
		t.Fatalf("%+v %v", due, err)
	}
	for _, m := range due.Members {
		if m == "later-s" {
			t.Error("it is an hour too early")
		}
	}
	if late, _, err := s.Clock.Move(ctx, s.Keys.Jobs, "", []Move{
		{Member: "due-ms", ID: "1"}, {Member: "due-s", ID: "2", Field: "polls", Value: "3"},
		{Member: "tiny", ID: "3"}, {Member: "minus", ID: "4"}, {Member: "later-s", ID: "5"},
	}); err != nil || len(late) != 4 || late[0] < time.Second || late[0] > time.Minute || late[1] < time.Minute {
		t.Fatalf("moved %v, %v", late, err)
	}
	entries := client.XRange(ctx, s.Keys.Jobs, "-", "+").Val()
	if len(entries) != 4 || fmt.Sprint(entries[1].Values) != "map[id:2 polls:3]" {
		t.Errorf("%+v", entries)
	}
	if due, err := s.Clock.Due(ctx, 10, 0); err != nil || len(due.Members) != 0 || due.Wait < 59*time.Minute || due.Wait > time.Hour {
		t.Errorf("%+v %v", due, err)
	}
}

// TestManyInSecondsAreNotEarly has more of them than one call rewrites.
func TestManyInSecondsAreNotEarly(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	var later []redis.Z
	var moves []Move
	for i := range 250 {
		later = append(later, redis.Z{Score: float64(time.Now().Add(time.Hour).Unix()), Member: fmt.Sprint(i)})
		moves = append(moves, Move{Member: fmt.Sprint(i), ID: fmt.Sprint(i)})
	}
	if err := client.ZAdd(t.Context(), s.Keys.Delayed, later...).Err(); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if due, err := s.Clock.Due(t.Context(), 100, 0); err != nil || len(due.Members) != 0 {
			t.Fatalf("an hour early: %v %v", due, err)
		}
		if late, _, err := s.Clock.Move(t.Context(), s.Keys.Jobs, "", moves); err != nil || len(late) != 0 {
			t.Fatalf("moved %v, %v", late, err)
		}
	}
	if due, err := s.Clock.Due(t.Context(), 100, 0); err != nil || due.Wait < 59*time.Minute {
		t.Errorf("%+v %v", due, err)
	}
}

// TestMoveOnce has many schedulers move the same members.
func TestMoveOnce(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	var moves []Move
	for i := range 300 {
		id := fmt.Sprint(i)
		moves = append(moves, Move{Member: id, ID: id})
		if err := s.Clock.Delay(t.Context(), id, -time.Second); err != nil {
			t.Fatal(err)
		}
	}
	var moved atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for part := moves; len(part) > 0; part = part[50:] {
				late, _, err := s.Clock.Move(t.Context(), s.Keys.Jobs, "", part[:50])
				if err != nil {
					t.Error(err)
				}
				moved.Add(int64(len(late)))
			}
		})
	}
	wg.Wait()
	if n := client.XLen(t.Context(), s.Keys.Jobs).Val(); n != 300 || moved.Load() != 300 {
		t.Errorf("%d entries, %d moves, for 300 members", n, moved.Load())
	}
}

// TestWhatCannotBeMovedStays: a stream that is something else takes nothing, and
// nothing is lost with it.
func TestWhatCannotBeMovedStays(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	client.Set(ctx, s.Keys.Quarantined, "no stream", 0)
	for _, member := range []string{"1/1/a", "bad member"} {
		if err := s.Clock.Delay(ctx, member, -time.Second); err != nil {
			t.Fatal(err)
		}
	}
	started(t, s, "1", time.Hour, "a")
	client.Set(ctx, s.Keys.Task("a"), "no stream", 0)
	if _, _, err := s.Clock.Move(ctx, s.Keys.Task("a"), "a", []Move{{Member: "1/1/a", ID: "1", Field: "attempt", Value: "1"}}); err == nil {
		t.Error("it was moved")
	}
	if _, err := s.Clock.Refuse(ctx, []Refusal{{Member: "bad member", Reason: "x"}}, false); err == nil {
		t.Error("it was refused")
	}
	if n := client.ZCard(ctx, s.Keys.Delayed).Val(); n != 2 {
		t.Errorf("%d members are left of 2", n)
	}
}

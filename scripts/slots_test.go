package scripts

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// TestRate: calls come one after the other, at even distances; one that is too far off is
// left to others.
func TestRate(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	var last time.Duration
	for i := range time.Duration(5) {
		wait, ok, err := s.Limits.Reserve(ctx, "db", time.Hour, 24*time.Hour)
		if err != nil || !ok || wait > i*time.Hour || wait < i*time.Hour-time.Minute || i > 0 && wait <= last {
			t.Errorf("turn %d: %v %v %v", i, wait, ok, err)
		}
		last = wait
	}
	for range 2 {
		if wait, ok, err := s.Limits.Reserve(ctx, "db", time.Hour, time.Hour); err != nil || ok || wait < 4*time.Hour {
			t.Errorf("without patience: %v %v %v", wait, ok, err)
		}
	}
	if wait, ok, err := s.Limits.Reserve(ctx, "other", time.Millisecond, 0); err != nil || !ok || wait != 0 {
		t.Errorf("another source: %v %v %v", wait, ok, err)
	}
	if ttl := client.PTTL(ctx, s.Keys.Rate("db")).Val(); ttl < 4*time.Hour || ttl > 6*time.Hour {
		t.Errorf("its key lives for %v", ttl)
	}
}

// TestSlots: no more than exist are taken; one whose owner is silent is free again.
func TestSlots(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	take := func(who string, lease time.Duration, want bool) {
		t.Helper()
		if n, err := s.Limits.TakeSlot(t.Context(), "db", Holder{ID: who, Attempt: 1, Listener: "a.b", Worker: "host/1", Entry: "1-0"}, 2, lease, SlotSlack); n == 0 != want || err != nil {
			t.Errorf("%s: %v %v", who, n, err)
		}
	}
	take("a", time.Hour, true)
	take("b", time.Hour, true)
	take("c", time.Hour, false)
	take("a", time.Hour, true) // renewed
	if err := s.Limits.ReleaseSlot(t.Context(), "db", Holder{ID: "a", Attempt: 1, Listener: "a.b", Worker: "host/1", Entry: "1-0"}); err != nil {
		t.Error(err)
	}
	take("c", -time.Millisecond, true) // and silent
	take("d", time.Hour, true)
	take("c", time.Hour, false)
	client.ZAdd(t.Context(), s.Keys.Slots("other"), redis.Z{Score: math.Inf(1), Member: "foreign"})
	held, err := s.Limits.Holders(t.Context(), []string{"db", "none", "other"})
	if diff := cmp.Diff(map[string][]Holder{"db": {{"b", 1, "a.b", "host/1", "1-0"}, {"d", 1, "a.b", "host/1", "1-0"}}, "other": {{ID: "foreign"}}}, held); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if err := s.Limits.ReleaseSlot(t.Context(), "db", Holder{ID: "d", Attempt: 1, Listener: "a.b", Worker: "host/1", Entry: "1-0"}); err != nil {
		t.Error(err)
	}
	take("e", time.Second, true) // of a process with another lease
	if ttl := client.PTTL(t.Context(), s.Keys.Slots("db")).Val(); ttl <= time.Minute || ttl > 2*time.Hour {
		t.Errorf("its key lives for %v", ttl)
	}
}

// TestSlotsInOrder: a task that came much later gets no slot before one that waits, unless that asks no more.
func TestSlotsInOrder(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	holder := func(id string) Holder {
		return Holder{ID: id, Attempt: 1, Listener: "a.b", Worker: "host/1", Entry: "1-0"}
	}
	take := func(id string, slots, want int) {
		t.Helper()
		if n, err := s.Limits.TakeSlot(t.Context(), "db", holder(id), slots, time.Hour, SlotSlack); n != want || err != nil {
			t.Errorf("%s: %d, want %d, error %v", id, n, want, err)
		}
	}
	leave := func(id string) {
		t.Helper()
		if err := s.Limits.ReleaseSlot(t.Context(), "db", holder(id)); err != nil {
			t.Error(err)
		}
	}
	earlier := func(key, id string, by time.Duration) {
		client.ZIncrBy(t.Context(), key, -float64(by.Milliseconds()), holder(id).String())
	}
	queue, asked := s.Keys.SlotQueue("db"), s.Keys.SlotAsked("db")
	take("a", 1, 0)
	take("b", 1, 1)
	earlier(queue, "b", 10*time.Second)
	take("c", 1, 2)
	earlier(queue, "c", 5*time.Second)
	take("d", 1, 3)
	earlier(queue, "d", 2500*time.Millisecond)
	take("b", 1, 1)
	line, err := s.Limits.Queue(t.Context(), []string{"db", "none"})
	if diff := cmp.Diff(map[string][]Holder{"db": {holder("b"), holder("c"), holder("d")}}, line); diff != "" || err != nil {
		t.Error(diff, err)
	}
	leave("a")
	take("d", 1, 3)
	take("c", 1, 2)
	take("c", 2, 0) // there is one for b, too
	leave("c")
	take("c", 1, 3) // it left the queue when it got one
	earlier(queue, "c", 9500*time.Millisecond)
	take("c", 1, 0) // it came at nearly the same time as b
	leave("c")
	take("d", 1, 2)
	if n, err := s.Limits.TakeSlot(t.Context(), "db", holder("hurry"), 1, time.Hour, time.Hour); n != 0 || err != nil {
		t.Errorf("with more slack: %d %v", n, err)
	}
	leave("hurry")
	earlier(asked, "b", slotPlace+time.Second)
	take("d", 1, 0) // b fell silent
	leave("d")
	take("b", 1, 0)
	take("d", 1, 1)
	earlier(queue, "d", time.Second)
	take("c", 1, 2)
	earlier(queue, "c", -2*time.Hour)
	for _, key := range []string{queue, asked} {
		earlier(key, "d", -time.Hour) // before the clock of Redis went back; it does not ask again
	}
	leave("b")
	take("c", 1, 0)
	leave("c")
	take("d", 1, 0)
	take("e", 1, 1)
	leave("e") // it waits no more
	for _, key := range []string{queue, asked} {
		if n := client.ZCard(t.Context(), key).Val(); n != 0 {
			t.Errorf("%d are in %s", n, key)
		}
	}
	take("e", 1, 1)
	for _, key := range []string{queue, asked} {
		if ttl := client.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > slotPlace {
			t.Errorf("%s lives for %v", key, ttl)
		}
	}
}

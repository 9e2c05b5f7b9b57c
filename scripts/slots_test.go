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
		if got, err := s.Limits.TakeSlot(t.Context(), "db", Holder{ID: who, Attempt: 1, Listener: "a.b", Worker: "host/1", Entry: "1-0"}, 2, lease); got != want || err != nil {
			t.Errorf("%s: %v %v", who, got, err)
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

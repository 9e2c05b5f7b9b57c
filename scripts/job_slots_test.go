package scripts

import (
	"slices"
	"testing"
	"time"
)

// TestPlaces: a report has at most as many jobs as it may have, and slots without a job come back.
func TestPlaces(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	all := Partitions{s}
	taken, err := s.Limits.TakeJobSlots(ctx, "r", 2, time.Hour, []string{"1", "2", "3", "1"})
	if err != nil || !slices.Equal(taken, []bool{true, true, false, true}) {
		t.Fatal(taken, err)
	}
	if free, err := all.FreeJobSlots(ctx, "r", 2, time.Hour); err != nil || free != 0 {
		t.Errorf("%d slots are free before their jobs could start: %v", free, err)
	}
	// The process of 2 has died before it started the job.
	started(t, s, "1", time.Hour, "l")
	for _, id := range []string{"1", "2"} {
		client.ZIncrBy(ctx, s.Keys.Running("r"), -float64((2 * slotGrace).Milliseconds()), id)
	}
	if free, err := all.FreeJobSlots(ctx, "r", 2, time.Hour); err != nil || free != 1 {
		t.Errorf("%d slots are free: %v", free, err)
	}
	if left := client.ZRange(ctx, s.Keys.Running("r"), 0, -1).Val(); !slices.Equal(left, []string{"1"}) {
		t.Errorf("%v have slots", left)
	}
	if err := s.Limits.ReleaseJobSlots(ctx, "r", "1"); err != nil {
		t.Fatal(err)
	}
	if free, err := all.FreeJobSlots(ctx, "r", 2, time.Hour); err != nil || free != 2 {
		t.Errorf("%d slots are free at the end: %v", free, err)
	}
	for range 2 {
		if err := s.Gate.Queue(ctx, "r", "9", 1); err != nil {
			t.Fatal(err)
		}
	}
	if ids, err := s.Gate.Waiting(ctx, "r", 5); err != nil || !slices.Equal(ids, []string{"9"}) {
		t.Errorf("%v wait: %v", ids, err)
	}
	for i, want := range []int{1, 0} {
		if n, err := s.Gate.Release(ctx, "r", []string{"9", "10"}); err != nil || n != want || client.XLen(ctx, s.Keys.Jobs).Val() != 1 {
			t.Errorf("call %d: %d were pushed: %v", i, n, err)
		}
	}
	// A slot of a job that runs for longer than the lease is renewed.
	started(t, s, "7", time.Hour, "l")
	if taken, err := s.Limits.TakeJobSlots(ctx, "r", 2, time.Minute, []string{"7"}); err != nil || !taken[0] {
		t.Fatal(taken, err)
	}
	client.ZIncrBy(ctx, s.Keys.Running("r"), -float64((50 * time.Second).Milliseconds()), "7")
	if free, err := all.FreeJobSlots(ctx, "r", 2, time.Minute); err != nil || free != 1 {
		t.Errorf("%d slots are free: %v", free, err)
	}
	if ends := client.ZScore(ctx, s.Keys.Running("r"), "7").Val(); time.Until(time.UnixMilli(int64(ends))) < 30*time.Second {
		t.Errorf("the slot of a running job ends at %v", time.UnixMilli(int64(ends)))
	}
}

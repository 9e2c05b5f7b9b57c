package scripts

import (
	"slices"
	"testing"
	"time"
)

// TestPlaces: a report has at most as many jobs as it may have, and places without a job come back.
func TestPlaces(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	all := Partitions{s}
	taken, err := s.Gate.TakePlaces(ctx, "r", 2, time.Hour, []string{"1", "2", "3", "1"})
	if err != nil || !slices.Equal(taken, []bool{true, true, false, true}) {
		t.Fatal(taken, err)
	}
	if free, err := all.FreePlaces(ctx, "r", 2, time.Hour); err != nil || free != 0 {
		t.Errorf("%d places are free before their jobs could start: %v", free, err)
	}
	// The process of 2 has died before it started the job.
	started(t, s, "1", time.Hour, "l")
	for _, id := range []string{"1", "2"} {
		client.ZIncrBy(ctx, s.Keys.Running("r"), -float64((2 * placeTime).Milliseconds()), id)
	}
	if free, err := all.FreePlaces(ctx, "r", 2, time.Hour); err != nil || free != 1 {
		t.Errorf("%d places are free: %v", free, err)
	}
	if left := client.ZRange(ctx, s.Keys.Running("r"), 0, -1).Val(); !slices.Equal(left, []string{"1"}) {
		t.Errorf("%v have places", left)
	}
	if err := s.Gate.GivePlace(ctx, "r", "1"); err != nil {
		t.Fatal(err)
	}
	if free, err := all.FreePlaces(ctx, "r", 2, time.Hour); err != nil || free != 2 {
		t.Errorf("%d places are free at the end: %v", free, err)
	}
	for range 2 {
		if err := s.Gate.Queue(ctx, "r", "9"); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.Gate.Queued(ctx, "r"); err != nil || n != 1 {
		t.Errorf("%d ids wait: %v", n, err)
	}
	if n, err := s.Gate.Release(ctx, "r", 5); err != nil || n != 1 || client.XLen(ctx, s.Keys.Jobs()).Val() != 1 {
		t.Errorf("%d were pushed: %v", n, err)
	}
}

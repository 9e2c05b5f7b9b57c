package scripts

import (
	"slices"
	"testing"
	"time"

	"github.com/fanfold/fanfold/scripts/job"
)

// TestTicketsOfAJobThatEndsAndStarts are found at any moment, while its hash moves between both keys.
func TestTicketsOfAJobThatEndsAndStarts(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	hash, kept := s.Keys.Job("1"), s.Keys.Kept("1")
	client.HSet(ctx, hash, "job", "3 RUN 1 0 1 0/2 0 |b| 1 1 r/d/x", "listeners", "a,b;c", "a:at", "file", "a:kept", "1 9", "c:at", "own")
	for ends, n := range map[int64]int{0: 1, 2: 1, 3: 0} {
		if got, err := s.Kept.Tickets(ctx, []string{"1", "2"}, ends); err != nil || len(got) != n {
			t.Errorf("if attempt %d ends: %q %v", ends, got, err)
		}
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for from, to := hash, kept; ; from, to = to, from {
			select {
			case <-stop:
				return
			default:
				client.Rename(ctx, from, to)
			}
		}
	}()
	ids := slices.Repeat([]string{"1"}, 500)
	for range 20 {
		if got, err := s.Kept.Tickets(ctx, ids, 0); err != nil || len(got) != len(ids) {
			t.Errorf("%d of %d tickets: %v", len(got), len(ids), err)
		}
	}
	close(stop)
	<-done
}

// TestFreeKept: a full Redis deletes what is kept of failed jobs, and nothing else of them.
func TestFreeKept(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	if n, err := s.Kept.Free(ctx); n != 0 || err != nil {
		t.Errorf("without dead jobs: %d, %v", n, err)
	}
	start := attempt("1", time.Hour, "a,b")
	start.Keep = job.Keep{For: time.Hour, Definitions: map[string]string{"a": "0", "b": "0"}}.String()
	if outcomes, err := s.Jobs.Start(ctx, "", start); err != nil || outcomes[0] != OK {
		t.Fatal(outcomes, err)
	}
	if outcome, err := firstTask(t, s, "a", "w").Complete(ctx, chunkOf(0, "1"), 0); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	if outcome, err := firstTask(t, s, "b", "w").Fail(ctx, "broken", job.BlameSource); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	entry, _, _ := read(t, s, s.Keys.FanIn, "w")
	m, _ := entry.Message()
	_, fold, err := s.Folds.Claim(ctx, Claim{Message: m, Worker: "w", Entry: entry})
	if err != nil || fold == nil {
		t.Fatal(fold, err)
	}
	if outcomes, err := s.Folds.Settle(ctx, End{Fold: fold, Status: "FAILED", Detail: "broken"}); err != nil || outcomes[0] != OK {
		t.Fatal(outcomes, err)
	}
	kept, err := s.Kept.Read(ctx, "1", "2")
	if err != nil || kept[0] == nil || kept[1] != nil || !kept[0].Tasks["a"].Done || kept[0].Tasks["a"].Reused != 1 {
		t.Fatal(kept, err)
	}
	if n, err := s.Kept.Free(ctx); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if kept, err := s.Kept.Read(ctx, "1"); err != nil || kept[0] != nil {
		t.Error(kept, err)
	}
	if client.Exists(ctx, s.Keys.Ended("1")).Val() != 1 || client.ZCard(ctx, s.Keys.Dead).Val() != 1 {
		t.Error("the tombstone or the list of dead jobs is gone")
	}
	// It starts as if nothing had been kept.
	start.Attempt, start.Reuse = 2, &Reuse{Attempt: 1, Listeners: []string{"a"}}
	if outcomes, err := s.Jobs.Start(ctx, "", start); err != nil || outcomes[0] != OK {
		t.Error(outcomes, err)
	}
}

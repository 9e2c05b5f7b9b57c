package scripts

import (
	"errors"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestAFullRedisEmptiesItself: nothing new starts, and what runs comes to its end.
func TestAFullRedisEmptiesItself(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	client := server.Client()
	t.Cleanup(func() { _ = client.Close() })
	s := New(Options{Redis: client})
	ctx := t.Context()
	ready(t, s, "ready", time.Hour)
	ready(t, s, "small", time.Hour)
	started(t, s, "stored", time.Hour, "l")
	stored := firstTask(t, s, "l", "w")
	if outcome, err := stored.Append(ctx, chunkOf(0, "1")); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	started(t, s, "given-up", time.Hour, "l")
	givenUp := firstTask(t, s, "l", "w")
	started(t, s, "overdue", -time.Second, "l")
	if err := s.Load(ctx); err != nil {
		t.Fatal(err)
	}
	if err := client.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Jobs.Start(ctx, "", attempt("new", time.Hour, "l")); !errors.Is(err, ErrFull) {
		t.Errorf("a full Redis started a job, so the test is not what it says: %v", err)
	}
	if outcome, _, err := s.Jobs.Expire(ctx, "overdue"); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	if outcome, err := takenOver(t, s, givenUp, "w2").Fail(ctx, "no more", job.BlameSource); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	if outcome, err := stored.Complete(ctx, Chunk{}, 0); err != nil || outcome != Already {
		t.Fatal(outcome, err)
	}
	if passed, err := s.Clock.Passed(ctx, 0, 10); err != nil || len(passed.Passed) != 1 {
		t.Fatal(passed, err)
	}
	folds, err := s.Folds.Open(ctx, []Small{{Message: Message{"small", 1}, Stage: 1}})
	if err != nil || folds[0] == nil {
		t.Fatal(folds, err)
	}
	for id, want := range map[string]Outcome{"ready": OK, "stored": OK, "overdue": ToFail, "given-up": ToFail} {
		folds = append(folds, claimed(t, s, id, "w", want))
	}
	for _, fold := range folds {
		if fold.Status != job.StatusFailing {
			if outcomes, err := s.Folds.Publish(ctx, fold); err != nil || outcomes[0] != OK {
				t.Fatal(outcomes, err)
			}
		}
		if outcomes, err := s.Folds.Settle(ctx, End{fold, "FAILED", "x", false}); err != nil || outcomes[0] != OK {
			t.Fatal(outcomes, err)
		}
		if n := client.Exists(ctx, s.Keys.Job(fold.ID)).Val(); n != 0 {
			t.Errorf("the hash of %s exists", fold.ID)
		}
	}
}

// TestClaimsKeepAJobAlive: what was decided is not forgotten while the record's database is
// away.
func TestClaimsKeepAJobAlive(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	ready(t, s, "1", time.Hour)
	long := func(what string) {
		t.Helper()
		if got := client.PTTL(ctx, s.Keys.Job("1")).Val(); got < Margin-time.Second {
			t.Errorf("%s: the hash lives for %v", what, got)
		}
	}
	shorten := func() { client.PExpire(ctx, s.Keys.Job("1"), 5*time.Second) }
	shorten()
	fold := claimed(t, s, "1", "w", OK)
	long("claim")
	shorten()
	if outcome, err := fold.Renew(ctx); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	long("renewal")
}

// TestMend leaves alone what runs.
func TestMend(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	started(t, s, "runs", -time.Second, "l")
	if outcome, err := s.Clock.Repair(ctx, "runs"); err != nil || outcome != Gone {
		t.Errorf("a job that runs: %v %v", outcome, err)
	}
	started(t, s, "lost", -time.Second, "l")
	client.Del(ctx, s.Keys.Job("lost"))
	for i, want := range []Outcome{OK, Gone} {
		if outcome, err := s.Clock.Repair(ctx, "lost"); err != nil || outcome != want {
			t.Errorf("a job that is lost, call %d: %v %v", i, outcome, err)
		}
	}
	if n := client.XLen(ctx, s.Keys.Jobs).Val(); n != 1 {
		t.Errorf("%d pushes", n)
	}
	if ids := client.ZRange(ctx, s.Keys.Deadlines, 0, -1).Val(); len(ids) != 1 || ids[0] != "runs" {
		t.Errorf("deadlines of %v", ids)
	}
}

package scripts

import (
	"errors"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/testenv"
)

// start starts a job with one listener and completes it where asked.
func started(t *testing.T, s *Scripts, id string, timeout time.Duration, complete bool) {
	t.Helper()
	if outcome, err := s.Start(t.Context(), Start{
		ID: id, Attempt: 1, Report: "r", Definition: "d", Parameters: []byte("{}"), Timeout: timeout, Listeners: []string{"l"},
	}); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	if !complete {
		return
	}
	task := Task{ID: id, Attempt: 1, Listener: "l", Owner: "o", Lease: time.Minute}
	if outcome, _, err := s.Take(t.Context(), task, []string{"d"}); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	chunk := Chunk{Rows: 1, Names: []string{"c"}, Columns: []map[string]string{{"name": "c"}}, Fields: [][]byte{[]byte("[1]")}}
	if outcome, err := s.Complete(t.Context(), task, chunk, 0); err != nil || outcome != Already {
		t.Fatal(outcome, err)
	}
}

// TestAFullRedisEmptiesItself: nothing new starts, and what runs comes to its
// end.
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
	started(t, s, "ready", time.Hour, true)
	started(t, s, "overdue", -time.Second, false)
	if err := s.Load(ctx); err != nil {
		t.Fatal(err)
	}
	if err := client.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(ctx, Start{ID: "new", Attempt: 1, Timeout: time.Hour, Listeners: []string{"l"}}); err == nil {
		t.Error("a full Redis started a job: the test is not what it says")
	}
	if outcome, _, err := s.Expire(ctx, "overdue"); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	for id, want := range map[string]Outcome{"ready": OK, "overdue": ToFail} {
		outcome, state, err := s.Claim(ctx, Claim{ID: id, Attempt: 1, Worker: "w", Lease: time.Minute, Known: []string{"d"}})
		if err != nil || outcome != want {
			t.Fatal(id, outcome, err)
		}
		if want == OK {
			if outcome, err := s.Publish(ctx, state); err != nil || outcome != OK {
				t.Fatal(outcome, err)
			}
		}
		if outcome, err := s.Settle(ctx, state, "FAILED", "x"); err != nil || outcome != OK {
			t.Fatal(outcome, err)
		}
		if n := client.Exists(ctx, s.Data(id)).Val(); n != 0 {
			t.Errorf("data of %s is there", id)
		}
	}
}

// TestClaimsKeepAJobAlive: what was decided is not forgotten while its record's
// database is away.
func TestClaimsKeepAJobAlive(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t, false)
	ctx := t.Context()
	started(t, s, "1", time.Hour, true)
	ttls := func(what string, want time.Duration) {
		t.Helper()
		for _, key := range []string{s.State("1"), s.Data("1")} {
			if got := client.PTTL(ctx, key).Val(); got < want {
				t.Errorf("%s: %s lives for %v, less than %v", what, key, got, want)
			}
		}
	}
	shorten := func() {
		client.HSet(ctx, s.State("1"), "expires", time.Now().Add(5*time.Second).UnixMilli())
		client.PExpire(ctx, s.State("1"), 5*time.Second)
		client.PExpire(ctx, s.Data("1"), 5*time.Second)
	}
	shorten()
	_, state, err := s.Claim(ctx, Claim{ID: "1", Attempt: 1, Worker: "w", Lease: time.Minute, Known: []string{"d"}})
	if err != nil || state == nil {
		t.Fatal(state, err)
	}
	ttls("claim", Margin-time.Second)
	shorten()
	if outcome, err := s.KeepFold(ctx, state, time.Minute, Entry{}); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	ttls("keepalive", Margin-time.Second)
}

// TestPushAgain leaves alone what runs.
func TestPushAgain(t *testing.T) {
	t.Parallel()
	for _, split := range []bool{false, true} {
		s, client := newScripts(t, split)
		ctx := t.Context()
		started(t, s, "runs", -time.Second, false)
		if outcome, err := s.PushAgain(ctx, "runs"); err != nil || outcome != Gone {
			t.Errorf("a job that runs: %v %v", outcome, err)
		}
		started(t, s, "lost", -time.Second, false)
		client.Del(ctx, s.State("lost"))
		if outcome, err := s.PushAgain(ctx, "lost"); err != nil || outcome != OK {
			t.Errorf("a job that is lost: %v %v", outcome, err)
		}
		if n := client.XLen(ctx, s.Jobs()).Val(); n != 1 {
			t.Errorf("%d pushes", n)
		}
		if ids := client.ZRange(ctx, s.Deadlines(), 0, -1).Val(); len(ids) != 1 || ids[0] != "runs" {
			t.Errorf("deadlines of %v", ids)
		}
	}
}

// TestKeysOfAnotherType are not tried for ever.
func TestKeysOfAnotherType(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t, false)
	client.Set(t.Context(), s.State("1"), "x", time.Minute)
	if _, _, err := s.Claim(t.Context(), Claim{ID: "1", Attempt: 1}); !errors.Is(err, ErrBroken) {
		t.Errorf("%v", err)
	}
	client.HSet(t.Context(), s.State("2"), "attempt", "1", "status", "RUN", "stage", "1", "l:stage", "1")
	if _, _, err := s.Expire(t.Context(), "2"); !errors.Is(err, ErrBroken) {
		t.Errorf("%v", err)
	}
}

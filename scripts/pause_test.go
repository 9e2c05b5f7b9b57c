package scripts

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// pausedJob is a running job of listener a whose deadline is in that time, in a Redis
// where that listener is paused since a while.
func pausedJob(t *testing.T, s *Scripts, client *redis.Client, waits bool, timeout, since time.Duration) (deadline time.Time) {
	t.Helper()
	if got, err := s.Start(t.Context(), Start{ID: "1", Attempt: 1, Report: "r", Definition: "d", Timeout: timeout, Listeners: []string{"a", "b"}, Waits: waits}); got != OK || err != nil {
		t.Fatal(got, err)
	}
	state, err := s.Read(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	begun := state.Started.Add(-time.Hour)
	client.HSet(t.Context(), s.State("1"), "started", begun.UnixMilli())
	client.ZAdd(t.Context(), s.PausedSet(), redis.Z{Member: PausedListener("a"), Score: float64(time.Now().Add(-since).UnixMilli())})
	return state.Deadline
}

// TestADeadlineWaits: one that passes during a pause moves by the pause, and nothing
// is moved twice; after it the job has what it had left when the pause began.
func TestADeadlineWaits(t *testing.T) {
	t.Parallel()
	for _, split := range []bool{false, true} {
		t.Run(fmt.Sprint("split=", split), func(t *testing.T) {
			t.Parallel()
			s, client := newScripts(t, split)
			// It passed a minute ago; the pause began 10 minutes ago.
			before := pausedJob(t, s, client, true, -time.Minute, 10*time.Minute)
			if got, _, err := s.Expire(t.Context(), "1"); got != Busy || err != nil {
				t.Fatal(got, err)
			}
			state, err := s.Read(t.Context(), "1")
			if err != nil {
				t.Fatal(err)
			}
			moved := state.Deadline.Sub(before)
			if state.Status != StatusRun || moved < 10*time.Minute || moved > 11*time.Minute {
				t.Errorf("%s, moved by %s", state.Status, moved)
			}
			if score := client.ZScore(t.Context(), s.Deadlines(), "1").Val(); int64(score) != state.Deadline.UnixMilli() {
				t.Errorf("the score is %v, the deadline %d", score, state.Deadline.UnixMilli())
			}
			if at := client.PExpireTime(t.Context(), s.Timeout("1", 1)).Val(); at.Milliseconds() != state.Deadline.UnixMilli() {
				t.Errorf("the key ends at %v", at)
			}
			if was, err := s.ResumeListener(t.Context(), "a"); !was || err != nil {
				t.Fatal(was, err)
			}
			again, err := s.Read(t.Context(), "1")
			if err != nil || again.Deadline.Sub(state.Deadline) > time.Minute {
				t.Errorf("moved again by %s %v", again.Deadline.Sub(state.Deadline), err)
			}
			if was, err := s.ResumeListener(t.Context(), "a"); was || err != nil {
				t.Errorf("resumed twice: %v %v", was, err)
			}
			// From now on it fails as others.
			client.HSet(t.Context(), s.State("1"), "deadline", time.Now().Add(-time.Second).UnixMilli())
			if got, _, err := s.Expire(t.Context(), "1"); got != OK || err != nil {
				t.Error(got, err)
			}
		})
	}
}

// TestADeadlineThatDoesNotWait: without the setting, before the pause, for a listener
// that is done, and in a stage that has only begun.
func TestADeadlineThatDoesNotWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		waits bool
		since time.Duration
		field string // of the state, which is set
		want  Outcome
	}{
		"it waits":                     {true, 10 * time.Minute, "x", Busy},
		"without the setting":          {false, 10 * time.Minute, "x", OK},
		"it passed before the pause":   {true, 30 * time.Second, "x", OK},
		"the listener is done":         {true, 10 * time.Minute, "a:done", OK},
		"the stage began after it":     {true, 10 * time.Minute, "began", OK},
		"it was moved for another one": {true, 10 * time.Minute, "extended", OK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, client := newScripts(t, false)
			pausedJob(t, s, client, c.waits, -time.Minute, c.since)
			client.HSet(t.Context(), s.State("1"), c.field, time.Now().UnixMilli())
			if got, _, err := s.Expire(t.Context(), "1"); got != c.want || err != nil {
				t.Error(got, err)
			}
			if state, err := s.Read(t.Context(), "1"); err != nil || c.field == "x" && c.want == OK && state.Reason != "deadline passed in stage 1, waiting for a (paused), b" {
				t.Error(state, err)
			}
		})
	}
}

// TestParked: ids that wait for a report are pushed in their order when it is resumed,
// and one that comes after that at once.
func TestParked(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t, false)
	ctx := t.Context()
	since, err := s.Pause(ctx, PausedReport("r"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.Pause(ctx, PausedReport("r")); err != nil || !again.Equal(since) {
		t.Errorf("paused since %v, and then since %v %v", since, again, err)
	}
	if paused, err := s.IsPaused(ctx, PausedReport("r")); !paused || err != nil {
		t.Error(paused, err)
	}
	for _, id := range []string{"2", "1", "3"} {
		if err := s.Park(ctx, "r", id); err != nil {
			t.Fatal(err)
		}
		client.ZAdd(ctx, s.Waiting("r"), redis.Z{Member: id, Score: map[string]float64{"2": 1, "1": 2, "3": 3}[id]})
	}
	if n := client.XLen(ctx, s.Jobs()).Val(); n != 0 {
		t.Errorf("%d are pushed", n)
	}
	was, n, err := s.ResumeReport(ctx, "r")
	if !was || n != 3 || err != nil {
		t.Error(was, n, err)
	}
	if err := s.Park(ctx, "r", "4"); err != nil {
		t.Fatal(err)
	}
	if paused, err := s.IsPaused(ctx, PausedReport("r")); paused || err != nil {
		t.Error("what was known is not asked for again", paused, err)
	}
	var ids []any
	for _, e := range client.XRange(ctx, s.Jobs(), "-", "+").Val() {
		ids = append(ids, e.Values["id"])
	}
	if fmt.Sprint(ids) != "[2 1 3 4]" || client.Exists(ctx, s.Waiting("r")).Val() != 0 {
		t.Errorf("pushed: %v", ids)
	}
}

package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

// TestProgress tells in the hash of a job that runs for a while how far it is, with how long its
// earlier runs took.
func TestProgress(t *testing.T) {
	t.Parallel()
	b := shared(t)
	for range 3 {
		values := []string{"id", "0", "event", "finished", "report", "r", "status", "SUCCESS", "ms", "3600000"}
		if err := b.client.XAdd(t.Context(), &redis.XAddArgs{Stream: b.s.Keys.Events, Values: values}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	b.start("1", time.Hour)
	b.run("a")
	b.until("the job says how far it is", func() bool {
		text := b.client.HGet(t.Context(), b.s.Keys.Job("1"), "progress").Val()
		return strings.HasPrefix(text, "0/1 · l") && strings.HasSuffix(text, " left")
	})
	if _, err := b.s.Jobs.Read(t.Context(), "1"); err != nil {
		t.Error(err)
	}
}

// TestProgressOfAShortJob is not written, and none into another attempt, a job that has gone, or a
// key of another type.
func TestProgressOfAShortJob(t *testing.T) {
	t.Parallel()
	b := shared(t)
	for _, id := range []string{"short", "gone", "again", "runs"} {
		b.start(id, time.Hour)
	}
	s := b.scheduler("a")
	s.pace.progress = time.Hour
	if _, err := s.progress.once(t.Context()); err != nil {
		t.Fatal(err)
	}
	var states []*job.State
	for _, id := range []string{"gone", "again", "runs"} {
		state, err := b.s.Jobs.Read(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, state)
	}
	b.client.Del(t.Context(), b.s.Keys.Job("gone"))
	b.startAttempt("again", 2, "l", time.Hour)
	b.client.Set(t.Context(), b.s.Keys.Job("text"), "x", 0)
	states = append(states, &job.State{ID: "text", Attempt: 1})
	if n, err := b.s.Jobs.WriteProgress(t.Context(), states, []string{"a", "b", "c", "d"}); n != 1 || err != nil {
		t.Error(n, err)
	}
	if n := b.client.Exists(t.Context(), b.s.Keys.Job("gone")).Val(); n != 0 {
		t.Error("a hash that has gone was made again")
	}
	for id, want := range map[string]string{"short": "", "again": "", "runs": "c"} {
		if got := b.client.HGet(t.Context(), b.s.Keys.Job(id), "progress").Val(); got != want {
			t.Errorf("%s has %q", id, got)
		}
	}
}

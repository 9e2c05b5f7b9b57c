package scripts

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestTurns: preempted jobs start one after another, the oldest first.
func TestTurns(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	now, err := s.Now(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{"old", "middle", "young"} {
		client.ZAdd(ctx, s.Keys.Contenders, redis.Z{Member: id, Score: float64(now.Add(time.Duration(i-10) * time.Minute).UnixMilli())})
	}
	client.Set(ctx, s.Keys.Full, "1", 0)
	turn := func(id string) string {
		t.Helper()
		turns, err := s.Memory.Turns(ctx, []string{id})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(turns[id].After, turns[id].Older)
	}
	want := func(when string, turns ...string) {
		t.Helper()
		for i, id := range []string{"old", "middle", "young"} {
			if got := turn(id); got != turns[i] {
				t.Errorf("%s: the turn of %s is %s, not %s", when, id, got, turns[i])
			}
		}
	}
	delayed := func(id string, in time.Duration) {
		client.ZAdd(ctx, s.Keys.Delayed, redis.Z{Member: id, Score: float64(now.Add(in).UnixMilli())})
	}
	want("nobody waits or runs", "false", "false", "false")
	delayed("middle", time.Second)
	want("one waits", "false", "false", "middletrue")
	started(t, s, "young", time.Hour, "l")
	want("a younger one runs", "youngfalse", "youngfalse", "middletrue") // only the next one polls often
	client.Del(ctx, s.Keys.Full)
	want("Redis is not full any more", "false", "false", "middletrue")
	delayed("middle", time.Hour) // by an operator
	want("the older one is delayed for long", "false", "false", "false")
	if turns, err := s.Memory.Turns(ctx, []string{"middle", "old", "other"}); err != nil || turns["middle"].After != "old" || turns["old"].After != "" || len(turns) != 2 {
		t.Errorf("together: %v %v", turns, err)
	}
	if pause := (Turn{After: "x", Older: true, Waited: time.Hour}).Pause(); pause != maxPreempted {
		t.Errorf("a pause of %v", pause)
	}
	if pause := (Turn{After: "x", Waited: time.Hour}).Pause(); pause != nextPause {
		t.Errorf("the next one pauses for %v", pause)
	}
}

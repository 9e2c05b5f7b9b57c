package scheduler

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
)

func TestFailOverdue(t *testing.T) {
	t.Parallel()
	b := shared(t)
	scheduler, s, client, ctx := b.scheduler("a"), b.s, b.client, t.Context()
	b.start("late", -2*time.Second)
	b.start("later", -time.Second)
	if outcome, late, err := s.Expire(ctx, "later"); err != nil || outcome != scripts.OK || late < time.Second || late > time.Minute {
		t.Errorf("%v %v %v", outcome, late, err)
	}
	b.start("early", time.Hour)
	b.start("lost", -time.Second)
	if err := client.Del(ctx, s.State("lost")).Err(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := scheduler.failOverdue(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, statuses, err := s.Attempts(ctx, []string{"late", "early"}); err != nil || statuses[0] != "FAILING" || statuses[1] != "RUN" {
		t.Errorf("%v %v", statuses, err)
	}
	if n := client.XLen(ctx, s.FanIn()).Val(); n != 2 {
		t.Errorf("%d entries for two jobs that fail", n)
	}
	// The state is lost: its record says what comes next.
	if jobs := client.XRange(ctx, s.Jobs(), "-", "+").Val(); len(jobs) != 1 || jobs[0].Values["id"] != "lost" {
		t.Errorf("%+v", jobs)
	}
	if _, err := client.ZScore(ctx, s.Deadlines(), "lost").Result(); err != redis.Nil {
		t.Errorf("the deadline of the lost job: %v", err)
	}
}

// TestTimeoutsByEvent is the normal case: Redis tells of the end of each key, at
// once, although it has many others that end some day.
func TestTimeoutsByEvent(t *testing.T) {
	t.Parallel()
	b, _ := private(t)
	pipe := b.client.Pipeline()
	for i := range 20_000 {
		pipe.Set(t.Context(), "other:"+strconv.Itoa(i), i, time.Hour)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	registry := b.run("a")
	other := b.run("b")
	b.hears(registry, 1)
	b.hears(other, 1)
	b.startMany(60, 500*time.Millisecond, time.Second)
	b.allFail()
	events, sweeps := found(t, registry)
	more, moreSweeps := found(t, other)
	t.Logf("%v and %v by event, %v and %v by sweep", events, more, sweeps, moreSweeps)
	if events+more < 30 || events+sweeps+more+moreSweeps != 60 {
		t.Error("the events did not find them")
	}
}

// TestATimeoutOfAnEarlierAttempt does not end the one that runs.
func TestATimeoutOfAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	b := shared(t)
	registry := b.run("a")
	b.hears(registry, 1)
	ctx := t.Context()
	for attempt, timeout := range []time.Duration{time.Hour, time.Hour} {
		if _, err := b.s.Start(ctx, scripts.Start{ID: "1", Attempt: int64(attempt + 1), Report: "r", Definition: "d", Timeout: timeout, Listeners: []string{"l"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.client.PExpire(ctx, b.s.Timeout("1", 1), time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	b.until("the lock of the timeout that was heard", func() bool {
		b.client.Exists(ctx, b.s.Timeout("1", 1))
		return b.client.Exists(ctx, b.s.Lock("timeout:1:1")).Val() == 1
	})
	b.start("2", time.Millisecond) // until it fails, the other would have
	b.until("the other fails", func() bool {
		_, statuses, err := b.s.Attempts(ctx, []string{"2"})
		return err == nil && statuses[0] == scripts.StatusFailing
	})
	if attempts, statuses, err := b.s.Attempts(ctx, []string{"1"}); err != nil || attempts[0] != 2 || statuses[0] != scripts.StatusRun {
		t.Errorf("%v %v %v", attempts, statuses, err)
	}
}

// TestPublishingWins has jobs that are over their deadline and not settled: they
// are looked at again each second, and not all the time.
func TestPublishingWins(t *testing.T) {
	t.Parallel()
	b, _ := private(t)
	registry := b.run("a")
	b.hears(registry, 1)
	b.start("failing", time.Millisecond)
	b.start("publishing", 800*time.Millisecond)
	ctx := t.Context()
	if err := b.client.HSet(ctx, b.s.State("publishing"), "status", scripts.StatusPublishing).Err(); err != nil {
		t.Fatal(err)
	}
	b.until("one fails, both are over", func() bool {
		_, statuses, err := b.s.Attempts(ctx, []string{"failing"})
		return err == nil && statuses[0] == scripts.StatusFailing && time.Since(b.due["publishing"]) > 200*time.Millisecond
	})
	before, begin := commands(t, b.client), time.Now()
	rest(ctx, 3*time.Second)
	seconds := time.Since(begin).Seconds()
	if n := float64(commands(t, b.client)-before) / seconds; n > 200 {
		t.Errorf("%.0f commands a second for nothing", n)
	}
	if _, statuses, err := b.s.Attempts(ctx, []string{"publishing"}); err != nil || statuses[0] != scripts.StatusPublishing {
		t.Errorf("%v %v", statuses, err)
	}
	if b.client.ZCard(ctx, b.s.Deadlines()).Val() != 2 {
		t.Error("a deadline is gone before its job was settled")
	}
}

// commands is how many commands the server has processed.
func commands(t *testing.T, client *redis.Client) (n int) {
	t.Helper()
	info := client.Info(t.Context(), "stats").Val()
	for line := range strings.Lines(info) {
		if _, err := fmt.Sscanf(line, "total_commands_processed:%d", &n); err == nil {
			return n
		}
	}
	t.Fatal(info)
	return 0
}

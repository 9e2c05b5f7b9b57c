package scheduler

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

func TestFailOverdue(t *testing.T) {
	t.Parallel()
	b := shared(t)
	scheduler, s, client, ctx := b.scheduler("a"), b.s, b.client, t.Context()
	b.start("late", -2*time.Second)
	b.start("later", -time.Second)
	if outcome, late, err := s.Jobs.Expire(ctx, "later"); err != nil || outcome != scripts.OK || late < time.Second || late > time.Minute {
		t.Errorf("%v %v %v", outcome, late, err)
	}
	b.start("early", time.Hour)
	b.start("lost", -time.Second)
	if err := client.Del(ctx, s.Keys.Job("lost")).Err(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := scheduler.deadlines.failOverdue(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, statuses, err := s.Jobs.Attempts(ctx, []string{"late", "early"}); err != nil || statuses[0] != "FAILING" || statuses[1] != "RUN" {
		t.Errorf("%v %v", statuses, err)
	}
	if n := client.XLen(ctx, s.Keys.FanIn).Val(); n != 2 {
		t.Errorf("%d entries for two jobs that fail", n)
	}
	// The state is lost: its record says what comes next.
	if jobs := client.XRange(ctx, s.Keys.Jobs, "-", "+").Val(); len(jobs) != 1 || jobs[0].Values["id"] != "lost" {
		t.Errorf("%+v", jobs)
	}
	if _, err := client.ZScore(ctx, s.Keys.Deadlines, "lost").Result(); err != redis.Nil {
		t.Errorf("the deadline of the lost job: %v", err)
	}
}

// TestFailOverwritten: the id of a job whose state another program has overwritten is pushed once,
// however many passes find it, and keeps its deadline until an engine has failed its record.
func TestFailOverwritten(t *testing.T) {
	t.Parallel()
	b := shared(t)
	scheduler, s, client, ctx := b.scheduler("a"), b.s, b.client, t.Context()
	for _, id := range []string{"text", "line"} {
		b.start(id, -time.Second)
	}
	if err := client.Set(ctx, s.Keys.Job("text"), "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	client.HSet(ctx, s.Keys.Job("line"), "job", "1 RUN")
	for range 3 {
		if _, err := scheduler.deadlines.failOverdue(ctx); err != nil {
			t.Fatal(err)
		}
	}
	pushed := map[any]int{}
	for _, e := range client.XRange(ctx, s.Keys.Jobs, "-", "+").Val() {
		pushed[e.Values["id"]]++
	}
	if len(pushed) != 2 || pushed["text"] != 1 || pushed["line"] != 1 {
		t.Errorf("pushed %v", pushed)
	}
	if n := client.ZCard(ctx, s.Keys.Deadlines).Val(); n != 2 {
		t.Errorf("%d deadlines", n)
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

// TestTheDeadlineOfAnEarlierAttempt, at which the wake key still ends, does not end the
// attempt that runs.
func TestTheDeadlineOfAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	b := shared(t)
	registry := b.run("a")
	b.hears(registry, 1)
	ctx := t.Context()
	b.startAttempt("1", 1, "l", time.Second)
	wake := b.client.PExpireTime(ctx, b.s.Keys.Wake).Val()
	if due := time.Duration(b.client.ZScore(ctx, b.s.Keys.Deadlines, "1").Val()) * time.Millisecond; wake != due {
		t.Fatalf("the wake key ends at %v, not at the deadline %v", wake, due)
	}
	b.startAttempt("1", 2, "l", time.Hour)
	b.start("2", time.Second) // until it fails, the other would have
	b.allFail()
	if attempts, statuses, err := b.s.Jobs.Attempts(ctx, []string{"1"}); err != nil || attempts[0] != 2 || statuses[0] != job.StatusRun {
		t.Errorf("%v %v %v", attempts, statuses, err)
	}
}

// TestTheWakeKey ends at the next deadline: whoever puts an earlier one sets it, and whoever
// finds that it is over, or gone, sets it for the next one.
func TestTheWakeKey(t *testing.T) {
	t.Parallel()
	b := shared(t)
	scheduler, ctx := b.scheduler("a"), t.Context()
	ends := func(id string) {
		t.Helper()
		want := time.Duration(-2) // there is no key
		if id != "" {
			want = time.Duration(b.due[id].UnixMilli()) * time.Millisecond
		}
		if got := b.client.PExpireTime(ctx, b.s.Keys.Wake).Val(); got != want {
			t.Errorf("it ends at %v, not at %v, the deadline of %q", got, want, id)
		}
	}
	touch := func() time.Duration {
		t.Helper()
		wait, err := scheduler.deadlines.touchWake(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return wait
	}
	if wait := touch(); wait != pause {
		t.Errorf("without a deadline it waits for %v", wait)
	}
	b.start("late", 2*time.Hour)
	ends("late")
	b.start("later", 3*time.Hour)
	ends("late")
	b.start("early", time.Hour)
	ends("early")
	b.client.Del(ctx, b.s.Keys.Wake) // by somebody else
	if wait := touch(); wait < 59*time.Minute || wait > time.Hour+time.Second {
		t.Errorf("it waits for %v", wait)
	}
	ends("early")
	// The next deadline moves, as one does during a pause: the key ends too early, once.
	b.client.ZAdd(ctx, b.s.Keys.Deadlines, redis.Z{Score: float64(time.Now().Add(4 * time.Hour).UnixMilli()), Member: "early"})
	touch()
	ends("late")
	b.start("now", time.Millisecond)
	b.until("its deadline is over", func() bool {
		now, err := b.s.Now(ctx)
		return err == nil && now.After(b.due["now"].Add(time.Millisecond))
	})
	touch()
	ends("late")
	if wait, err := scheduler.deadlines.failOverdue(ctx); err != nil || wait != pause {
		t.Error(wait, err)
	}
	if _, statuses, err := b.s.Jobs.Attempts(ctx, []string{"now", "late"}); err != nil || statuses[0] != job.StatusFailing || statuses[1] != job.StatusRun {
		t.Errorf("%v %v", statuses, err)
	}
	b.client.ZRem(ctx, b.s.Keys.Deadlines, "early", "late", "later", "now") // all are settled
	b.client.Del(ctx, b.s.Keys.Wake)
	touch()
	ends("")
}

// TestAWakeKeyThatSomebodyHasSet: a key without a TTL, or with one that is too late, is set
// right, and no timeout waits for it.
func TestAWakeKeyThatSomebodyHasSet(t *testing.T) {
	t.Parallel()
	for name, ttl := range map[string]time.Duration{"without a TTL": 0, "too late": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := shared(t)
			registry := b.run("a")
			b.hears(registry, 1)
			b.start("1", 2*time.Second)
			if err := b.client.Set(t.Context(), b.s.Keys.Wake, "x", ttl).Err(); err != nil {
				t.Fatal(err)
			}
			b.start("2", 2*time.Second)
			if late := b.allFail(); late > 2*time.Second {
				t.Errorf("%v late", late)
			}
		})
	}
}

// TestTwoSchedulersFailAJobOnce, also if both heard the same event and both sweep.
func TestTwoSchedulersFailAJobOnce(t *testing.T) {
	t.Parallel()
	b := shared(t)
	const n = 300
	for i := range n {
		b.start(strconv.Itoa(i), -time.Second)
	}
	var group errgroup.Group
	for i := range 4 {
		b.options.Metrics = nil
		s := b.scheduler(strconv.Itoa(i))
		s.deadlines.expired.Store(true)
		group.Go(func() error { _, err := s.deadlines.failExpired(t.Context()); return err })
		group.Go(func() error { _, err := s.deadlines.failOverdue(t.Context()); return err })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	b.allFail() // with one entry of the fan-in for every job
	seen := map[any]int{}
	for _, e := range b.client.XRange(t.Context(), b.s.Keys.Events, "-", "+").Val() {
		if e.Values["event"] == "failing" {
			seen[e.Values["id"]]++
		}
	}
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%v failed %d times", id, times)
		}
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
	line := strings.Replace(b.client.HGet(ctx, b.s.Keys.Job("publishing"), "job").Val(), " RUN ", " PUBLISHING ", 1)
	if err := b.client.HSet(ctx, b.s.Keys.Job("publishing"), "job", line).Err(); err != nil {
		t.Fatal(err)
	}
	b.until("one fails, both are over", func() bool {
		_, statuses, err := b.s.Jobs.Attempts(ctx, []string{"failing"})
		return err == nil && statuses[0] == job.StatusFailing && time.Since(b.due["publishing"]) > 200*time.Millisecond
	})
	before, begin := commands(t, b.client.(*redis.Client)), time.Now()
	_ = step.Wait(ctx, 3*time.Second)
	seconds := time.Since(begin).Seconds()
	if n := float64(commands(t, b.client.(*redis.Client))-before) / seconds; n > 200 {
		t.Errorf("%.0f commands a second for nothing", n)
	}
	if _, statuses, err := b.s.Jobs.Attempts(ctx, []string{"publishing"}); err != nil || statuses[0] != job.StatusPublishing {
		t.Errorf("%v %v", statuses, err)
	}
	if b.client.ZCard(ctx, b.s.Keys.Deadlines).Val() != 2 {
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

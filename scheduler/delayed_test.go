package scheduler

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

func TestMoveDueSendsEachMemberWhereItBelongs(t *testing.T) {
	t.Parallel()
	b := shared(t)
	scheduler, s, client, ctx := b.scheduler("a"), b.s, b.client, t.Context()
	for _, member := range []string{
		"1", "2/1/" + job.StepTrigger, "3/4/" + job.StepFanIn, "4/4/" + job.StepRecord, "5/6/some.listener", "{bad}", "7/8",
	} {
		if err := s.Clock.Delay(ctx, member, -time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Clock.Delay(ctx, "9", 30*time.Minute); err != nil {
		t.Fatal(err)
	}
	b.startAttempt("5", 6, "some.listener", time.Hour)
	client.XTrimMaxLen(ctx, s.Keys.Task("some.listener"), 0)
	if err := client.ZAdd(ctx, s.Keys.Delayed, redis.Z{Member: "10", Score: math.Inf(1)}, redis.Z{Member: "11", Score: math.Inf(-1)}, redis.Z{Member: "12", Score: 1.7e18},
		redis.Z{Member: "13", Score: 20241201093000}, redis.Z{Member: "14", Score: 20241201093}).Err(); err != nil {
		t.Fatal(err)
	}
	if wait, err := scheduler.mover.once(ctx); err != nil || wait != 0 {
		t.Fatalf("%v %v", wait, err)
	}
	for stream, want := range map[string]string{
		s.Keys.Jobs: "[map[id:1] map[id:2 polls:1]]", s.Keys.FanIn: "[map[attempt:4 id:3] map[attempt:4 id:4]]",
		s.Keys.Task("some.listener"): "[map[attempt:6 id:5]]",
	} {
		var got []map[string]any
		for _, e := range client.XRange(ctx, stream, "-", "+").Val() {
			got = append(got, e.Values)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", stream, got, want)
		}
	}
	reasons := map[string]string{}
	for _, e := range client.XRange(ctx, s.Keys.Quarantined, "-", "+").Val() {
		if e.Values["stream"] != s.Keys.Delayed {
			t.Errorf("%v", e.Values)
		}
		reasons[e.Values["fields"].(string)] = e.Values["reason"].(string)
	}
	for member, why := range map[string]string{
		"10": "its score inf is not a time", "11": "its score -inf is not a time", "12": "is not a time: write seconds or milliseconds since 1970",
		"13": "its score 20241201093000, read as milliseconds, is 2611-06-03, more than ten years away: write seconds or milliseconds since 1970",
		"14": "its score 20241201093, read as seconds, is 2611-06-03, more than ten years away",
	} {
		if r := reasons["member="+member]; !strings.Contains(r, why) {
			t.Errorf("%s: %q", member, r)
		}
	}
	if len(reasons) != 7 || reasons["member={bad}"] != job.ErrMember.Error() {
		t.Errorf("in quarantine: %v", reasons)
	}
	if wait, err := scheduler.mover.once(ctx); err != nil || wait < 29*time.Minute {
		t.Errorf("%v %v", wait, err)
	}
	if left := client.ZRange(ctx, s.Keys.Delayed, 0, -1).Val(); len(left) != 1 || left[0] != "9" {
		t.Errorf("left: %v", left)
	}
}

// TestAStepThatNoJobHas goes to the quarantine and makes no key; one whose job has ended
// it, is another attempt by now or is not in Redis is removed, and so is what waits of a
// job that fails.
func TestAStepThatNoJobHas(t *testing.T) {
	t.Parallel()
	b := shared(t)
	s, client, ctx := b.s, b.client, t.Context()
	b.start("1", time.Hour)
	b.start("2", time.Hour)
	client.Set(ctx, s.Keys.Job("3"), "something else", 0)
	if err := s.Clock.Delay(ctx, "2/1/l", time.Hour); err != nil {
		t.Fatal(err)
	}
	if outcome, err := b.task("2").Fail(ctx, "no luck", job.BlameSource); outcome != scripts.OK || err != nil {
		t.Fatal(outcome, err)
	}
	if n := client.ZCard(ctx, s.Keys.Delayed).Val(); n != 0 {
		t.Errorf("%d members of a job that fails are left", n)
	}
	client.XTrimMaxLen(ctx, s.Keys.Task("l"), 0)
	for _, member := range []string{"1/1/ANYTHING", "1/1/another.listener", "4/1/ANYTHING", "3/1/l", "1/7/l", "2/1/l", "1/1/l"} {
		if err := client.ZAdd(ctx, s.Keys.Delayed, redis.Z{Score: 0, Member: member}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	before := client.Keys(ctx, s.Keys.Prefix+"task:*").Val()
	for client.ZCard(ctx, s.Keys.Delayed).Val() > 0 {
		if _, err := b.scheduler("a").mover.once(ctx); err != nil {
			t.Fatal(err)
		}
		b.options.Metrics = nil
	}
	if after := client.Keys(ctx, s.Keys.Prefix+"task:*").Val(); len(after) != len(before) {
		t.Errorf("streams %v, and before %v", after, before)
	}
	var kept []string
	for _, e := range client.XRange(ctx, s.Keys.Quarantined, "-", "+").Val() {
		kept = append(kept, fmt.Sprint(e.Values["fields"], ": ", e.Values["reason"]))
	}
	slices.Sort(kept)
	want := []string{
		"member=1/1/ANYTHING: job 1 does not run, or has no listener ANYTHING: nothing of it can be done again",
		"member=1/1/another.listener: job 1 does not run, or has no listener another.listener: nothing of it can be done again",
		"member=3/1/l: job 3 does not run, or has no listener l: nothing of it can be done again",
	}
	if !slices.Equal(kept, want) {
		t.Errorf("%q", kept)
	}
	if entries := client.XRange(ctx, s.Keys.Task("l"), "-", "+").Val(); len(entries) != 1 || entries[0].Values["id"] != "1" || entries[0].Values["attempt"] != "1" {
		t.Errorf("%v", entries)
	}
}

// TestStuckMembersHideNoOther: what a stream does not take stays, and what is due
// after it moves, at the same look and however much is stuck.
func TestStuckMembersHideNoOther(t *testing.T) {
	t.Parallel()
	b := shared(t)
	scheduler, s, client, ctx := b.scheduler("a"), b.s, b.client, t.Context()
	const stuck, others = 3*most + 1, 2*most + 1
	var members []redis.Z
	for i := range stuck {
		b.startAttempt(fmt.Sprint(i), 1, "broken", time.Hour)
		members = append(members, redis.Z{Member: fmt.Sprintf("%d/1/broken", i), Score: 1e12})
	}
	for i := range others {
		members = append(members, redis.Z{Member: fmt.Sprint(i), Score: 1e12 + 1})
	}
	if err := client.Set(ctx, s.Keys.Task("broken"), "not a stream", 0).Err(); err != nil {
		t.Fatal(err)
	}
	soon := time.Now().Add(time.Hour)
	members = append(members, redis.Z{Member: "later", Score: float64(soon.UnixMilli())})
	if err := client.ZAdd(ctx, s.Keys.Delayed, members...).Err(); err != nil {
		t.Fatal(err)
	}
	wait, err := scheduler.mover.once(ctx)
	if err == nil || !strings.Contains(err.Error(), "WRONGTYPE") || wait < 59*time.Minute {
		t.Errorf("%v %v", wait, err)
	}
	if n := client.XLen(ctx, s.Keys.Jobs).Val(); n != others {
		t.Errorf("%d of %d moved", n, others)
	}
	if n := client.ZCard(ctx, s.Keys.Delayed).Val(); n != stuck+1 {
		t.Errorf("%d are left", n)
	}
	client.Del(ctx, s.Keys.Task("broken"))
	for client.ZCard(ctx, s.Keys.Delayed).Val() > 1 {
		if _, err := scheduler.mover.once(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if n := client.XLen(ctx, s.Keys.Task("broken")).Val(); n != stuck {
		t.Errorf("%d of %d moved", n, stuck)
	}
}

// TestAForeignZADDWakesAtOnce does it many times: without a wake-up each would
// wait for the rest of a second.
func TestAForeignZADDWakesAtOnce(t *testing.T) {
	t.Parallel()
	b := shared(t)
	registry := b.run("a")
	b.hears(registry, 1)
	var longest, sum time.Duration
	const times = 30
	for i := range times {
		member, due := fmt.Sprint(i), float64(time.Now().UnixMilli())
		if i%3 == 0 {
			due = float64(time.Now().Unix()) // seconds
		}
		begin := time.Now()
		if err := b.client.ZAdd(t.Context(), b.s.Keys.Delayed, redis.Z{Score: due, Member: member}).Err(); err != nil {
			t.Fatal(err)
		}
		b.until("it is moved", func() bool { return b.client.XLen(t.Context(), b.s.Keys.Jobs).Val() == int64(i+1) })
		longest, sum = max(longest, time.Since(begin)), sum+time.Since(begin)
	}
	t.Logf("moved after %v on average, %v at most", sum/times, longest)
	if sum/times > 400*time.Millisecond {
		t.Errorf("%v on average: it slept", sum/times)
	}
	// The last one is measured behind its move.
	b.until("all are measured", func() bool { return value(t, registry, "fanfold_delayed_lateness_seconds", "") >= times })
	if n := value(t, registry, "fanfold_delayed_lateness_seconds", ""); n != times {
		t.Errorf("%v of %d were measured", n, times)
	}
}

// TestTwoSchedulersMoveAndRefuseOnce races two for the same members.
func TestTwoSchedulersMoveAndRefuseOnce(t *testing.T) {
	t.Parallel()
	b := shared(t)
	ctx := t.Context()
	soon := time.Now().Add(300 * time.Millisecond)
	for i := range 600 {
		z := redis.Z{Score: float64(soon.UnixMilli()), Member: fmt.Sprint(i)}
		switch {
		case i%10 == 1:
			z.Member = fmt.Sprintf("bad %d", i)
		case i%10 == 2:
			z.Score = math.Inf(1)
		}
		if err := b.client.ZAdd(ctx, b.s.Keys.Delayed, z).Err(); err != nil {
			t.Fatal(err)
		}
	}
	one := b.run("a")
	two := b.run("b")
	b.until("all is moved", func() bool { return b.client.ZCard(ctx, b.s.Keys.Delayed).Val() == 0 })
	b.until("and measured", func() bool {
		const name = "fanfold_delayed_lateness_seconds"
		return value(t, one, name, "")+value(t, two, name, "") >= 480
	})
	seen := map[any]int{}
	for _, e := range b.client.XRange(ctx, b.s.Keys.Jobs, "-", "+").Val() {
		seen[e.Values["id"]]++
	}
	for _, e := range b.client.XRange(ctx, b.s.Keys.Quarantined, "-", "+").Val() {
		seen[e.Values["fields"]]++
	}
	for what, n := range seen {
		if n != 1 {
			t.Errorf("%v: %d times", what, n)
		}
	}
	if jobs, refused := b.client.XLen(ctx, b.s.Keys.Jobs).Val(), b.client.XLen(ctx, b.s.Keys.Quarantined).Val(); jobs != 480 || refused != 120 {
		t.Errorf("%d jobs and %d in quarantine, not 480 and 120", jobs, refused)
	}
}

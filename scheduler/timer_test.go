package scheduler

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler/action"
	"github.com/fanfold/fanfold/scripts"
)

// TestTimersFireOnce with two schedulers, of which each hears every event: the
// ends of the keys, which both make, too.
func TestTimersFireOnce(t *testing.T) {
	t.Parallel()
	b := newTimers(t, testmain.SharedRedis(t), message(t))
	b.run("c1", false)
	b.run("c2", false)
	const n = 60
	for i := range n {
		name := fmt.Sprintf("msg-%d-welcome", i)
		if i%3 == 0 {
			b.zadd(name, 400*time.Millisecond)
		} else {
			b.set(name, time.Duration(200+i*5)*time.Millisecond)
		}
	}
	b.until("all", func() bool { return len(b.appended()) == n })
	b.quiet("msg-last-one")
	for name, count := range b.appended() {
		if count != 1 {
			t.Errorf("%s fired %d times", name, count)
		}
	}
	for event, count := range b.events() {
		if count != 1 {
			t.Errorf("%s: %d events", event, count)
		}
	}
	entry := b.client.XRangeN(t.Context(), b.stream, "-", "+", 1).Val()[0].Values
	if parts := strings.Split(entry["timer"].(string), "-"); entry["user"] != parts[1] || entry["type"] != parts[2] || entry["due"] == nil {
		t.Errorf("%v", entry)
	}
}

// TestTimerKeysDecide: extended, deleted, persisted, and set anew before it fires.
func TestTimerKeysDecide(t *testing.T) {
	t.Parallel()
	b := newTimers(t, testmain.SharedRedis(t), message(t))
	b.run("c1", false)
	ctx := t.Context()
	for _, name := range []string{"msg-1-extended", "msg-1-deleted", "msg-1-persisted", "msg-1-shortened"} {
		b.set(name, time.Hour)
		b.until(name+" is adopted", func() bool { return b.due(name) > 0 })
	}
	b.client.PExpire(ctx, b.s.Keys.Timer("msg-1-extended"), 2*time.Hour)
	b.client.Del(ctx, b.s.Keys.Timer("msg-1-deleted"))
	b.client.Persist(ctx, b.s.Keys.Timer("msg-1-persisted"))
	b.set("msg-1-shortened", 50*time.Millisecond)
	b.until("shortened", func() bool { return b.appended()["msg-1-shortened"] == 1 })
	b.until("extended", func() bool { return b.due("msg-1-extended") > time.Now().Add(90*time.Minute).UnixMilli() })
	b.until("deleted and persisted", func() bool { return b.due("msg-1-deleted") == 0 && b.due("msg-1-persisted") == 0 })
	b.quiet("msg-last-one")
	if got := b.appended(); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// TestTimerWhoseEventsWereMissed: the set says that it is due, the key that it is
// not, or not any more.
func TestTimerWhoseEventsWereMissed(t *testing.T) {
	t.Parallel()
	b := newTimers(t, testmain.SharedRedis(t), message(t))
	timers, err := NewTimers(b.options)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	b.zadd("msg-1-extended", -time.Second)
	b.set("msg-1-extended", time.Hour)
	b.zadd("msg-1-persisted", -time.Second)
	b.set("msg-1-persisted", 0)
	for range 2 {
		if _, err := timers.fireDue(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.client.XLen(ctx, b.s.Keys.Fired).Val(); n != 0 || b.due("msg-1-persisted") != 0 || b.due("msg-1-extended") < time.Now().UnixMilli() {
		t.Errorf("%d fired", n)
	}
	// Of this one only the end was heard; of the others the end is Fanfold's doing.
	for _, event := range []string{"expired", "expired", "del", "expired"} {
		timers.Touched("msg-1-unheard", event)
		if _, err := timers.adoptHeard(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := timers.fireDue(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.client.XLen(ctx, b.s.Keys.Fired).Val(); n != 1 {
		t.Errorf("%d fired, not 1", n)
	}
	// What a process hears that has hung may be from long ago.
	timers.clock.last = time.Now().Add(-time.Minute)
	timers.Touched("msg-2-unheard", "expired")
	if _, err := timers.adoptHeard(ctx); err != nil || b.due("msg-2-unheard") != 0 {
		t.Errorf("an old event was believed: %v", err)
	}
}

func TestTimerScores(t *testing.T) {
	t.Parallel()
	b := newTimers(t, testmain.SharedRedis(t), message(t))
	ctx := t.Context()
	seconds := time.Now().Add(2 * time.Second).Unix()
	b.score("msg-1-seconds", float64(seconds))
	b.score("msg-1-fraction", float64(time.Now().UnixMilli())-1000.5)
	b.score("msg-1-negative", -5)
	b.score("msg-1-never", math.Inf(1))
	b.score("msg-1-always", math.Inf(-1))
	b.score("msg-1-nanoseconds", float64(time.Now().UnixNano()))
	b.score("msg-1-year", 20241201093000)
	b.score("bad name", float64(time.Now().Unix()))
	b.score(strings.Repeat("x", 201), float64(time.Now().Unix()))
	b.set("bad\nkey", time.Hour)
	b.run("c1", false)
	b.run("c2", false)
	b.until("three fire", func() bool { return len(b.appended()) == 3 })
	for _, e := range b.client.XRange(ctx, b.stream, "-", "+").Val() {
		if e.Values["timer"] == "msg-1-seconds" && e.Values["due"] != fmt.Sprint(seconds*1000) {
			t.Errorf("%v", e.Values)
		}
	}
	b.until("seven in quarantine", func() bool { return b.client.XLen(ctx, b.s.Keys.Quarantined).Val() >= 7 })
	b.quiet("msg-last-one")
	reasons := map[string]int{}
	for _, e := range b.client.XRange(ctx, b.s.Keys.Quarantined, "-", "+").Val() {
		reason := e.Values["reason"].(string)
		if strings.Contains(reason, " is not a time: write seconds or milliseconds since 1970") {
			reason = "no time"
		}
		reasons[reason]++
	}
	if far := "its score 20241201093000, read as milliseconds, is 2611-06-03, more than ten years away: write seconds or milliseconds since 1970"; reasons[far] != 1 {
		t.Errorf("%v", reasons)
	}
	if reasons["no time"] != 3 || reasons[reasonName] != 3 {
		t.Errorf("%v", reasons)
	}
	if n := b.client.ZCard(ctx, b.s.Keys.Timers).Val(); n != 0 {
		t.Errorf("%d timers are left", n)
	}
	if n := b.client.Exists(ctx, b.s.Keys.Timer("bad\nkey")).Val(); n != 0 {
		t.Error("the key of a bad name is left")
	}
}

// TestTimersThatWereMissed: their time came while no scheduler ran.
func TestTimersThatWereMissed(t *testing.T) {
	t.Parallel()
	b := newTimers(t, testmain.SharedRedis(t), message(t), message(t, func(d *report.Timer) {
		d.Key, _ = report.ParsePattern("skip-{user}")
		d.Missed, d.MissedAfter, d.Own.(*action.AppendFields).Fields = report.MissedSkip, time.Minute, nil
	}), message(t, func(d *report.Timer) {
		d.Key, _ = report.ParsePattern("daily-{user}")
		d.Missed, d.Every, d.Own.(*action.AppendFields).Fields = report.MissedSkip, report.Every{Days: 1}, nil
	}))
	_, stop := b.run("c1", false)
	b.set("msg-1-adopted", 1500*time.Millisecond)
	b.until("adopted", func() bool { return b.due("msg-1-adopted") > 0 })
	stop()
	b.until("expired", func() bool { return b.client.Exists(t.Context(), b.s.Keys.Timer("msg-1-adopted")).Val() == 0 })
	b.zadd("msg-1-old", -24*time.Hour)
	b.zadd("skip-late", -2*time.Minute)
	b.zadd("skip-early", -time.Second)
	first := time.Now().Add(-73 * time.Hour).UnixMilli()
	b.score("daily-1", float64(first))
	b.run("c2", false)
	b.until("all", func() bool {
		e := b.events()
		return len(b.appended()) == 3 && e["skip-late skipped"] == 1 && e["daily-1 skipped"] == 1
	})
	b.quiet("msg-last-one")
	if got := b.appended(); len(got) != 4 || got["msg-1-old"] != 1 || got["msg-1-adopted"] != 1 || got["skip-early"] != 1 {
		t.Errorf("%v", got)
	}
	if next := b.due("daily-1"); next != first+4*24*3600_000 {
		t.Errorf("the daily one is due at %d, first %d", next, first)
	}
}

// TestTimersThatRepeat keep their anchor.
func TestTimersThatRepeat(t *testing.T) {
	t.Parallel()
	b := newTimers(t, testmain.SharedRedis(t), message(t, func(d *report.Timer) { d.Every = report.Every{Exact: time.Second} }))
	b.run("c1", false)
	b.run("c2", false)
	b.set("msg-1-tick", 300*time.Millisecond)
	b.until("adopted", func() bool { return b.due("msg-1-tick") > 0 })
	anchor := b.due("msg-1-tick")
	b.until("four", func() bool { return b.appended()["msg-1-tick"] >= 4 })
	seen := map[int64]bool{}
	for _, e := range b.client.XRange(t.Context(), b.stream, "-", "+").Val() {
		var due int64
		fmt.Sscan(e.Values["due"].(string), &due)
		if (due-anchor)%1000 != 0 || seen[due] {
			t.Errorf("due at %d, anchor %d", due, anchor)
		}
		seen[due] = true
	}
	if b.due("msg-1-tick") == 0 {
		t.Error("it does not go on")
	}
}

// TestTimersOfCron fire at the time that a service has set, then at those of the expression;
// of all that were missed one fires, or none.
func TestTimersOfCron(t *testing.T) {
	t.Parallel()
	of := func(key, expression string, missed report.Missed) *report.Timer {
		return message(t, func(d *report.Timer) {
			d.Key, _ = report.ParsePattern(key)
			cron, wrong := report.ParseCron(expression)
			if wrong != nil {
				t.Fatalf("%+v", wrong)
			}
			cron.Zone = berlin(t)
			d.Cron, d.Missed, d.Own.(*action.AppendFields).Fields = cron, missed, nil
		})
	}
	b := newTimers(t, testmain.SharedRedis(t), of("now-{user}", "* * * * *", report.MissedOnce), of("once-{user}", "0 9 * * mon-fri", report.MissedOnce), of("skip-{user}", "0 9 1 jan *", report.MissedSkip))
	b.score("now-1", 0)
	b.zadd("once-1", -30*24*time.Hour)
	b.zadd("skip-1", -30*24*time.Hour)
	began := time.Now()
	b.run("c1", false)
	b.run("c2", false)
	b.until("each is due again", func() bool {
		return b.due("now-1") > began.UnixMilli() && b.due("once-1") > began.UnixMilli() && b.due("skip-1") > began.UnixMilli()
	})
	b.quiet("now-last")
	if got := b.appended(); got["once-1"] != 1 || got["skip-1"] != 0 || got["now-1"] == 0 || got["now-1"] > 2 {
		t.Errorf("%v", got)
	}
	for name, right := range map[string]func(at time.Time) bool{
		"now-1":  func(at time.Time) bool { return at.Sub(began) < 2*time.Minute && at.Second() == 0 },
		"once-1": func(at time.Time) bool { return at.Hour() == 9 && at.Minute() == 0 && at.Weekday()%6 != 0 },
		"skip-1": func(at time.Time) bool { return at.YearDay() == 1 && at.Hour() == 9 },
	} {
		if at := time.UnixMilli(b.due(name)).In(berlin(t)); !right(at) {
			t.Errorf("%s is due at %v", name, at)
		}
	}
}

// TestTimersOverARedisThatDies: SIGKILL, and what its append-only file has.
func TestTimersOverARedisThatDies(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartRedis(t.Context(), t.TempDir(), "--appendfsync", "always")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop() })
	b := newTimers(t, server, message(t))
	b.run("c1", false)
	b.set("msg-1-before", 3*time.Second)
	b.zadd("msg-2-before", 3*time.Second)
	b.zadd("msg-3-after", 6*time.Second)
	b.until("adopted", func() bool { return b.due("msg-1-before") > 0 })
	server.Kill()
	<-time.NewTimer(3200 * time.Millisecond).C // both are due while nobody is there
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.until("all", func() bool { return len(b.appended()) == 3 })
	b.quiet("msg-last-one")
	for name, n := range b.appended() {
		if n != 1 {
			t.Errorf("%s fired %d times", name, n)
		}
	}
}

// TestTimersWithoutNotifications: the set is certain, and a scan finds keys.
func TestTimersWithoutNotifications(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartRedis(t.Context(), t.TempDir(), "--notify-keyspace-events", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop() })
	b := newTimers(t, server, message(t))
	pipe := b.client.Pipeline()
	for i := range 12_000 {
		pipe.Set(t.Context(), fmt.Sprintf("other:%d", i), "", time.Hour)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.run("c1", false)
	b.run("c2", true)
	b.zadd("msg-1-zadd", 300*time.Millisecond)
	b.set("msg-1-set", 8*time.Second)
	b.set("msg-1-extended", 8*time.Second)
	b.until("adopted", func() bool { return b.due("msg-1-set") > 0 && b.due("msg-1-extended") > 0 })
	b.set("msg-1-extended", time.Hour)
	b.until("both", func() bool { return len(b.appended()) == 2 })
	b.until("extended", func() bool { return b.due("msg-1-extended") > time.Now().Add(time.Minute).UnixMilli() })
	for name, n := range b.appended() {
		if n != 1 {
			t.Errorf("%s fired %d times", name, n)
		}
	}
}

// TestTimerOverDaylightSaving in Redis: a day without half past two, and a month without the
// 31st, do not move what comes after them.
func TestTimerOverDaylightSaving(t *testing.T) {
	t.Parallel()
	type firing struct{ now, next string }
	for name, c := range map[string]struct {
		every   report.Every
		firings []firing
	}{
		"days": {report.Every{Days: 1, Zone: berlin(t)}, []firing{
			{"2024-03-30T02:30:00+01:00", "2024-03-31T03:30:00+02:00"},
			{"2024-03-31T03:30:00+02:00", "2024-04-01T02:30:00+02:00"},
		}},
		"months": {report.Every{Months: 1, Zone: berlin(t)}, []firing{
			{"2024-01-31T02:30:00+01:00", "2024-02-29T02:30:00+01:00"},
			{"2024-02-29T02:30:00+01:00", "2024-03-31T03:30:00+02:00"},
			{"2024-03-31T03:30:00+02:00", "2024-04-30T02:30:00+02:00"},
			{"2024-04-30T02:30:00+02:00", "2024-05-31T02:30:00+02:00"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTimers(t, testmain.SharedRedis(t), message(t, func(d *report.Timer) { d.Every = c.every }))
			timers, err := NewTimers(b.options)
			if err != nil {
				t.Fatal(err)
			}
			const name = "msg-1-night"
			for _, f := range c.firings {
				now, err := time.Parse(time.RFC3339, f.now)
				if err != nil {
					t.Fatal(err)
				}
				b.score(name, float64(now.UnixMilli()))
				due, _, _, err := b.s.Timers.Due(t.Context(), 10, 0)
				if err != nil || len(due) != 1 {
					t.Fatalf("%+v %v", due, err)
				}
				firing, _ := timers.decide(due[0], now)
				if got := time.UnixMilli(firing.Next).In(c.every.Zone).Format(time.RFC3339); got != f.next {
					t.Errorf("after %s: %s, want %s", f.now, got, f.next)
				}
				firings := []scripts.Firing{firing}
				if _, err := b.s.Timers.Fire(t.Context(), firings); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.client.HGet(t.Context(), b.s.Keys.TimerAnchors, name).Err(); err != redis.Nil {
				t.Errorf("the anchor is left: %v", err)
			}
		})
	}
}

// TestTimerSetForZero means now, and is another firing each time.
func TestTimerSetForZero(t *testing.T) {
	t.Parallel()
	b := newTimers(t, testmain.SharedRedis(t), message(t))
	b.run("c1", false)
	seen := map[any]bool{}
	for i, set := range []func(name string){
		func(name string) { b.score(name, 0) },
		func(name string) { b.score(name, -7) },
		func(name string) {
			if err := b.s.Timers.Set(t.Context(), name, time.UnixMilli(0)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		before := time.Now().UnixMilli()
		set("msg-1-zero")
		b.until("fired", func() bool { return b.appended()["msg-1-zero"] == i+1 })
		due := b.client.XRevRangeN(t.Context(), b.stream, "+", "-", 1).Val()[0].Values["due"]
		if ms, err := strconv.ParseInt(due.(string), 10, 64); err != nil || ms < before-1000 || seen[due] {
			t.Errorf("%d: due %v", i, due)
		}
		seen[due] = true
	}
}

// TestTimerThatIsUnknownHere is left to a process that knows it, and paused in the
// end.
func TestTimerThatIsUnknownHere(t *testing.T) {
	t.Parallel()
	newer := message(t, func(d *report.Timer) {
		d.Key, _ = report.ParsePattern("new-{user}")
		d.Own.(*action.AppendFields).Fields = nil
	})
	b := newTimers(t, testmain.SharedRedis(t), message(t), newer)
	both := b.options.Timers
	b.options.Timers = both[:1]
	old, err := NewTimers(b.options)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	// More of them than one look lists, and one behind them that is known.
	for i := range most + 20 {
		b.zadd(fmt.Sprintf("new-%d", i), -2*time.Second)
	}
	b.zadd("new-old", -leftFor-time.Minute)
	b.zadd("msg-1-known", -time.Second)
	b.zadd("msg-1-later", time.Hour)
	for i := range 3 {
		if n := b.client.ZCard(ctx, b.s.Keys.PausedTimers).Val(); n != 0 {
			t.Errorf("%d are paused by one who has just come", n)
		}
		if i == 2 {
			old.began = old.began.Add(-leftFor)
		}
		if _, err := old.fireDue(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.client.XLen(ctx, b.s.Keys.Fired).Val(); n != 1 {
		t.Errorf("%d have fired, not 1", n)
	}
	if wait, err := old.fireDue(ctx); err != nil || wait < time.Minute {
		t.Errorf("it looks again in %v, %v", wait, err)
	}
	if n := b.client.ZCard(ctx, b.s.Keys.Timers).Val(); n != most+21 {
		t.Errorf("%d timers are left", n)
	}
	paused := b.client.ZRange(ctx, b.s.Keys.PausedTimers, 0, -1).Val()
	if len(paused) != 1 || paused[0] != "new-old" || b.events()["new-old paused"] != 1 || b.client.XLen(ctx, b.s.Keys.Quarantined).Val() != 0 {
		t.Errorf("paused: %v, %v", paused, b.events())
	}
	b.options.Timers = both
	if _, err := b.s.Timers.Resume(ctx, "new-old"); err != nil {
		t.Fatal(err)
	}
	b.run("c2", false)
	b.until("all", func() bool { return len(b.appended()) == most+22 })
}

// TestTimerThatIsSetWhilePaused stays paused, however it is set, and when it
// is resumed it is due when it was set to last.
func TestTimerThatIsSetWhilePaused(t *testing.T) {
	t.Parallel()
	b := newTimers(t, testmain.SharedRedis(t), message(t))
	ctx := t.Context()
	timers, err := NewTimers(b.options)
	if err != nil {
		t.Fatal(err)
	}
	b.zadd("msg-1-x", time.Hour)
	for range 2 { // the second time it is so already
		if _, err := b.s.Timers.Pause(ctx, "msg-1-x"); err != nil {
			t.Fatal(err)
		}
	}
	b.zadd("msg-1-x", -time.Second)
	want := b.due("msg-1-x")
	if _, err := timers.fireDue(ctx); err != nil {
		t.Fatal(err)
	}
	if n, due := b.client.XLen(ctx, b.s.Keys.Fired).Val(), b.client.ZScore(ctx, b.s.Keys.PausedTimers, "msg-1-x").Val(); n != 0 || int64(due) != want || b.due("msg-1-x") != 0 {
		t.Errorf("%d fired, paused until %v, not %v", n, due, want)
	}
	// A time that is still to come is there when it is resumed, and not the old one.
	b.zadd("msg-1-x", time.Hour)
	want = b.due("msg-1-x")
	for range 2 {
		if due, err := b.s.Timers.Resume(ctx, "msg-1-x"); err != nil || due.UnixMilli() != want {
			t.Fatal(due, err)
		}
	}
	if _, err := timers.fireDue(ctx); err != nil || b.due("msg-1-x") != want || b.client.XLen(ctx, b.s.Keys.Fired).Val() != 0 {
		t.Errorf("it fired, or is due at %d, %v", b.due("msg-1-x"), err)
	}
	b.zadd("msg-1-x", -time.Second)
	if _, err := timers.fireDue(ctx); err != nil || b.client.XLen(ctx, b.s.Keys.Fired).Val() != 1 {
		t.Errorf("it has not fired: %v", err)
	}
}

// TestTimerThatCannotFire because of somebody else's key is still there.
func TestTimerThatCannotFire(t *testing.T) {
	t.Parallel()
	b := newTimers(t, testmain.SharedRedis(t), message(t))
	ctx := t.Context()
	b.client.Set(ctx, b.s.Keys.Fired, "no stream", 0)
	b.zadd("msg-1-x", -time.Second)
	timers, err := NewTimers(b.options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := timers.fireDue(ctx); err == nil || b.due("msg-1-x") == 0 {
		t.Errorf("%v, due %d", err, b.due("msg-1-x"))
	}
	if _, err := b.s.Timers.FireNow(ctx, "msg-1-x", false); err == nil || b.due("msg-1-x") == 0 {
		t.Errorf("by hand: %v, due %d", err, b.due("msg-1-x"))
	}
	b.client.Del(ctx, b.s.Keys.Fired)
	b.run("c1", false)
	b.until("fired", func() bool { return b.appended()["msg-1-x"] == 1 })
}

// TestTimerWhoseScoreBecomesATime between the look and the refusal is kept.
func TestTimerWhoseScoreBecomesATime(t *testing.T) {
	t.Parallel()
	b := newTimers(t, testmain.SharedRedis(t), message(t))
	ctx := t.Context()
	b.score("msg-1-x", math.Inf(1))
	due, now, _, err := b.s.Timers.Due(ctx, 10, 0)
	if err != nil || len(due) != 1 {
		t.Fatalf("%+v %v", due, err)
	}
	timers, err := NewTimers(b.options)
	if err != nil {
		t.Fatal(err)
	}
	firing, _ := timers.decide(due[0], now)
	b.zadd("msg-1-x", time.Hour)
	if _, err := b.s.Timers.Fire(ctx, []scripts.Firing{firing}); err != nil || b.due("msg-1-x") == 0 {
		t.Errorf("%v, due %d", err, b.due("msg-1-x"))
	}
}

// TestTimerThatIsSetAgain soon after it has fired, and ends before anybody looks,
// fires again: once, however many have heard of it.
func TestTimerThatIsSetAgain(t *testing.T) {
	t.Parallel()
	b := newTimers(t, testmain.SharedRedis(t), message(t))
	ctx := t.Context()
	var all []*Timers
	for range 2 {
		timers, err := NewTimers(b.options)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, timers)
	}
	const name = "msg-1-again"
	fires := func(want int, ago time.Duration, events ...string) {
		t.Helper()
		for _, timers := range all {
			for _, event := range events {
				timers.Touched(name, event)
				timers.clock.last = time.Now()
			}
			timers.mu.Lock()
			if e := timers.events[name]; !e.set.IsZero() {
				e.set = e.set.Add(-ago)
				timers.events[name] = e
			}
			timers.mu.Unlock()
		}
		for _, timers := range all {
			if _, err := timers.adoptHeard(ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := timers.fireDue(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if n := int(b.client.XLen(ctx, b.s.Keys.Fired).Val()); n != want {
			t.Errorf("%v: %d have fired, want %d", events, n, want)
		}
	}
	fires(1, 0, "set", "expire", "expired")
	fires(1, 0, "expired")
	// The end that Fanfold has made was earlier than what was heard.
	b.client.ZAdd(ctx, b.s.Keys.RecentTimers, redis.Z{Score: float64(time.Now().Add(-20 * time.Second).UnixMilli()), Member: name})
	fires(1, 0, "expired")
	fires(1, 30*time.Second, "set", "expire", "expired")
	fires(2, 5*time.Second, "set", "expire", "expired")
	fires(2, 0, "expired")
}

// TestTimerWithALongName leaves little of it in the quarantine and the events.
func TestTimerWithALongName(t *testing.T) {
	t.Parallel()
	b := newTimers(t, testmain.SharedRedis(t), message(t))
	ctx := t.Context()
	b.zadd(strings.Repeat("x", 100_000), -time.Second)
	b.client.XAdd(ctx, &redis.XAddArgs{Stream: b.s.Keys.Fired, Values: []any{"name", strings.Repeat("y", 100_000), "due", "1"}})
	b.run("c1", false)
	b.until("both are refused", func() bool { return b.client.XLen(ctx, b.s.Keys.Events).Val() == 2 })
	for _, stream := range []string{b.s.Keys.Events, b.s.Keys.Quarantined} {
		for _, e := range b.client.XRange(ctx, stream, "-", "+").Val() {
			for field, value := range e.Values {
				if n := len(value.(string)); n > 1100 {
					t.Errorf("%s: %d bytes of %s", stream, n, field)
				}
			}
		}
	}
}

// TestATimerFiresOncePerTime: setting it again for the same time is the same firing, in
// seconds, too; for another time it is another one.
func TestATimerFiresOncePerTime(t *testing.T) {
	t.Parallel()
	b := newTimers(t, testmain.SharedRedis(t), message(t))
	b.run("c1", false)
	b.run("c2", false)
	due := time.Now().Add(-5 * time.Second).Unix()
	for i := range 4 {
		score := float64(due)
		if i%2 == 1 {
			score *= 1000
		}
		b.score("msg-1-again", score)
		b.until("it is no timer any more", func() bool { return b.client.ZCard(t.Context(), b.s.Keys.Timers).Val() == 0 })
	}
	b.score("msg-1-again", float64(due+1))
	b.until("the other time fires", func() bool { return b.appended()["msg-1-again"] >= 2 })
	b.quiet("msg-last-one")
	var fired []any
	for _, e := range b.client.XRange(t.Context(), b.stream, "-", "+").Val() {
		if e.Values["timer"] == "msg-1-again" {
			fired = append(fired, e.Values["due"])
		}
	}
	if fmt.Sprint(fired) != fmt.Sprint([]int64{due * 1000, due*1000 + 1000}) {
		t.Errorf("fired for %v", fired)
	}
}

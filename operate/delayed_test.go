package operate

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// TestDelayed adds, finds, hurries and removes members, whichever partition has them.
func TestDelayed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, at := acting(t), time.Now().Add(time.Hour)
	ids := make([]string, 1200) // more than a page
	for i := range ids {
		ids[i] = strconv.Itoa(i + 1)
	}
	b.ok(b.Delayed.Add(ctx, ids, at))
	delayed := func() int {
		t.Helper()
		return b.total(func(k *scripts.Keys) *redis.IntCmd { return b.redis.ZCard(ctx, k.Delayed) })
	}
	score := func(id, member string) int64 {
		return int64(b.redis.ZScore(ctx, b.all.Of(id).Keys.Delayed, member).Val())
	}
	if n := delayed(); n != len(ids) || score("7", "7") != at.UnixMilli() {
		t.Errorf("%d are delayed, 7 until %d", n, score("7", "7"))
	}
	for _, s := range b.all {
		if s == b.all.Of("8") { // members of an earlier number of partitions can be in any
			continue
		}
		b.ok(b.redis.ZAdd(ctx, s.Keys.Delayed, redis.Z{Score: float64(at.UnixMilli()), Member: "8/2/@fanin"}).Err())
		break
	}
	b.ok(b.Delayed.Shift(ctx, "7", -time.Minute))
	if want := at.Add(-time.Minute).UnixMilli(); score("7", "7") != want {
		t.Errorf("7 is delayed until %d, not %d", score("7", "7"), want)
	}
	if err := b.Delayed.Shift(ctx, "9/1/@fanin", time.Minute); !errors.Is(err, fault.NotFound) || delayed() != len(ids)+1 {
		t.Errorf("%v, %d are delayed", err, delayed())
	}
	found, err := b.Delayed.Find(ctx, []string{"8", "9"})
	if err != nil || !slices.Equal(found, []string{"8", "8/2/@fanin", "9"}) {
		t.Fatalf("%q %v", found, err)
	}
	if _, err := b.Delayed.Find(ctx, []string{"8", "none"}); err == nil {
		t.Error("a name that finds nothing is no error")
	} else {
		b.refused(err, fault.NotFound)
	}
	b.ok(b.Delayed.Hurry(ctx, append(found, "moved-meanwhile")))
	if n := delayed(); n != len(ids)+1 {
		t.Errorf("%d are delayed: a member that was moved is added again", n)
	}
	now := b.redis.Time(ctx).Val().UnixMilli()
	if due := score("9", "9"); due > now || due < now-1e6 {
		t.Errorf("9 is due at %d, now is %d", due, now)
	}
	if score("10", "10") != at.UnixMilli() {
		t.Error("a member was changed that was not named")
	}
	b.ok(b.Delayed.Remove(ctx, append(found, ids[100:]...)))
	if n := delayed(); n != 98 {
		t.Errorf("%d are left", n)
	}
}

// TestPostpone: an id leaves the queue in which it waits until it is due. One that runs, or is in no queue, stays.
func TestPostpone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := acting(t)
	due, parked, laned, none, runs := b.insert("slow"), b.insert("slow"), b.insert("slow"), b.insert("slow"), b.insert("slow")
	pushed := b.insert("slow")
	at := time.Now().Add(time.Hour)
	b.ok(b.Delayed.Add(ctx, []string{due}, at))
	_, err := b.Pauses.Pause(ctx, "report/slow", Terms{})
	b.ok(err)
	b.ok(b.all.Of(parked).Gate.Park(ctx, "slow", parked))
	b.exec("UPDATE file_download_record SET status = 'PROCESSING' WHERE id = ?", runs)
	for i, s := range b.all {
		b.all[i] = scripts.New(scripts.Options{Redis: b.redis, Keys: s.Keys.Keys, Shared: b.all.First().Keys.Keys, Lanes: &report.Lanes{RunningJobs: 1}})
	}
	lanes := b.all.Of(laned).Lanes
	other := ""
	for i := 1000; other == ""; i++ {
		if id := strconv.Itoa(i); b.all.Of(id) == b.all.Of(laned) {
			other = id
		}
	}
	a, err := lanes.Admit(ctx, []scripts.Seeker{{ID: other, Report: b.inspect.Config.Reports["slow"]}, {ID: laned, Report: b.inspect.Config.Reports["slow"]}})
	if b.ok(err); !slices.Equal(a.Admitted, []bool{true, false}) {
		t.Fatal(a)
	}
	b.ok(b.Delayed.Check(ctx, []string{due, none, runs}))
	b.ok(b.Jobs.Push(ctx, pushed))
	for id, says := range map[string]string{parked: "fanfold delay by", laned: "fanfold delay by", pushed: "starts next"} {
		err := b.Delayed.Check(ctx, []string{none, id})
		if b.refused(err, fault.Refused); !strings.Contains(err.Error(), "record "+id+": it is queued already") ||
			!strings.Contains(err.Error(), says) {
			t.Error(err)
		}
	}
	for _, id := range []string{due, parked, laned} {
		before := b.redis.Time(ctx).Val().Add(time.Hour).UnixMilli()
		b.ok(b.Delayed.Postpone(ctx, id, time.Hour))
		if got := int64(b.redis.ZScore(ctx, b.all.Of(id).Keys.Delayed, id).Val()); got < before || got > before+time.Hour.Milliseconds() {
			t.Errorf("%s is due at %d", id, got)
		}
	}
	if waits, err := lanes.Entries(ctx, laned); err != nil || len(waits) > 0 {
		t.Errorf("in its lane: %v %v", waits, err)
	}
	if n := b.total(func(k *scripts.Keys) *redis.IntCmd { return b.redis.ZCard(ctx, k.Waiting("slow")) }); n != 0 {
		t.Errorf("%d wait for the report", n)
	}
	for _, id := range []string{none, runs} {
		b.refused(b.Delayed.Postpone(ctx, id, time.Hour), fault.Refused)
	}
}

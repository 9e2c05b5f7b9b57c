package scripts

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/tally"
)

// TestCountersAreBounded: above the limit of names, further ones count as @other, and so does all of a name.
func TestCountersAreBounded(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	at, hour := time.Now(), tally.Levels[2]
	count := func(from, to string, n int) {
		t.Helper()
		sums := tally.Sums{}
		for i := range n {
			sums.Event(at, map[string]string{"event": "retry", "step": fmt.Sprintf("l%d", i)})
			sums.Event(at, map[string]string{"event": "finished", "report": fmt.Sprintf("r%d", i), "status": "SUCCESS", "ms": "1"})
		}
		if outcome, err := s.Tally.Count(t.Context(), TallyCursor{Entry: from}, TallyCursor{Entry: to}, sums); outcome != OK || err != nil {
			t.Fatal(outcome, err)
		}
	}
	count("", "1-0", 50)
	count("1-0", "2-0", maxTallied)
	got, err := s.Tally.Read(t.Context(), hour, hour.Number(at), 1)
	if err != nil {
		t.Fatal(err)
	}
	b := tally.NewBucket(at)
	b.Fill(got[0])
	if n := len(got[0]); n != maxTallied+2 {
		t.Errorf("%d names", n)
	}
	tries, all := int64(0), b.All()
	for _, l := range b.Listeners {
		tries += l.Failed
	}
	if tries != 50+maxTallied || all.Status["SUCCESS"] != 50+maxTallied || all.Run.Count() != 50+maxTallied ||
		b.Listeners["l7"].Failed != 2 || b.Listeners[tally.Other].Failed+b.Reports[tally.Other].Status["SUCCESS"] != maxTallied {
		t.Errorf("%d tries, %+v, %+v", tries, all, b.Listeners[tally.Other])
	}
	for _, level := range tally.Levels {
		key := s.Keys.Counters(level.Name, level.Number(at))
		if ttl := client.PTTL(t.Context(), key).Val(); ttl <= level.Kept-time.Minute || ttl > level.Kept+level.Of {
			t.Errorf("%s expires in %s", key, ttl)
		}
		if is := s.Keys.Type(key); is != "hash" {
			t.Errorf("%s is to be a %q", key, is)
		}
	}
}

// TestOnlyOneCounts: from one cursor, only the first call counts. What has expired leaves nothing, and a key of
// another type costs its own events only.
func TestOnlyOneCounts(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	at := time.Now()
	hour, minute := tally.Levels[2], tally.Levels[0]
	one := tally.Sums{}
	one.Event(at, map[string]string{"event": "retry", "step": "a"})
	one.Event(at.Add(-24*time.Hour), map[string]string{"event": "retry", "step": "a"})
	from, to := TallyCursor{}, TallyCursor{"5-0", []string{"v1", "v2"}}
	for _, want := range []Outcome{OK, Busy} {
		if got, err := s.Tally.Count(t.Context(), from, to, one); got != want || err != nil {
			t.Fatal(got, err)
		}
	}
	if got, err := s.Tally.Cursor(t.Context()); err != nil || !cmp.Equal(got, to) {
		t.Errorf("%+v %v", got, err)
	}
	read := func(level tally.Level, at time.Time) string {
		found, err := s.Tally.Read(t.Context(), level, level.Number(at), 1)
		if err != nil {
			t.Fatal(err)
		}
		return found[0]["l/a"]
	}
	if now, old, gone := read(hour, at), read(hour, at.Add(-24*time.Hour)), read(minute, at.Add(-24*time.Hour)); now != "failed=1" ||
		old != "failed=1" || gone != "" {
		t.Errorf("%q %q %q", now, old, gone)
	}
	client.Set(t.Context(), s.Keys.Counters(hour.Name, hour.Number(at)), "x", 0)
	if _, err := s.Tally.Count(t.Context(), to, TallyCursor{Entry: "6-0"}, one); err == nil {
		t.Error("a string is a hash")
	}
	if got, err := s.Tally.Cursor(t.Context()); err != nil || got.Entry != "6-0" {
		t.Errorf("%+v %v: the same events would count again and again", got, err)
	}
}

// TestTheStartTellsTheWait since the push; one that nobody has seen pushed tells none. A released id says since when
// it waited.
func TestTheStartTellsTheWait(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	now := client.Time(ctx).Val()
	for id, pushed := range map[string]time.Time{"1": now.Add(-time.Minute), "2": now.Add(time.Hour), "3": {}} {
		a := attempt(id, time.Hour, "a")
		a.Pushed = pushed
		if outcomes, err := s.Jobs.Start(ctx, "", a); err != nil || outcomes[0] != OK {
			t.Fatal(outcomes, err)
		}
	}
	waited := map[string]string{}
	for _, e := range client.XRange(ctx, s.Keys.Events, "-", "+").Val() {
		waited[fmt.Sprint(e.Values["id"])] = fmt.Sprint(e.Values["waited"])
	}
	if ms, err := strconv.Atoi(waited["1"]); err != nil || ms < 60_000 || ms > 90_000 || waited["2"] != "0" || waited["3"] != "<nil>" {
		t.Errorf("%v", waited)
	}
	client.ZAdd(ctx, s.Keys.Waiting("r"), redis.Z{Member: "4", Score: 1_700_000_000_000})
	if n, err := s.Gate.ReleaseAll(ctx, "r"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if e := client.XRange(ctx, s.Keys.Jobs, "-", "+").Val(); len(e) != 1 || e[0].Values["since"] != "1700000000000" {
		t.Errorf("%v", e)
	}
}

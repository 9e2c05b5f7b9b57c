package command

import (
	"encoding/json"
	"github.com/fanfold/fanfold/internal/audit"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
)

// TestSubmitLater: submit with --in and --at adds ids to the delayed set, after the same checks as
// a push.
func TestSubmitLater(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	ctx, key := t.Context(), s.Partitions.First().Keys.Delayed
	one, two := s.Records.Insert("slow", ""), s.Records.Insert("slow", "")
	now := s.Redis.Time(ctx).Val()
	if out, code := s.fanfold("submit", one, "--in", "10m"); code != exitOK || !strings.Contains(out, "in 10m") {
		t.Fatalf("%d %s", code, out)
	}
	if due := time.UnixMilli(int64(s.Redis.ZScore(ctx, key, one).Val())).Sub(now); due < 10*time.Minute || due > 12*time.Minute {
		t.Errorf("due in %v", due)
	}
	if out, code := s.fanfold("submit", two, "--at", "2034-01-01T00:00:00Z", "-o", "json"); code != exitOK || !json.Valid([]byte(out)) {
		t.Fatalf("%d %s", code, out)
	}
	if due := s.Redis.ZScore(ctx, key, two).Val(); due != 2019686400000 {
		t.Errorf("due at %f", due)
	}
	if n := s.Redis.XLen(ctx, s.Partitions.First().Keys.Jobs).Val(); n != 0 {
		t.Errorf("%d ids were pushed", n)
	}
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitUsage, []string{one, "--in", "1m", "--wait"}},
		{exitUsage, []string{one, "--at", "tomorrow"}},
		{exitUsage, []string{one, "--in", "1m", "--at", "2100-01-01 00:00"}},
		{exitUsage, []string{one, "--in", "-1m"}},
		{exitUsage, []string{one, "--in", "90000h"}},
		{exitUsage, []string{one, "--at", "2100-01-01 00:00"}},
		{exitNotFound, []string{"99999", "--in", "1m"}},
	} {
		if out, code := s.fanfold(append([]string{"submit"}, c.args...)...); code != c.code {
			t.Errorf("%v: %d %s", c.args, code, out)
		}
	}
	s.Serve(s.File)
	runs := s.Records.Insert("slow", `{"seconds": "60"}`)
	s.Jobs.Push(runs)
	s.Eventually("it runs", func() bool {
		v, err := s.Inspect.Jobs.Get(ctx, runs)
		return err == nil && v.Job != ""
	})
	if out, code := s.fanfold("submit", runs, "--in", "1h"); code != exitFailure || !strings.Contains(out, "its job runs already") {
		t.Errorf("%d %s", code, out)
	}
	if n := s.Redis.ZCard(ctx, key).Val(); n != 2 {
		t.Errorf("%d are delayed", n)
	}
	s.fanfold("cancel", runs)
}

// TestDelay lists delayed members, makes them due now and removes them.
func TestDelay(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	ctx, key := t.Context(), s.Partitions.First().Keys.Delayed
	id := s.Records.Insert("slow", "")
	far := float64(time.Now().Add(time.Hour).UnixMilli())
	s.Redis.ZAdd(ctx, key,
		redis.Z{Score: far, Member: id}, redis.Z{Score: far + 1, Member: id + "/1/one"}, redis.Z{Score: far + 2, Member: "7/1/@trigger"},
		redis.Z{Score: far + 3, Member: "8/2/@fanin"}, redis.Z{Score: far + 4, Member: "no member/"}, redis.Z{Score: math.Inf(1), Member: "9"},
		redis.Z{Score: 2019686400, Member: "10"})
	s.Redis.HSet(ctx, s.Partitions.First().Keys.Job(id), "one:error", "a deadlock")
	list := func(args ...string) []inspect.Delayed {
		t.Helper()
		out, code := s.fanfold(append([]string{"delay", "ls", "-o", "json"}, args...)...)
		var found []inspect.Delayed
		if err := json.Unmarshal([]byte(out), &found); err != nil || code != exitOK {
			t.Fatalf("%d %v %s", code, err, out)
		}
		return found
	}
	found := list()
	if len(found) != 7 {
		t.Fatalf("%+v", found)
	}
	for i, want := range []struct{ what, bad string }{
		{"job", ""}, {"job", ""}, {"retry of one", ""}, {"poll of the record", ""}, {"poll of fan-in, which waits", ""}, {"?", "not a valid member"}, {"job", "not a valid time"},
	} {
		if d := found[i]; d.What != want.what || !strings.Contains(d.Bad, want.bad) || (want.bad == "") != (d.Bad == "") {
			t.Errorf("%d: %+v", i, d)
		}
	}
	if due := found[0].Due; due == nil || due.UTC().Year() != 2034 {
		t.Errorf("seconds: %+v", found[0])
	}
	if got := list("--match", "*/@*", "--limit", "1"); len(got) != 1 || got[0].Member != "7/1/@trigger" {
		t.Errorf("%+v", got)
	}
	if out, code := s.fanfold("delay", "ls"); code != exitOK || !strings.Contains(out, "its score is not a valid time") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := s.fanfold("delay", "run", id, "9"); code != exitOK || !strings.Contains(out, id+"/1/one") {
		t.Fatalf("%d %s", code, out)
	}
	now := float64(s.Redis.Time(ctx).Val().UnixMilli())
	for _, m := range []string{id, id + "/1/one", "9"} {
		if due := s.Redis.ZScore(ctx, key, m).Val(); due > now || due < now-1e6 {
			t.Errorf("%s is due at %f, now is %f", m, due, now)
		}
	}
	if err := s.Operate.Delayed.Hurry(audit.With(ctx, &audit.Actor{Who: "test"}), []string{"moved-meanwhile"}); err != nil || s.Redis.ZCard(ctx, key).Val() != 7 {
		t.Errorf("what was moved comes again: %v", err)
	}
	if s.Redis.ZScore(ctx, key, "8/2/@fanin").Val() != far+3 {
		t.Error("a member was changed that was not named")
	}
	if out, code := s.fanfold("delay", "rm", "no member/", "8"); code != exitOK {
		t.Errorf("%d %s", code, out)
	}
	if n := s.Redis.ZCard(ctx, key).Val(); n != 5 {
		t.Errorf("%d members are left", n)
	}
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitNotFound, []string{"run", "8"}}, {exitNotFound, []string{"rm", "8/2/@fanin"}}, {exitUsage, []string{"rm"}},
		{exitUsage, []string{"ls", "--match", "[a"}}, {exitUsage, []string{"ls", "--limit", "0"}}, {exitUsage, []string{"tidy"}},
	} {
		if out, code := s.fanfold(append([]string{"delay"}, c.args...)...); code != c.code {
			t.Errorf("%v: %d %s", c.args, code, out)
		}
	}
	s.Serve(s.File)
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Success {
		t.Errorf("%+v", v)
	}
}

package recovery

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// moveBench has partitions with names of their own.
type moveBench struct {
	t      *testing.T
	client *redis.Client
	keys   report.Keys
}

func newMoveBench(t *testing.T) moveBench {
	t.Helper()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	name := testmain.Name(t)
	return moveBench{t, client, report.Keys{Prefix: name + ":", Hash: name + "-"}}
}

// divided returns a number of partitions; one has the plain names.
func (b moveBench) divided(n int) (p scripts.Partitions) {
	all := b.keys.Partitions(report.Redis{Partitions: n})
	for _, k := range all {
		p = append(p, scripts.New(scripts.Options{Redis: b.client, Keys: k, Shared: all[0]}))
	}
	return p
}

func (b moveBench) left(prefix string) []string {
	b.t.Helper()
	keys, err := b.client.Keys(b.t.Context(), prefix+"*").Result()
	if err != nil {
		b.t.Fatal(err)
	}
	return keys
}

// TestMove moves timers in each state that they can be in, and the ids of paused reports, from plain
// names to partitions, to other ones with the same names, and back.
func TestMove(t *testing.T) {
	t.Parallel()
	b := newMoveBench(t)
	ctx := t.Context()
	names := []string{"call-1", "call-2", "call-3", "call-4", "call-5"}
	at := time.Now().Add(time.Hour).UnixMilli()
	due := float64(at)
	all := b.divided(1)
	for _, name := range names {
		k := all.Of(name).Keys
		for _, stream := range []string{k.Fired, k.Finished} {
			b.client.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: []string{"name", name, "due", "1", "late", "0", "try", "2"}})
		}
		b.client.ZAdd(ctx, k.WaitingFired, redis.Z{Score: due, Member: name + " 1 0 3"})
		b.client.ZAdd(ctx, k.Waiting("paused"), redis.Z{Score: due, Member: name})
		b.client.ZAdd(ctx, k.ClassWaiting("-"), redis.Z{Member: "acme 1763773822000 " + name})
		b.client.HSet(ctx, k.Lanes, name, "W 1 1763773822000 1 - acme -")
		b.client.HSet(ctx, k.ReplyTo, name, "replies:my/1-0")
		b.client.Do(ctx, "set", k.Timer(name), "x", "pxat", at) // no scheduler has seen it
	}
	b.client.ZAdd(ctx, all.First().Keys.Timers, redis.Z{Score: due - 1000, Member: names[0]}) // the key counts
	b.client.ZAdd(ctx, all.First().Keys.PausedTimers, redis.Z{Score: due - 1000, Member: names[1]})
	b.client.ZAdd(ctx, all.First().Keys.Deadlines, redis.Z{Score: due, Member: "7"})
	b.client.HSet(ctx, all.First().Keys.Job("7"), "job", "x")
	b.client.ZAdd(ctx, all.First().Keys.Fallbacks, redis.Z{Score: due, Member: "8"})
	b.client.HSet(ctx, all.First().Keys.Good("8"), "job", "x")
	for _, n := range []int{4, 7, 2, 1} {
		to := b.divided(n)
		if _, err := Move(ctx, all, to, b.client, b.client); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			s := to.Of(name)
			k, set := s.Keys, s.Keys.Timers
			if name == names[1] {
				set = k.PausedTimers
			}
			for _, stream := range []string{k.Fired, k.Finished} {
				found := 0
				for _, e := range b.client.XRange(ctx, stream, "-", "+").Val() {
					if e.Values["name"] == name && e.Values["try"] == "2" {
						found++
					}
				}
				if found != 1 {
					t.Errorf("%d partitions: %s is %d times in %s", n, name, found, stream)
				}
			}
			for key, member := range map[string]string{k.WaitingFired: name + " 1 0 3", k.Waiting("paused"): name, set: name} {
				if score, err := b.client.ZScore(ctx, key, member).Result(); err != nil || score != due {
					t.Errorf("%d partitions: %s in %s: %.0f %v", n, member, key, score, err)
				}
			}
			parked := 0
			for _, e := range b.client.XRange(ctx, k.Jobs, "-", "+").Val() {
				if e.Values["id"] == name {
					parked++
				}
			}
			if parked != 1 || b.client.Exists(ctx, k.Lanes, k.ClassWaiting("-")).Val() > 0 {
				t.Errorf("%d partitions: %s, which waited in a lane, is pushed %d times", n, name, parked)
			}
			if push := b.client.HGet(ctx, k.ReplyTo, name).Val(); push != "replies:my/1-0" {
				t.Errorf("%d partitions: receipts of %s go to %q", n, name, push)
			}
			if end := b.client.PExpireTime(ctx, k.Timer(name)).Val().Milliseconds(); end != at {
				t.Errorf("%d partitions: the key of %s ends at %d", n, name, end)
			}
		}
		of := map[string]bool{}
		for _, s := range to {
			of[s.Keys.Prefix] = true
		}
		for _, s := range all {
			if left := b.left(s.Keys.Prefix); !of[s.Keys.Prefix] && len(left) > 0 || b.client.Exists(ctx, s.Keys.Job("7"), s.Keys.Good("8"), s.Keys.Installation).Val() > 0 {
				t.Errorf("left: %q", left)
			}
		}
		all = to
	}
}

// TestMoveBesideOtherInstallations: whose prefixes begin with this one, also as the keys of timers do.
func TestMoveBesideOtherInstallations(t *testing.T) {
	t.Parallel()
	b := newMoveBench(t)
	ctx := t.Context()
	old := b.divided(1)
	k := old.First().Keys
	var others []string
	for _, other := range []report.Keys{
		{Prefix: k.Prefix + "b:", Hash: k.Hash + "b-"}, {Prefix: k.Timer("b:"), Hash: k.Hash + "t-"}, {Prefix: k.Prefix + "b:c:", Hash: k.Prefix + "d-"},
	} {
		o := scripts.NewKeys(other)
		b.client.XAdd(ctx, &redis.XAddArgs{Stream: o.Jobs, Values: []string{"id", "5"}})
		b.client.HSet(ctx, o.Job("5"), "job", "x")
		b.client.Set(ctx, o.Timer("call-1"), "", time.Hour)
		b.client.Set(ctx, o.Installation, "other", 0)
		others = append(others, o.Jobs, o.Job("5"), o.Timer("call-1"), o.Installation)
	}
	b.client.Set(ctx, k.Prefix+"of-no-one", "", 0)
	others = append(others, k.Prefix+"of-no-one")
	// Names that look like the one of another installation.
	b.client.Set(ctx, k.Timer("installation"), "", time.Hour)
	b.client.XAdd(ctx, &redis.XAddArgs{Stream: k.Task("installation"), Values: []string{"id", "5"}})
	b.client.XAdd(ctx, &redis.XAddArgs{Stream: k.Task("one"), Values: []string{"id", "5"}})
	b.client.ZAdd(ctx, k.Waiting("installation"), redis.Z{Score: 1e13, Member: "5"})
	b.client.ZAdd(ctx, k.Waiting("one"), redis.Z{Score: 1e13, Member: "6"})
	b.client.Set(ctx, k.Installation, "this", 0)
	to := b.divided(4)
	if _, err := Move(ctx, old, to, b.client, b.client); err != nil {
		t.Fatal(err)
	}
	if n := b.client.Exists(ctx, others...).Val(); n != int64(len(others)) {
		t.Errorf("%d of %d keys of others are left", n, len(others))
	}
	if left := b.left(k.Prefix); len(left) != len(others)-2 { // two hashes have other prefixes
		t.Errorf("left: %q", left)
	}
	waits := b.client.ZScore(ctx, to.Of("5").Keys.Waiting("installation"), "5").Val() + b.client.ZScore(ctx, to.Of("6").Keys.Waiting("one"), "6").Val()
	if due := b.client.ZScore(ctx, to.Of("installation").Keys.Timers, "installation").Val(); due == 0 || waits != 2e13 {
		t.Errorf("the timer is due at %.0f, ids wait since %.0f", due, waits)
	}
}

// TestRemoveRefusesWork that was added after the move.
func TestRemoveRefusesWork(t *testing.T) {
	t.Parallel()
	b := newMoveBench(t)
	ctx := t.Context()
	s := b.divided(1).First()
	k := s.Keys
	for key, add := range map[string]func() error{
		k.Jobs: func() error {
			return b.client.XAdd(ctx, &redis.XAddArgs{Stream: k.Jobs, Values: []string{"id", "5"}}).Err()
		},
		k.Waiting("r"):    func() error { return b.client.ZAdd(ctx, k.Waiting("r"), redis.Z{Score: 1, Member: "5"}).Err() },
		k.TimerAnchors:    func() error { return b.client.HSet(ctx, k.TimerAnchors, "call-1", "x").Err() },
		k.ReplyTo:         func() error { return b.client.HSet(ctx, k.ReplyTo, "5", "replies:my/1-0").Err() },
		k.Timer("call-1"): func() error { return b.client.Set(ctx, k.Timer("call-1"), "", time.Hour).Err() },
	} {
		if err := add(); err != nil {
			t.Fatal(err)
		}
		if err := remove(ctx, b.client, k, false); err == nil || !strings.Contains(err.Error(), key) || b.client.Exists(ctx, key).Val() != 1 {
			t.Errorf("%s: %v", key, err)
		}
		b.client.Del(ctx, key)
	}
	b.client.XGroupCreateMkStream(ctx, k.Jobs, scripts.Group, "0")
	if err := remove(ctx, b.client, k, false); err != nil || len(b.left(k.Prefix)) > 0 {
		t.Errorf("an empty stream: %v", err)
	}
}

// TestMoveKeepsTheOrderOfFields: quarantined entries look the same after a move.
func TestMoveKeepsTheOrderOfFields(t *testing.T) {
	t.Parallel()
	b := newMoveBench(t)
	ctx := t.Context()
	from, to := b.divided(1), b.divided(3)
	want := []any{"stream", "s", "entry", "1-0", "reason", "odd", "fields", "a=b", "more", "", "a", "1", "b", "2"}
	const entries = 20
	for range entries {
		b.client.XAdd(ctx, &redis.XAddArgs{Stream: from.First().Keys.Quarantined, Values: want})
	}
	if _, err := Move(ctx, from, to, b.client, b.client); err != nil {
		t.Fatal(err)
	}
	found, err := b.client.Do(ctx, "xrange", to.First().Keys.Quarantined, "-", "+").Slice()
	if err != nil || len(found) != entries {
		t.Fatal(len(found), err)
	}
	for _, entry := range found {
		if diff := cmp.Diff(want, entry.([]any)[1]); diff != "" {
			t.Fatalf("fields (-want +got):\n%s", diff)
		}
	}
}

// TestMoveKeepsSchedulesTogether in the first partition, which sets them.
func TestMoveKeepsSchedulesTogether(t *testing.T) {
	t.Parallel()
	b := newMoveBench(t)
	ctx := t.Context()
	from, to := b.divided(1), b.divided(3)
	for i := range 9 {
		b.client.ZAdd(ctx, from.First().Keys.Timers, redis.Z{Score: 4e12, Member: fmt.Sprint("schedule:r:", i)})
		b.client.ZAdd(ctx, from.First().Keys.PausedTimers, redis.Z{Score: 4e12, Member: fmt.Sprint("schedule:p:", i)})
	}
	if _, err := Move(ctx, from, to, b.client, b.client); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{to.First().Keys.Timers, to.First().Keys.PausedTimers} {
		if n := b.client.ZCard(ctx, key).Val(); n != 9 {
			t.Errorf("%s has %d", key, n)
		}
	}
}

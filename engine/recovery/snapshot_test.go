package recovery

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// snapshot makes a snapshot if something has changed, without waiting for its time.
func (b *bench) snapshot(s *snapshotter) {
	b.t.Helper()
	s.next = time.Time{}
	if err := s.once(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) inSnapshot(set string, want map[string]int64) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.tables.of(b.t, set)); diff != "" {
		b.t.Errorf("%s in the snapshot (-want +got):\n%s", set, diff)
	}
}

// scans counts the calls that read a set.
type scans struct {
	redis.Hook
	n atomic.Int64
}

func (s *scans) DialHook(next redis.DialHook) redis.DialHook { return next }
func (s *scans) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (s *scans) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "zscan" {
			s.n.Add(1)
		}
		return next(ctx, cmd)
	}
}

func TestSnapshotHasWhatIsDue(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := newSnapshotter(b.recovery())
	defer m.release(t.Context())
	b.add(b.scripts.Keys.Delayed, "1", 2e12)
	b.add(b.scripts.Keys.Delayed, "2", 1_700_000_000.25)
	b.add(b.scripts.Keys.Delayed, "3/1/@fanin", 2e12)
	b.add(b.scripts.Keys.Delayed, "4", math.Inf(1))
	odd := `send_message-42/"\<'>&`
	b.add(b.scripts.Keys.Timers, "é \n", 2e12) // is no timer
	b.add(b.scripts.Keys.Timers, odd, -2e12)
	b.add(b.scripts.Keys.Timers, strings.Repeat("x", 256), 2e12)
	b.add(b.scripts.Keys.PausedTimers, "paused", 7)
	b.paused("listener/l")
	b.snapshot(m)
	b.inSnapshot(setDelayed, map[string]int64{"1": 2e12, "2": 1_700_000_001})
	b.inSnapshot(setTimers, map[string]int64{odd: -2e12})
	b.inSnapshot(setPausedTimers, map[string]int64{"paused": 7})
	if part, err := b.tables.parts[0].decode(); err != nil || len(part.Pauses) != 1 {
		t.Errorf("%v %v", part.Pauses, err)
	}

	b.client.ZRem(t.Context(), b.scripts.Keys.Delayed, "1")
	b.add(b.scripts.Keys.Delayed, "2", 3e12)
	b.client.Del(t.Context(), b.scripts.Keys.Timers)
	b.snapshot(m)
	b.inSnapshot(setDelayed, map[string]int64{"2": 3e12})
	b.inSnapshot(setTimers, map[string]int64{})
}

// TestNothingIsReadWhileNothingChanges, nor is anything written when only steps of jobs
// come and go.
func TestNothingIsReadWhileNothingChanges(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := newSnapshotter(b.recovery())
	defer m.release(t.Context())
	counted := &scans{}
	b.client.AddHook(counted)
	b.add(b.scripts.Keys.Delayed, "1", 2e12)
	b.snapshot(m)
	scans, writes := counted.n.Load(), b.tables.writes
	if scans == 0 || writes != 1 {
		t.Fatalf("%d scans, %d writes", scans, writes)
	}
	for range 3 {
		b.add(b.scripts.Keys.Delayed, "1", 2e12) // changes nothing
		b.snapshot(m)
	}
	if n := counted.n.Load(); n != scans || b.tables.writes != writes {
		t.Errorf("%d scans and %d writes though nothing has changed", n-scans, b.tables.writes-writes)
	}
	m.taken = m.taken.Add(-snapshotAnyway)
	b.add(b.scripts.Keys.Delayed, "1/2/@fanin", 2e12)
	b.snapshot(m)
	if n := counted.n.Load(); n == scans || b.tables.writes != writes {
		t.Errorf("%d scans and %d writes where a step has come", n-scans, b.tables.writes-writes)
	}
}

// TestSnapshotOfALargeSet has several parts.
func TestSnapshotOfALargeSet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := newSnapshotter(b.recovery())
	defer m.release(t.Context())
	const size = 100_017
	want := map[string]int64{}
	for from := 0; from < size; from += 1000 {
		var page []redis.Z
		for i := from; i < min(from+1000, size); i++ {
			page = append(page, redis.Z{Member: fmt.Sprint(i), Score: float64(i)})
			want[fmt.Sprint(i)] = int64(i)
		}
		if err := b.client.ZAdd(t.Context(), b.scripts.Keys.Delayed, page...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	b.add(b.scripts.Keys.Timers, "t", 7)
	b.snapshot(m)
	b.inSnapshot(setDelayed, want)
	b.inSnapshot(setTimers, map[string]int64{"t": 7})
	members := 0
	for _, p := range b.tables.parts {
		members += p.Members
	}
	if n := len(b.tables.parts); n < 2 || n > 3 || members != size+1 {
		t.Errorf("%d parts have %d members, not %d", n, members, size+1)
	}
	b.forget()
	b.poll(&watcher{Recovery: b.process()})
	if diff := cmp.Diff(want, b.scores(b.scripts.Keys.Delayed)); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
}

// TestSnapshotsTakeAShare of the time: the longer one takes, and the larger it is, the
// later the next one is made.
func TestSnapshotsTakeAShare(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := newSnapshotter(b.recovery())
	defer m.release(t.Context())
	const took = 50 * time.Millisecond
	b.tables.meanwhile = func() { <-time.After(took) }
	b.add(b.scripts.Keys.Delayed, "1", 2e12)
	b.snapshot(m)
	b.add(b.scripts.Keys.Delayed, "2", 2e12)
	if rest := time.Until(m.next); rest < (snapshotShare-2)*took {
		t.Errorf("after one that took %v the next is made in %v", took, rest)
	}
	if err := m.once(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.inSnapshot(setDelayed, map[string]int64{"1": 2e12})
	b.snapshot(m)
	b.inSnapshot(setDelayed, map[string]int64{"1": 2e12, "2": 2e12})
	for range 2000 {
		b.add(b.scripts.Keys.Timers, rand.Text()+rand.Text()+rand.Text()+rand.Text(), 2e12)
	}
	b.snapshot(m)
	if rest := time.Until(m.next); rest < time.Second {
		t.Errorf("after one of 100 KB the next is made in %v", rest)
	}
}

// TestASnapshotDoesNotForget: what Redis has lost with its memory stays in it.
func TestASnapshotDoesNotForget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := newSnapshotter(b.recovery())
	defer m.release(t.Context())
	b.add(b.scripts.Keys.Delayed, "1", 2e12)
	b.snapshot(m)
	b.forget()
	for range 3 {
		b.snapshot(m)
	}
	b.inSnapshot(setDelayed, map[string]int64{"1": 2e12})
	// Nor what another Redis has not.
	if err := b.scripts.Epoch.Write(t.Context(), "another"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		b.snapshot(m)
	}
	b.inSnapshot(setDelayed, map[string]int64{"1": 2e12})
}

// TestOneProcessMakesSnapshots, and the next one goes on where it ends.
func TestOneProcessMakesSnapshots(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.recovery()
	first, second := newSnapshotter(r), newSnapshotter(r)
	b.add(b.scripts.Keys.Delayed, "1", 2e12)
	b.add(b.scripts.Keys.Delayed, "2", 2e12)
	b.snapshot(first)
	b.client.ZRem(t.Context(), b.scripts.Keys.Delayed, "1")
	b.snapshot(second)
	b.inSnapshot(setDelayed, map[string]int64{"1": 2e12, "2": 2e12})
	first.release(t.Context())
	b.snapshot(second)
	b.inSnapshot(setDelayed, map[string]int64{"2": 2e12})
	second.release(t.Context())
	if ttl := b.client.PTTL(t.Context(), b.scripts.Keys.Lock("snapshot")).Val(); ttl > time.Millisecond {
		t.Errorf("the lock is left for %v", ttl)
	}
}

// TestEveryChangeIsSeen, whoever makes it, and nothing else is.
func TestEveryChangeIsSeen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	foreign := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = foreign.Close() })
	ctx, keys := t.Context(), []string{b.scripts.Keys.Delayed, b.scripts.Keys.Timers}
	c := changes{scripts: b.scripts}
	defer c.end(ctx)
	if !c.seen(ctx) {
		t.Error("before it watches it cannot know")
	}
	for _, step := range []struct {
		do   []any
		want bool
	}{
		{[]any{"zadd", keys[0], 1, "a"}, true},
		{[]any{"zadd", keys[0], 1, "a"}, false},
		{[]any{"zadd", keys[0], "nx", 2, "a"}, false},
		{[]any{"zrange", keys[0], 0, -1}, false},
		{[]any{"zadd", keys[0] + "x", 1, "a"}, false},
		{[]any{"zadd", keys[1], 1, "a"}, true},
		{[]any{"zincrby", keys[1], 1, "a"}, true},
		{[]any{"zrem", keys[0], "b"}, false},
		{[]any{"eval", "return redis.call('ZADD', KEYS[1], 7, 'c')", 1, keys[0]}, true},
		{[]any{"zremrangebyscore", keys[0], 7, 7}, true},
		{[]any{"rename", keys[0], keys[0] + "y"}, true},
		{[]any{"unlink", keys[1]}, true},
		{[]any{"unlink", keys[1]}, false},
		{[]any{"client", "kill", "id", "ID"}, true},
	} {
		c.begin(ctx, keys)
		for i, arg := range step.do {
			if arg == "ID" {
				step.do[i] = c.id
			}
		}
		if err := foreign.Do(ctx, step.do...).Err(); err != nil {
			t.Fatal(step.do, err)
		}
		for range 2 {
			if got := c.seen(ctx); got != step.want {
				t.Errorf("%v: %v", step.do, got)
			}
		}
	}
	c.begin(ctx, keys)
	if c.seen(ctx) {
		t.Error("it does not recover from a connection that was lost")
	}
	// The connection can be used by others after that.
	c.end(ctx)
	for range 2 * b.client.PoolStats().TotalConns {
		if _, err := b.client.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.ZAdd(ctx, keys[0], redis.Z{Member: "d"}).Err() }); err != nil {
			t.Fatal(err)
		}
	}
}

// TestChangesThatCannotBeSeen, where CLIENT is forbidden: the sets are read each time,
// and written only where they differ.
func TestChangesThatCannotBeSeen(t *testing.T) {
	t.Parallel()
	s := newServer(t, "--rename-command", "CLIENT", "")
	m := newSnapshotter(s.recovery())
	defer m.release(t.Context())
	counted := &scans{}
	s.client.AddHook(counted)
	s.add(s.scripts.Keys.Delayed, "1", 2e12)
	for i := range 3 {
		before := counted.n.Load()
		s.snapshot(m)
		if counted.n.Load() == before || s.tables.writes != 1 {
			t.Errorf("call %d: %d scans, %d writes", i, counted.n.Load()-before, s.tables.writes)
		}
	}
	s.add(s.scripts.Keys.Delayed, "2", 2e12)
	s.snapshot(m)
	s.inSnapshot(setDelayed, map[string]int64{"1": 2e12, "2": 2e12})
}

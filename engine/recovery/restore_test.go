package recovery

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/internal/testenv"
)

// server is a bench with a Redis of its own, which can be started anew.
type server struct {
	*bench
	redis    *testenv.Redis
	dir      string
	settings []string
}

func newServer(t *testing.T, settings ...string) *server {
	t.Helper()
	s := &server{dir: t.TempDir(), settings: append(settings, "--appendfsync", "always")}
	var err error
	if s.redis, err = testenv.StartRedis(t.Context(), s.dir, s.settings...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.redis.Stop() })
	s.bench = newBenchOn(t, s.redis)
	return s
}

// copy returns a restart of Redis from what it has now.
func (s *server) copy() (restart func()) {
	s.t.Helper()
	data, copied := filepath.Join(s.dir, "appendonlydir"), s.t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(data)); err != nil {
		s.t.Fatal(err)
	}
	return func() {
		s.t.Helper()
		s.redis.Kill()
		if err := errors.Join(os.RemoveAll(data), os.CopyFS(data, os.DirFS(copied)), s.redis.Start(s.t.Context())); err != nil {
			s.t.Fatal(err)
		}
	}
}

// has compares the sets in Redis.
func (s *server) has(delayed, timers, paused map[string]int64) {
	s.t.Helper()
	want := []map[string]int64{delayed, timers, paused}
	got := []map[string]int64{s.scores(s.scripts.Keys.Delayed), s.scores(s.scripts.Keys.Timers), s.scores(s.scripts.Keys.PausedTimers)}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("in Redis (-want +got):\n%s", diff)
	}
}

// TestARestartOfRedisGivesNothingBack: what was removed or paused just before it,
// and is in the snapshot still, is so in Redis.
func TestARestartOfRedisGivesNothingBack(t *testing.T) {
	t.Parallel()
	for name, anew := range map[string]bool{"a process that runs": false, "a process that is started with it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			w := &watcher{Recovery: s.process()}
			s.poll(w)
			m := newSnapshotter(w.Recovery)
			s.add(s.scripts.Keys.Delayed, "1", 4e12)
			s.add(s.scripts.Keys.Delayed, "2", 4e12)
			for _, name := range []string{"removed", "paused", "stays"} {
				s.add(s.scripts.Keys.Timers, name, 4e12)
			}
			s.snapshot(m)
			m.release(t.Context())
			s.client.ZRem(t.Context(), s.scripts.Keys.Delayed, "1")
			if err := s.scripts.Timers.Remove(t.Context(), "removed"); err != nil {
				t.Fatal(err)
			}
			if _, err := s.scripts.Timers.Pause(t.Context(), "paused"); err != nil {
				t.Fatal(err)
			}
			s.redis.Kill()
			if err := s.redis.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-w.want
			if anew {
				w = &watcher{Recovery: s.process()}
			}
			s.poll(w)
			s.has(map[string]int64{"2": 4e12}, map[string]int64{"stays": 4e12}, map[string]int64{"paused": 4e12})
			s.lost(w.Recovery, 0)
			if len(w.want) != 1 {
				t.Error("no pass is wanted")
			}
			m = newSnapshotter(w.Recovery)
			defer m.release(t.Context())
			s.snapshot(m)
			s.inSnapshot(setTimers, map[string]int64{"stays": 4e12})
		})
	}
}

// TestAnOlderCopyOfRedis has the epoch and lacks what came after the copy:
// that comes back, and is not taken for removed.
func TestAnOlderCopyOfRedis(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settings []string
		takes    bool // a snapshot is to be made before Redis is compared with MySQL
		anew     bool
	}{
		"a process that runs":               {},
		"a snapshot that is due":            {settings: []string{"--rename-command", "INFO", ""}, takes: true},
		"a process that is started with it": {anew: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, test.settings...)
			w := &watcher{Recovery: s.process()}
			s.poll(w)
			<-w.want
			m := newSnapshotter(w.Recovery)
			defer func() { m.release(t.Context()) }()
			s.add(s.scripts.Keys.Delayed, "1", 4e12)
			s.add(s.scripts.Keys.Timers, "resumed", 4e12)
			s.snapshot(m)
			restart := s.copy()
			s.add(s.scripts.Keys.Delayed, "7", 4e12)
			s.add(s.scripts.Keys.Delayed, "8", 1) // was due
			s.snapshot(m)
			delayed := map[string]int64{"1": 4e12, "7": 4e12, "8": 1}
			s.inSnapshot(setDelayed, delayed)
			restart()
			s.has(map[string]int64{"1": 4e12}, map[string]int64{"resumed": 4e12}, map[string]int64{})
			if test.takes {
				for range 3 {
					s.snapshot(m)
					if now, _ := m.agreed(); now != "" {
						t.Error("Redis is not compared with MySQL")
					}
					m.release(t.Context())
					m = newSnapshotter(s.process())
					m.agree(s.tables.epoch, true) // as one that has not compared them yet
				}
				s.inSnapshot(setDelayed, delayed)
			}
			if test.anew {
				m.release(t.Context())
				w = &watcher{Recovery: s.process()}
				m = newSnapshotter(w.Recovery)
			}
			s.poll(w)
			s.has(delayed, map[string]int64{"resumed": 4e12}, map[string]int64{})
			s.lost(w.Recovery, 1)
			if len(w.want) != 1 {
				t.Error("no pass is wanted")
			}
			s.poll(w)
			s.lost(w.Recovery, 1)
			for range 2 {
				s.snapshot(m)
				s.poll(w)
			}
			s.inSnapshot(setDelayed, delayed)
		})
	}
}

// older is a Redis that does not know the snapshot that MySQL has.
func (b *bench) older() *watcher {
	b.t.Helper()
	b.recovery()
	b.save(setDelayed, map[string]int64{"1": 4e12})
	return &watcher{Recovery: b.process()}
}

// TestACrashInTheMiddleOfARefresh: the next one begins again.
func TestACrashInTheMiddleOfARefresh(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.older()
	b.tables.unread = errors.New("crash")
	if err := w.poll(t.Context()); !errors.Is(err, b.tables.unread) {
		t.Fatal(err)
	}
	if now, _ := w.agreed(); now != "" {
		t.Error("it works on though the restore is not done")
	}
	b.tables.unread = nil
	b.poll(&watcher{Recovery: b.process()})
	b.restored(map[string]int64{"1": 4e12})
}

// TestAPauseOutlivesAnOlderCopy: a timer that is paused there, or in the snapshot, does
// not fire.
func TestAPauseOutlivesAnOlderCopy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.older()
	timers, paused := b.scripts.Keys.Timers, b.scripts.Keys.PausedTimers
	b.add(timers, "runs", 3e12)
	b.add(paused, "pauses", 3e12)
	b.save(setTimers, map[string]int64{"pauses": 4e12, "both": 4e12, "other": 4e12})
	b.save(setPausedTimers, map[string]int64{"runs": 4e12, "both": 4e12})
	b.poll(w)
	if diff := cmp.Diff(map[string]int64{"runs": 3e12, "other": 4e12}, b.scores(timers)); diff != "" {
		t.Errorf("timers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"pauses": 3e12, "both": 4e12, "runs": 4e12}, b.scores(paused)); diff != "" {
		t.Errorf("paused (-want +got):\n%s", diff)
	}
}

// TestSchedulesAreRestored although Fanfold has set them anew: with their pause, and with the time that has passed. Other
// timers that were set since are those of services.
func TestSchedulesAreRestored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.recovery()
	b.save(setTimers, map[string]int64{"schedule:r:late": 3e12, "schedule:r:lost": 3e12, "late": 3e12, "lost": 3e12})
	b.save(setPausedTimers, map[string]int64{"schedule:r:pauses": 3e12, "pauses": 3e12})
	timers, paused := b.scripts.Keys.Timers, b.scripts.Keys.PausedTimers
	b.client.Del(t.Context(), b.scripts.Keys.Epoch)
	for _, name := range []string{"schedule:r:late", "late", "schedule:r:pauses", "pauses"} {
		b.add(timers, name, 4e12)
	}
	b.poll(&watcher{Recovery: b.process()})
	if diff := cmp.Diff(map[string]int64{"schedule:r:late": 3e12, "schedule:r:lost": 3e12, "late": 4e12, "lost": 3e12,
		"schedule:r:pauses": 4e12, "pauses": 4e12}, b.scores(timers)); diff != "" {
		t.Errorf("timers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int64{"schedule:r:pauses": 3e12}, b.scores(paused)); diff != "" {
		t.Errorf("paused (-want +got):\n%s", diff)
	}
}

// TestTwoProcessesMakeSnapshots where one has lost its lock and does not know it: each
// snapshot has all that Redis has.
func TestTwoProcessesMakeSnapshots(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.recovery()
	first, second := newSnapshotter(r), newSnapshotter(r)
	b.add(b.scripts.Keys.Delayed, "1", 2e12)
	b.snapshot(first)
	first.unlock()
	first.leased, first.unlock = t.Context(), func() {}
	want := map[string]int64{"1": 2e12}
	for i, s := range []*snapshotter{second, first, second, first} {
		member := fmt.Sprint("more-", i)
		b.add(b.scripts.Keys.Delayed, member, 2e12)
		want[member] = 2e12
		b.snapshot(s)
		b.inSnapshot(setDelayed, want)
	}
	first.release(t.Context())
	second.release(t.Context())
	b.poll(&watcher{Recovery: r})
	b.lost(r, 0)
}

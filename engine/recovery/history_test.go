package recovery

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/engine"
)

// comesBackOlder does what a process does that is started together with a Redis that is
// an older copy of itself.
func (b *bench) comesBackOlder() {
	b.t.Helper()
	w := &watcher{Recovery: b.process()}
	b.poll(w)
	m := newSnapshotter(w.Recovery)
	defer m.release(b.t.Context())
	b.add(b.scripts.Keys.Delayed, "new", 4e12)
	b.snapshot(m)
}

// TestAPausedTimerThatIsOverdue waits for somebody, and not for its time: a Redis
// that is an older copy gets it back.
func TestAPausedTimerThatIsOverdue(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.recovery()
	past := time.Now().Add(-time.Hour).UnixMilli()
	b.save(setPausedTimers, map[string]int64{"p": past})
	b.comesBackOlder()
	want := map[string]int64{"p": past}
	if diff := cmp.Diff(want, b.scores(b.scripts.Keys.PausedTimers)); diff != "" {
		t.Errorf("paused (-want +got):\n%s", diff)
	}
	b.inSnapshot(setPausedTimers, want)
}

// TestATimerThatWasPutOff since an older copy of Redis was made does not fire at
// the copy's time.
func TestATimerThatWasPutOff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := newSnapshotter(b.recovery())
	b.add(b.scripts.Keys.Timers, "t", 3e12)
	b.snapshot(m)
	m.release(b.t.Context())
	b.save(setTimers, map[string]int64{"t": 4e12})
	b.comesBackOlder()
	b.inSnapshot(setTimers, map[string]int64{"t": 4e12})
}

// TestAnotherRedisHasASnapshot, such as a master that is cut off, and has saved it while
// this one was about to: what that one knew is not lost.
func TestAnotherRedisHasASnapshot(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.recovery()
	w, m := &watcher{Recovery: r}, newSnapshotter(r)
	defer m.release(t.Context())
	b.add(b.scripts.Keys.Delayed, "1", 4e12)
	b.snapshot(m)
	b.add(b.scripts.Keys.Delayed, "2", 4e12)
	b.tables.meanwhile = func() { b.save(setDelayed, map[string]int64{"7": 4e12}) }
	b.snapshot(m)
	known, err := b.scripts.Epoch.ReadSnapshot(t.Context())
	if err != nil || versionNumber(known) != versionNumber(b.tables.version) || known == b.tables.version {
		t.Errorf("Redis has the version %q, MySQL %q, %v", known, b.tables.version, err)
	}
	for range 2 {
		b.poll(w)
		b.snapshot(m)
	}
	want := map[string]int64{"1": 4e12, "2": 4e12, "7": 4e12}
	if diff := cmp.Diff(want, b.scores(b.scripts.Keys.Delayed)); diff != "" {
		t.Errorf("delayed (-want +got):\n%s", diff)
	}
	b.inSnapshot(setDelayed, want)
}

// TestAPassOverAnOlderCopy ends: what is not in the delayed set there may be due
// later.
func TestAPassOverAnOlderCopy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.recovery()
	epoch, _ := r.agreed()
	w := walk{Recovery: r, epoch: epoch}
	page := []engine.Record{{ID: "7"}}
	if err := w.page(t.Context(), page); err != nil || w.started != 1 {
		t.Fatal(w.started, err)
	}
	b.save(setDelayed, map[string]int64{"7": 4e12})
	if err := w.page(t.Context(), page); !errors.Is(err, errForgotten) || w.started != 1 {
		t.Errorf("%d are started before their time, %v", w.started-1, err)
	}
	// The next poll does not wait for a snapshot to find that out.
	b.poll(&watcher{Recovery: r})
	if scores := b.scores(b.scripts.Keys.Delayed); scores["7"] != 4e12 {
		t.Errorf("delayed: %v", scores)
	}
}

// TestAnotherProcessHasASnapshot of the same Redis, saved while this one hung: nothing is
// lost, and nothing that was removed comes back.
func TestAnotherProcessHasASnapshot(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.recovery()
	w, m, other := &watcher{Recovery: r}, newSnapshotter(r), newSnapshotter(b.recovery())
	defer m.release(t.Context())
	b.add(b.scripts.Keys.Delayed, "1", 4e12)
	b.add(b.scripts.Keys.Delayed, "cancelled", 4e12)
	b.snapshot(m)
	b.add(b.scripts.Keys.Delayed, "2", 4e12)
	b.tables.meanwhile = func() {
		b.client.ZRem(t.Context(), b.scripts.Keys.Delayed, "cancelled")
		other.epoch, _ = other.agreed()
		other.leased, other.unlock = t.Context(), func() {} // the lock of the one that hangs has ended
		b.snapshot(other)
		other.release(t.Context())
	}
	b.snapshot(m)
	if now, _ := r.agreed(); now != "" {
		t.Error("Redis is not compared with MySQL again")
	}
	b.inSnapshot(setDelayed, map[string]int64{"1": 4e12, "2": 4e12})
	for range 2 {
		b.poll(w)
		b.snapshot(m)
	}
	b.lost(r, 0)
	want := map[string]int64{"1": 4e12, "2": 4e12}
	if diff := cmp.Diff(want, b.scores(b.scripts.Keys.Delayed)); diff != "" {
		t.Errorf("delayed (-want +got):\n%s", diff)
	}
	b.inSnapshot(setDelayed, want)
}

// TestMySQLFromABackup has an older snapshot than Redis knows: nothing that was removed
// since comes back, and the next snapshot is saved.
func TestMySQLFromABackup(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := &watcher{Recovery: b.recovery()}
	m := newSnapshotter(w.Recovery)
	b.add(b.scripts.Keys.Timers, "fires", 4e12)
	b.snapshot(m)
	version, parts := b.tables.version, b.tables.parts
	b.client.ZRem(t.Context(), b.scripts.Keys.Timers, "fires")
	for _, name := range []string{"a", "b", "c"} {
		b.add(b.scripts.Keys.Timers, name, 4e12)
		b.snapshot(m)
	}
	m.release(t.Context())
	b.tables.version, b.tables.parts = version, parts
	w = &watcher{Recovery: b.process()}
	b.poll(w)
	b.lost(w.Recovery, 0)
	m = newSnapshotter(w.Recovery)
	defer m.release(t.Context())
	b.snapshot(m)
	want := map[string]int64{"a": 4e12, "b": 4e12, "c": 4e12}
	if diff := cmp.Diff(want, b.scores(b.scripts.Keys.Timers)); diff != "" {
		t.Errorf("timers (-want +got):\n%s", diff)
	}
	b.inSnapshot(setTimers, want)
	b.poll(&watcher{Recovery: b.process()})
}

// TestAPassWithoutTables that were there when it began ends, and so does the belief
// in them.
func TestAPassWithoutTables(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.recovery()
	epoch, _ := r.agreed()
	b.tables.missing = true
	w := walk{Recovery: r, epoch: epoch}
	if err := w.page(t.Context(), []engine.Record{{ID: "7"}}); !errors.Is(err, errForgotten) {
		t.Errorf("%v", err)
	}
	b.poll(&watcher{Recovery: r})
	if now, stored := r.agreed(); now != epoch || stored {
		t.Errorf("epoch %q, stored %v", now, stored)
	}
}

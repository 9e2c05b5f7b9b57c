package recovery

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/engine"
)

func (b *bench) restored(want map[string]int64) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.scores(b.scripts.Keys.Delayed)); diff != "" {
		b.t.Errorf("in Redis (-want +got):\n%s", diff)
	}
	now, err := b.scripts.Epoch.Read(b.t.Context())
	if err != nil || now == "" || now != b.tables.epoch {
		b.t.Errorf("epoch %q, noted %q, %v", now, b.tables.epoch, err)
	}
	if saved, known, older, err := b.process().versions(b.t.Context()); err != nil || older {
		b.t.Errorf("Redis has the version %q, and MySQL %q, %v", known, saved, err)
	}
}

func (b *bench) lost(r *Recovery, want int) {
	b.t.Helper()
	if got := testutil.ToFloat64(r.metrics.lost); got != float64(want) {
		b.t.Errorf("lost %v times, not %d", got, want)
	}
}

func TestALostMemoryIsRestored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := &watcher{Recovery: b.recovery()}
	<-w.want
	b.lost(w.Recovery, 0)
	b.poll(w)
	if len(w.want) > 0 {
		t.Error("a pass is wanted though nothing has happened")
	}
	before := b.tables.epoch
	want := map[string]int64{}
	for i := range 2 * restoreBatch {
		want[fmt.Sprint(i)] = 2e12 + int64(i)
	}
	b.save(setDelayed, want)
	b.forget()
	b.add(b.scripts.Keys.Delayed, "7", 9e12) // somebody was faster
	want["7"] = 9e12
	b.poll(w)
	b.restored(want)
	if b.tables.epoch == before {
		t.Error("the epoch is the same")
	}
	b.lost(w.Recovery, 1)
	if len(w.want) != 1 {
		t.Error("no pass is wanted")
	}
	// Somebody who saw the loss and had to wait for the lock finds it done.
	if err := w.restoreLost(t.Context()); err != nil {
		t.Error(err)
	}
	b.lost(w.Recovery, 1)
	// A Redis with another memory, such as an old copy.
	if err := b.scripts.Epoch.Write(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	b.client.Del(t.Context(), b.scripts.Keys.Delayed)
	want["7"] = 2e12 + 7
	b.poll(w)
	b.restored(want)
	b.lost(w.Recovery, 2)
}

// TestACrashInTheMiddleOfARestore: the next one begins again, and what a service
// has changed meanwhile stays.
func TestACrashInTheMiddleOfARestore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := &watcher{Recovery: b.recovery()}
	b.save(setDelayed, map[string]int64{"1": 2e12, "2": 2e12})
	b.forget()
	b.tables.fail = errors.New("crash")
	if err := w.poll(t.Context()); !errors.Is(err, b.tables.fail) {
		t.Fatal(err)
	}
	if n := len(b.scores(b.scripts.Keys.Delayed)); n != 2 {
		t.Fatalf("%d restored", n)
	}
	if now, _ := w.agreed(); now != "" {
		t.Error("it works on though the restore is not done")
	}
	b.tables.fail = nil
	b.add(b.scripts.Keys.Delayed, "1", 3e12)
	b.poll(&watcher{Recovery: b.process()})
	b.restored(map[string]int64{"1": 3e12, "2": 2e12})
}

// TestALossInTheMiddleOfARestore is one more loss.
func TestALossInTheMiddleOfARestore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := &watcher{Recovery: b.recovery()}
	b.save(setDelayed, map[string]int64{"1": 2e12})
	b.forget()
	b.tables.fail = errors.New("crash")
	if err := w.poll(t.Context()); err == nil {
		t.Fatal("no error")
	}
	b.forget()
	b.tables.fail = nil
	b.poll(w)
	b.restored(map[string]int64{"1": 2e12})
}

func TestTwoProcessesRestoreOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.recovery()
	b.save(setDelayed, map[string]int64{"1": 2e12})
	b.forget()
	var processes []*Recovery
	var group errgroup.Group
	for range 8 {
		r := b.process()
		processes = append(processes, r)
		group.Go(func() error { return (&watcher{Recovery: r}).poll(t.Context()) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	b.restored(map[string]int64{"1": 2e12})
	sum := 0.0
	for _, r := range processes {
		sum += testutil.ToFloat64(r.metrics.lost)
	}
	if sum != 1 {
		t.Errorf("restored %v times", sum)
	}
}

// TestWithoutTables a loss is seen all the same, and tables that come later are
// used.
func TestWithoutTables(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.tables.missing = true
	w := &watcher{Recovery: b.process()}
	b.poll(w)
	first, stored := w.agreed()
	if first == "" || stored || len(w.want) != 1 {
		t.Fatalf("%q %v %d", first, stored, len(w.want))
	}
	<-w.want
	b.forget()
	b.poll(w)
	if now, _ := w.agreed(); now == "" || now == first || len(w.want) != 1 {
		t.Errorf("%q after %q", now, first)
	}
	b.lost(w.Recovery, 1)
	b.tables.missing = false
	w.asked = w.asked.Add(-2 * tablesEvery)
	b.poll(w)
	if now, stored := w.agreed(); !stored || now != b.tables.epoch {
		t.Errorf("%q, noted %q", now, b.tables.epoch)
	}
}

// TestAPassEndsWithTheMemoryThatItBeganWith: an id that waits for its time looks
// lost until it is restored.
func TestAPassEndsWithTheMemoryThatItBeganWith(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.recovery()
	epoch, _ := r.agreed()
	w := walk{Recovery: r, epoch: epoch}
	page := []engine.Record{{ID: "1"}}
	if err := w.page(t.Context(), page); err != nil || w.started != 1 {
		t.Errorf("%d are started, %v", w.started, err)
	}
	b.forget()
	if err := w.page(t.Context(), page); !errors.Is(err, errForgotten) || w.started != 1 {
		t.Errorf("%d are started, %v", w.started, err)
	}
}

// TestALockThatIsLost ends what was done under it.
func TestALockThatIsLost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	held, release, err := b.process().lock(t.Context(), "snapshot")
	if err != nil || held == nil {
		t.Fatal(err)
	}
	defer release()
	if err := b.client.Set(t.Context(), b.scripts.Keys.Lock("snapshot"), "somebody else", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	limit := time.NewTimer(3 * lease)
	defer limit.Stop()
	select {
	case <-held.Done():
	case <-limit.C:
		t.Error("the lock is somebody else's, and the work goes on")
	}
}

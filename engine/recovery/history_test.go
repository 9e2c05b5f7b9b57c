package recovery

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/engine"
)

// comesBackOlder looks as a process does that is started together with a Redis that is an
// older copy of itself, and mirrors it then.
func (b *bench) comesBackOlder() {
	b.t.Helper()
	w := &watcher{Recovery: b.process()}
	b.look(w)
	m := &mirror{Recovery: w.Recovery}
	defer m.forget()
	b.add(b.scripts.Delayed(), "new", 4e12)
	b.mirror(m)
}

// TestAPausedTimerThatIsOverdue waits for somebody, and not for its time: a Redis
// that is an older copy gets it back.
func TestAPausedTimerThatIsOverdue(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.recovery()
	past := time.Now().Add(-time.Hour).UnixMilli()
	b.save(b.scripts.PausedTimers(), Due{"p", past})
	b.comesBackOlder()
	want := map[string]int64{"p": past}
	if diff := cmp.Diff(want, b.scores(b.scripts.PausedTimers())); diff != "" {
		t.Errorf("paused (-want +got):\n%s", diff)
	}
	b.mirrored(b.scripts.PausedTimers(), want)
}

// TestATimerThatWasPutOff since an older copy of Redis was made does not fire at
// the copy's time.
func TestATimerThatWasPutOff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := &mirror{Recovery: b.recovery()}
	b.add(b.scripts.Timers(), "t", 3e12)
	b.mirror(m)
	m.forget()
	b.save(b.scripts.Timers(), Due{"t", 4e12})
	b.comesBackOlder()
	b.mirrored(b.scripts.Timers(), map[string]int64{"t": 4e12})
}

// TestAnotherRedisHasMirrored with the number that this one gives next: what that
// one knew is not lost.
func TestAnotherRedisHasMirrored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.recovery()
	w, m := &watcher{Recovery: r}, &mirror{Recovery: r}
	defer m.forget()
	b.add(b.scripts.Delayed(), "1", 4e12)
	b.mirror(m)
	b.save(b.scripts.Delayed(), Due{"7", 4e12})
	b.add(b.scripts.Delayed(), "2", 4e12)
	for range 3 {
		b.mirror(m)
		b.look(w)
	}
	want := map[string]int64{"1": 4e12, "2": 4e12, "7": 4e12}
	if diff := cmp.Diff(want, b.scores(b.scripts.Delayed())); diff != "" {
		t.Errorf("delayed (-want +got):\n%s", diff)
	}
	b.mirrored(b.scripts.Delayed(), want)
}

// TestAPassOverAnOlderCopy ends: what is not in the delayed set there may be due
// later.
func TestAPassOverAnOlderCopy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.recovery()
	epoch, _ := r.agreed()
	lost := func() ([]engine.Record, error) {
		w := walk{Recovery: r, epoch: epoch}
		return w.lost(t.Context(), []engine.Record{{ID: "7"}})
	}
	if found, err := lost(); err != nil || len(found) != 1 {
		t.Fatal(len(found), err)
	}
	b.save(b.scripts.Delayed(), Due{"7", 4e12})
	if found, err := lost(); !errors.Is(err, errForgotten) {
		t.Errorf("%d are started before their time, %v", len(found), err)
	}
	// The next look does not wait for the mirror to find that out.
	b.look(&watcher{Recovery: r})
	if scores := b.scores(b.scripts.Delayed()); scores["7"] != 4e12 {
		t.Errorf("delayed: %v", scores)
	}
}

// TestAnotherProcessHasMirrored on the same Redis while this one hung: nothing is
// lost, and nothing that was removed comes back.
func TestAnotherProcessHasMirrored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.recovery()
	w, m := &watcher{Recovery: r}, &mirror{Recovery: r}
	defer m.forget()
	b.add(b.scripts.Delayed(), "1", 4e12)
	b.add(b.scripts.Delayed(), "cancelled", 4e12)
	b.mirror(m)
	b.client.ZRem(t.Context(), b.scripts.Delayed(), "cancelled")
	number, err := b.scripts.ReadMirrored(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Both count and the other one saves first.
	for n := number; n < number+2; n++ {
		if ok, err := b.scripts.CountMirrored(t.Context(), n); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	if saved, err := b.tables.SaveDues(t.Context(), number+2, b.scripts.Delayed(), nil, nil); err != nil || !saved {
		t.Fatal(saved, err)
	}
	m.number = number
	for range 3 {
		b.mirror(m)
		b.look(w)
	}
	if n := b.client.ZCard(t.Context(), b.scripts.Delayed()).Val(); n != 1 {
		t.Errorf("%d are due later, not 1", n)
	}
	b.mirrored(b.scripts.Delayed(), map[string]int64{"1": 4e12})
	// That this one's number is not taken does not mean that Redis has lost anything.
	if err := b.scripts.ForgetMirrored(t.Context(), number+1); err != nil {
		t.Fatal(err)
	}
	if n, err := b.scripts.ReadMirrored(t.Context()); err != nil || n < number+2 {
		t.Errorf("Redis has the number %d, %v", n, err)
	}
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
	if _, err := w.lost(t.Context(), []engine.Record{{ID: "7"}}); !errors.Is(err, errForgotten) {
		t.Errorf("%v", err)
	}
	b.look(&watcher{Recovery: r})
	if now, mirrored := r.agreed(); now != epoch || mirrored {
		t.Errorf("epoch %q, mirrored %v", now, mirrored)
	}
}

package recovery

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

func (b *bench) mirror(m *mirror) {
	b.t.Helper()
	if err := m.pass(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) mirrored(set string, want map[string]int64) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.tables.of(set)); diff != "" {
		b.t.Errorf("mirror of %s (-want +got):\n%s", set, diff)
	}
}

func TestMirrorWritesOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := &mirror{Recovery: b.recovery()}
	defer m.forget()
	b.add(b.scripts.Delayed(), "1", 2e12)
	b.add(b.scripts.Delayed(), "2", 1_700_000_000.25)
	b.add(b.scripts.Delayed(), "3/1/@fanin", 2e12)
	b.add(b.scripts.Delayed(), "4", math.Inf(1))
	b.add(b.scripts.Timers(), "send_message-42/x y", 2e12)
	b.add(b.scripts.Timers(), strings.Repeat("x", 256), 2e12)
	b.add(b.scripts.PausedTimers(), "paused", 7)
	b.mirror(m)
	b.mirrored(b.scripts.Delayed(), map[string]int64{"1": 2e12, "2": 1_700_000_001})
	b.mirrored(b.scripts.Timers(), map[string]int64{"send_message-42/x y": 2e12})
	b.mirrored(b.scripts.PausedTimers(), map[string]int64{"paused": 7})

	writes := b.tables.writes
	b.mirror(m)
	if b.tables.writes != writes {
		t.Error("what did not change was written")
	}
	b.client.ZRem(t.Context(), b.scripts.Delayed(), "1")
	b.add(b.scripts.Delayed(), "2", 3e12)
	b.client.Del(t.Context(), b.scripts.Timers())
	b.mirror(m)
	b.mirrored(b.scripts.Delayed(), map[string]int64{"2": 3e12})
	b.mirrored(b.scripts.Timers(), map[string]int64{})
}

// TestMirrorOfALargeSet: it is walked over in several passes.
func TestMirrorOfALargeSet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := &mirror{Recovery: b.recovery()}
	defer m.forget()
	const size = 3*mirrorMost + 17
	want := map[string]int64{}
	for from := 0; from < size; from += 1000 {
		var page []redis.Z
		for i := from; i < min(from+1000, size); i++ {
			page = append(page, redis.Z{Member: fmt.Sprint(i), Score: float64(i)})
			want[fmt.Sprint(i)] = int64(i)
		}
		if err := b.client.ZAdd(t.Context(), b.scripts.Delayed(), page...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	b.mirror(m)
	if n := len(b.tables.of(b.scripts.Delayed())); n < mirrorMost || n > mirrorMost+2*mirrorPage {
		t.Errorf("the first pass has written %d of %d", n, size)
	}
	for range 5 {
		b.mirror(m)
	}
	b.mirrored(b.scripts.Delayed(), want)
	for i := range size / 2 {
		delete(want, fmt.Sprint(i))
	}
	b.client.ZRemRangeByRank(t.Context(), b.scripts.Delayed(), 0, size/2-1)
	for range 8 {
		b.mirror(m)
	}
	b.mirrored(b.scripts.Delayed(), want)
}

// TestMirrorDoesNotForget: what Redis has lost with its memory stays.
func TestMirrorDoesNotForget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := &mirror{Recovery: b.recovery()}
	b.add(b.scripts.Delayed(), "1", 2e12)
	b.mirror(m)
	b.forget()
	for range 3 {
		b.mirror(m)
	}
	b.mirrored(b.scripts.Delayed(), map[string]int64{"1": 2e12})
	// Nor what another Redis has not.
	if err := b.scripts.WriteEpoch(t.Context(), "another"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		b.mirror(m)
	}
	b.mirrored(b.scripts.Delayed(), map[string]int64{"1": 2e12})
	m.forget()
}

// TestMirrorKnowsWhatItWrote before a restart: it removes what is gone since.
func TestMirrorKnowsWhatItWrote(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.recovery()
	first, second := &mirror{Recovery: r}, &mirror{Recovery: r}
	b.add(b.scripts.Delayed(), "1", 2e12)
	b.add(b.scripts.Delayed(), "2", 2e12)
	b.mirror(first)
	b.client.ZRem(t.Context(), b.scripts.Delayed(), "1")
	b.mirror(second)
	b.mirrored(b.scripts.Delayed(), map[string]int64{"1": 2e12, "2": 2e12}) // only one mirrors
	first.forget()
	b.mirror(second)
	b.mirrored(b.scripts.Delayed(), map[string]int64{"2": 2e12})
	second.forget()
	if ttl := b.client.PTTL(t.Context(), b.scripts.Lock("mirror")).Val(); ttl > time.Millisecond {
		t.Errorf("the lock is left for %v", ttl)
	}
}

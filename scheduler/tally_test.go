package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/tally"
)

// failures appends events of failed tries of a listener.
func (b *bundle) failures(n int, listener string) {
	b.t.Helper()
	pipe := b.client.Pipeline()
	for range n {
		pipe.XAdd(b.t.Context(), &redis.XAddArgs{Stream: b.s.Keys.Events, Values: []string{"event", "retry", "step", listener}})
	}
	if _, err := pipe.Exec(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// tallied returns what the counters of the last day say.
func (b *bundle) tallied() tally.Bucket {
	b.t.Helper()
	level := tally.Levels[2]
	hours, err := b.s.Tally.Read(b.t.Context(), level, level.Number(time.Now())-23, 24)
	if err != nil {
		b.t.Fatal(err)
	}
	sum := tally.NewBucket(time.Time{})
	for _, hour := range hours {
		sum.Fill(hour)
	}
	return sum
}

func (b *bundle) failed() int64 {
	if a := b.tallied().Listeners["a"]; a != nil {
		return a.Failed
	}
	return 0
}

// TestEveryEventCountsOnce, although several processes count at the same time without the lock, and some end between
// the read and the script.
func TestEveryEventCountsOnce(t *testing.T) {
	t.Parallel()
	b := shared(t)
	const events, names = 3500, 400 // so many names that every page is a call of its own
	for i := range names {
		b.failures(events/names+1, fmt.Sprint("l", i))
	}
	var group errgroup.Group
	for i := range 3 {
		s := &counter{base: b.scheduler(fmt.Sprint(i)).base}
		group.Go(func() error {
			for more, pass := true, 0; more; pass++ {
				from, err := b.s.Tally.Cursor(t.Context())
				if err != nil {
					return err
				}
				if pass%2 == 1 { // read, and killed before the script
					if _, _, err := s.scripts.Entries.After(t.Context(), s.scripts.Keys.Events, from.Entry); err != nil {
						return err
					}
					continue
				}
				if more, err = s.count(t.Context(), from); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	var n int64
	for _, l := range b.tallied().Listeners {
		n += l.Failed
	}
	if want := b.client.XLen(t.Context(), b.s.Keys.Events).Val(); n != want {
		t.Errorf("%d of %d events are counted", n, want)
	}
}

// TestCountersStay: a scheduler that starts later goes on where an earlier one has stopped, and a Redis that has lost
// its data begins anew.
func TestCountersStay(t *testing.T) {
	t.Parallel()
	b := shared(t)
	b.failures(3, "a")
	b.run("a")
	b.until("the first events are counted", func() bool { return b.failed() == 3 })
	t.Run("another", func(t *testing.T) {
		b.failures(1500, "a")
		b.run("b")
		b.until("all events are counted", func() bool { return b.failed() == 1503 })
	})
	keys, err := b.client.Keys(t.Context(), b.s.Keys.Prefix+"*").Result()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.client.Del(t.Context(), keys...).Err(); err != nil {
		t.Fatal(err)
	}
	b.failures(2, "a")
	b.until("counts begin anew", func() bool { return b.failed() == 2 })
}

// TestDeploysAreMarked: a version that was not among the processes before is a mark; one that ends is none.
func TestDeploysAreMarked(t *testing.T) {
	t.Parallel()
	b := shared(t)
	c := &counter{base: b.scheduler("a").base}
	marks := func(want int64, names ...string) {
		t.Helper()
		for _, name := range names {
			if err := b.s.Definitions.AnnounceProcess(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		from, err := b.s.Tally.Cursor(t.Context())
		if err == nil {
			_, err = c.count(t.Context(), from)
		}
		if err != nil {
			t.Fatal(err)
		}
		var n int64
		level := tally.Levels[3]
		today := level.Number(time.Now())
		days, err := b.s.Tally.Read(t.Context(), level, today-1, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, day := range days {
			for _, version := range []string{"v/1.0", "v/2.0"} {
				var one int64
				_, _ = fmt.Sscanf(day[version], "n=%d", &one)
				n += one
			}
		}
		if n != want {
			t.Errorf("%d marks after %q, want %d", n, names, want)
		}
	}
	old, young := report.Process("a", "1.0"), report.Process("b", "2.0")
	marks(0)
	marks(1, old, report.Process("c", "1.0"))
	marks(1)
	marks(2, young)
	for _, name := range []string{old, report.Process("c", "1.0")} {
		if err := b.s.Definitions.EndProcess(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	marks(2)
	marks(3, old) // it was rolled back
	if got, err := b.s.Tally.Cursor(t.Context()); err != nil || fmt.Sprint(got) != fmt.Sprint(scripts.TallyCursor{Entry: "0-0", Versions: []string{"1.0", "2.0"}}) {
		t.Errorf("%v %v", got, err)
	}
}

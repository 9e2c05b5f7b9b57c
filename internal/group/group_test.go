package group

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestCallsShareARoundTrip: the first call runs at once, calls that arrive meanwhile share the next
// round trips, every call gets its own outcome, and all have run when the last one returns.
func TestCallsShareARoundTrip(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var trips, most, now, large atomic.Int32
		type call struct{ in, out int }
		g := New(100, func(batches iter.Seq[[]*call]) {
			for batch := range batches {
				most.Store(max(most.Load(), now.Add(1)))
				if len(batch) > 1 && large.Add(1) > 1 {
					t.Error("two of several calls run at once")
				}
				time.Sleep(time.Second)
				for _, c := range batch {
					c.out = c.in + 1
				}
				now.Add(-1)
				if len(batch) > 1 {
					large.Add(-1)
				}
				trips.Add(1)
			}
		})
		var calls sync.WaitGroup
		for i := range 502 {
			calls.Go(func() {
				c := &call{in: i}
				if err := g.Do(t.Context(), c); err != nil || c.out != i+1 {
					t.Error(c, err)
				}
			})
			if i < 2 {
				synctest.Wait() // a single call does not wait for others
			}
		}
		synctest.Wait()
		if n := g.Waiting(); n != 500 {
			t.Errorf("%d calls wait", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		calls.Go(func() {
			if err := g.Do(ctx, &call{}); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		synctest.Wait()
		cancel()
		calls.Wait()
		if trips.Load() < 7 || trips.Load() > 8 || most.Load() != 2 {
			t.Errorf("%d round trips, %d at once", trips.Load(), most.Load())
		}
		time.Sleep(time.Minute)
		if err := g.Do(ctx, &call{}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

package op

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestMemoryIsShared: goroutines that reserve bytes at the same time never get more than the budget.
func TestMemoryIsShared(t *testing.T) {
	t.Parallel()
	for range 200 {
		m := NewMemory(t.Context(), 16*minBytes, nil)
		var taken atomic.Int64
		var taking sync.WaitGroup
		for range 4 {
			taking.Go(func() {
				for m.take(1000, minBytes) {
					taken.Add(1000)
				}
			})
		}
		taking.Wait()
		if got := taken.Load(); got > m.operators() || m.left.Load() != m.operators()-got {
			t.Fatalf("%d of %d bytes were taken, %d are left", got, m.operators(), m.left.Load())
		}
	}
}

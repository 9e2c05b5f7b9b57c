package op

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestMemoryIsShared: of goroutines that reserve more than half of the budget at the same time, one gets it.
func TestMemoryIsShared(t *testing.T) {
	t.Parallel()
	m := NewMemory(t.Context(), 16*minBytes, nil)
	bytes := m.operators()/2 + 1
	var taking sync.WaitGroup
	var holders, most, got atomic.Int64
	for range 4 {
		taking.Go(func() {
			for range 1_000_000 {
				if m.take(bytes, minBytes) {
					if n := holders.Add(1); n > 1 {
						most.Store(n)
					}
					got.Add(1)
					holders.Add(-1)
					m.give(bytes)
				}
			}
		})
	}
	taking.Wait()
	if most.Load() > 1 || got.Load() == 0 || m.left.Load() != m.operators() {
		t.Errorf("%d held the budget, it was held %d times, %d bytes are left", most.Load(), got.Load(), m.left.Load())
	}
}

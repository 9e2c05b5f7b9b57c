package op

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
)

// Memory is the budget of the operators of a query, and their scratch file. Its budget is safe for concurrent use.
type Memory struct {
	ctx    context.Context
	budget int64
	left   atomic.Int64
	scratch
	mu      sync.Mutex
	endings []func()
}

// atEnd has Stop call f, which waits for goroutines.
func (m *Memory) atEnd(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endings = append(m.endings, f)
}

// Stop waits for the goroutines of operators. After an error, some may still run.
func (m *Memory) Stop() {
	for _, f := range m.endings {
		f()
	}
	m.endings = nil
}

// Close stops the operators, and removes the scratch file.
func (m *Memory) Close() {
	m.Stop()
	m.scratch.Close()
}

// inFlight is the part of the budget, 1/inFlight of it, for what is on its way between operators: decoded chunks, rows
// that wait for their turn, and buffers.
const inFlight = 16

// NewMemory returns a budget in bytes; 0: no limit. create makes a file, at most once, which Close closes. Operators
// stop when ctx ends.
func NewMemory(ctx context.Context, budget int64, create func() (Scratch, error)) *Memory {
	if budget == 0 {
		budget = math.MaxInt64
	}
	m := &Memory{ctx: ctx, budget: budget, scratch: scratch{create: create}}
	m.left.Store(m.operators())
	return m
}

// operators returns the bytes of the budget that operators reserve.
func (m *Memory) operators() int64 { return m.budget - m.budget/inFlight }

// minBytes is what an operator may hold even if others have used up the budget. It is at most the whole budget.
const minBytes = 256 << 10

// take reserves bytes, of which an operator holds so many already. It returns false if the budget is used up.
func (m *Memory) take(bytes, held int64) bool {
	for {
		left := m.left.Load()
		if bytes > left && held+bytes > min(m.budget, minBytes) {
			return false
		}
		if m.left.CompareAndSwap(left, left-bytes) {
			return true
		}
	}
}

// give returns bytes.
func (m *Memory) give(bytes int64) { m.left.Add(bytes) }

// free returns the bytes of the budget that are left, or the minimum of an operator that needs some for a while. The
// minimum is at most the budget.
func (m *Memory) free(least int64) int64 { return max(m.left.Load(), min(m.budget, least)) }

// ended returns why the query has been cancelled; nil: it has not.
func (m *Memory) ended() error {
	if m.ctx.Err() == nil {
		return nil
	}
	return context.Cause(m.ctx)
}

// newRun returns an empty run.
func (m *Memory) newRun() *run { return &run{scratch: &m.scratch} }

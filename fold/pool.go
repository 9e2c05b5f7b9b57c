package fold

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// crew does pieces of work side by side, each with a worker W of its own. They end in the order
// in which they began.
type crew[W any] struct {
	idle   chan W
	last   chan error // takes how the work until now has ended
	failed atomic.Bool
}

// maxWorkers bounds the memory of a crew. More would wait for chunks, of which few are
// prefetched.
const maxWorkers = 5

// newCrew returns a crew of a worker for each processor and another one, which can begin while one
// waits for its turn; at most maxWorkers.
func newCrew[W any](worker func() W) *crew[W] {
	workers := min(runtime.GOMAXPROCS(0)+1, maxWorkers)
	c := &crew[W]{idle: make(chan W, workers), last: make(chan error, 1)}
	for range workers {
		c.idle <- worker()
	}
	c.last <- nil
	return c
}

// do begins a piece of work as soon as a worker is idle. In it, turn waits until all work that
// began before has ended, and returns its first error. False means that some work has failed,
// and no other is to begin.
func (c *crew[W]) do(work func(w W, turn func() error) error) bool {
	w := <-c.idle
	before, after := c.last, make(chan error, 1)
	c.last = after
	go func() {
		turn := sync.OnceValue(func() error { return <-before })
		err := work(w, turn)
		if first := turn(); first != nil {
			err = first
		}
		if err != nil {
			c.failed.Store(true)
		}
		after <- err
		c.idle <- w
	}()
	return !c.failed.Load()
}

// wait waits until all work has ended, and returns its first error.
func (c *crew[W]) wait() error {
	err := <-c.last
	c.last <- err
	return err
}

package op

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// pool runs tasks in parallel, each with its own worker W. Tasks end in the order in which they
// began.
type pool[W any] struct {
	idle   chan W
	last   chan error // receives the result of all tasks so far
	failed atomic.Bool
}

// maxWorkers limits the memory of a pool. More workers would wait for chunks, because only a few
// are prefetched.
const maxWorkers = 5

// newPool returns a pool of one worker per processor of the machine plus one, which can begin while another
// waits for its turn; at most maxWorkers.
func newPool[W any](worker func() W) *pool[W] {
	workers := min(runtime.GOMAXPROCS(0)+1, runtime.NumCPU()+1, maxWorkers)
	p := &pool[W]{idle: make(chan W, workers), last: make(chan error, 1)}
	for range workers {
		p.idle <- worker()
	}
	p.last <- nil
	return p
}

// do starts a task as soon as a worker is idle. The task calls turn to wait until all earlier
// tasks have ended; turn returns their first error. False means that a task has failed, and the
// caller must not start another.
func (p *pool[W]) do(task func(w W, turn func() error) error) bool {
	w := <-p.idle
	before, after := p.last, make(chan error, 1)
	p.last = after
	go func() {
		turn := sync.OnceValue(func() error { return <-before })
		err := protected(func() error { return task(w, turn) })
		if first := turn(); first != nil {
			err = first
		}
		if err != nil {
			p.failed.Store(true)
		}
		after <- err
		p.idle <- w
	}()
	return !p.failed.Load()
}

// wait waits until all tasks have ended, and returns their first error.
func (p *pool[W]) wait() error {
	err := <-p.last
	p.last <- err
	return err
}

// protected calls a function whose panic is an error.
func protected(f func() error) (err error) {
	defer Protect(&err)
	return f()
}

// Protect turns a panic into an error: a mistake in the code of an expression must not end a process that has other
// jobs, again and again.
func Protect(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the fold has failed with %v: please report it with the report's fold\n%s", r, debug.Stack())
	}
}

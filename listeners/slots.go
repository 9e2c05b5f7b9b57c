package listeners

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/internal/step"
)

// Slots bound how many tasks of one listener run at once in a process, in all partitions
// together. They are safe for concurrent use.
type Slots struct {
	tasks int
	mu    sync.Mutex
	of    map[string]*slots // by listener
}

// slots are those of one listener.
type slots struct {
	taken  chan struct{}
	wanted atomic.Int64 // tasks that have one or wait for one
}

// NewSlots returns Slots for that many tasks of each listener.
func NewSlots(tasks int) *Slots { return &Slots{tasks: tasks, of: map[string]*slots{}} }

func (s *Slots) listener(name string) *slots {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of[name]
	if of == nil {
		of = &slots{taken: make(chan struct{}, s.tasks)}
		s.of[name] = of
	}
	return of
}

// share is what one Runner has of the slots of a listener.
type share struct {
	*slots
	wanted atomic.Int64 // as that of all
}

// free is how many tasks of this Runner may be under way: as many as the other Runners of the
// process have left, and one that waits in line with theirs.
func (s *share) free() int {
	others := s.slots.wanted.Load() - s.wanted.Load()
	return max(1, cap(s.taken)-int(others))
}

// take waits for a slot until stop or ctx ends, or for patience if that is not 0.
func (s *share) take(ctx context.Context, stop <-chan struct{}, patience time.Duration) (err error) {
	s.want(1)
	defer func() {
		if err != nil {
			s.want(-1)
		}
	}()
	select {
	case <-stop:
		return step.ErrStopping
	default:
	}
	select {
	case s.taken <- struct{}{}:
		return nil
	default:
	}
	var late <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case s.taken <- struct{}{}:
		return nil
	case <-stop:
		return step.ErrStopping
	case <-late:
		return Wait(0, fmt.Sprintf("one of the %d slots of a process", cap(s.taken)))
	case <-ctx.Done():
		return away(context.Cause(ctx))
	}
}

func (s *share) leave() {
	<-s.taken
	s.want(-1)
}

func (s *share) want(n int64) {
	s.slots.wanted.Add(n)
	s.wanted.Add(n)
}

// try takes a slot that is free.
func (s *share) try() bool {
	select {
	case s.taken <- struct{}{}:
		s.want(1)
		return true
	default:
		return false
	}
}

// place is the slot of a task. It is used by one goroutine.
type place struct {
	*share
	held bool
}

// leave gives the slot back, if it is held.
func (p *place) leave() {
	if p.held {
		p.held = false
		p.share.leave()
	}
}

// without runs f, which asks Redis. Where that is away, the slot is free meanwhile: the tasks of
// other partitions can go on. Afterwards the task goes on, with a slot if one is free. It does not
// wait for one: it can hold a connection for which all tasks that have slots wait.
func (p *place) without(f func() error) error {
	if !p.held {
		return f()
	}
	away := time.AfterFunc(slow, p.share.leave)
	err := f()
	if !away.Stop() {
		p.held = p.try()
	}
	return err
}

package listeners

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/scripts/job"
)

// Slots limits the concurrent tasks of every listener in a process, over all partitions. It is safe
// for concurrent use.
type Slots struct {
	tasks int
	mu    sync.Mutex
	of    map[string]*slots // by listener
}

// slots are the slots of one listener.
type slots struct {
	taken  chan struct{}
	wanted atomic.Int64 // tasks that have one or wait for one
}

// NewSlots returns Slots with a maximum number of tasks per listener.
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

// share is the part of a listener's slots that one Runner uses.
type share struct {
	*slots
	wanted atomic.Int64 // of this Runner
}

// free returns how many tasks this Runner may have: the slots that the other Runners of the process
// leave, and at least one, which waits with theirs.
func (s *share) free() int {
	others := s.slots.wanted.Load() - s.wanted.Load()
	return max(1, cap(s.taken)-int(others))
}

// take waits for a slot until stop is closed, ctx ends, or the patience (0: unlimited) is over.
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
		return wait{0, fmt.Sprintf("one of the %d slots of a process", cap(s.taken)), job.BlameTasks}
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

// try takes a slot if one is free.
func (s *share) try() bool {
	select {
	case s.taken <- struct{}{}:
		s.want(1)
		return true
	default:
		return false
	}
}

// taskSlot is the slot of a task. It is not safe for concurrent use.
type taskSlot struct {
	*share
	held bool
}

// leave releases the slot if the task has it.
func (p *taskSlot) leave() {
	if p.held {
		p.held = false
		p.share.leave()
	}
}

// without runs f, which calls Redis. While Redis is away, the slot is released, so that tasks of
// other partitions can continue. Afterwards the task continues, with a slot if one is free. It does
// not wait for one: it may have a connection for which the tasks with slots wait.
func (p *taskSlot) without(f func() error) error {
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

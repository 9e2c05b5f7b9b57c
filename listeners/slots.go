package listeners

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// Slots limits the concurrent tasks of every listener and of every source in a process, over all
// partitions. It is safe for concurrent use.
type Slots struct {
	limits      report.Limits
	connections map[string]int // by source
	mu          sync.Mutex
	of          map[string]*slots // by listener
	to          map[string]*slots // by source
	reads       chan struct{}     // has a value for every segment of an external worker in memory
}

// slots are the slots of one listener, or the connections to one source.
type slots struct {
	what   string // what a task waits for
	taken  chan struct{}
	wanted atomic.Int64 // tasks that have one or wait for one
}

// NewSlots returns Slots with the maximum number of tasks per listener of these limits, and of tasks per source:
// its connections. A source without a number is unlimited.
func NewSlots(limits report.Limits, connections map[string]int) *Slots {
	return &Slots{limits: limits, connections: connections, of: map[string]*slots{}, to: map[string]*slots{},
		reads: make(chan struct{}, maxReads)}
}

// listener returns the slots of a listener, which has one of these sources in every report.
func (s *Slots) listener(name string, sources ...string) *slots {
	n := 0
	for _, source := range sources {
		n = max(n, s.limits.TasksOf(s.connections[source]))
	}
	return s.slots(s.of, name, n, fmt.Sprintf("one of the %d slots of a process", n))
}

// source returns the connections to a source; nil: it needs none.
func (s *Slots) source(name string) *slots {
	n := s.connections[name]
	if n == 0 {
		return nil
	}
	return s.slots(s.to, name, n, fmt.Sprintf("one of the %d connections of a process to %s", n, name))
}

func (s *Slots) slots(all map[string]*slots, name string, n int, what string) *slots {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all[name] == nil {
		all[name] = &slots{what: what, taken: make(chan struct{}, n)}
	}
	return all[name]
}

// share is the part of some slots that one listener of a Runner uses.
type share struct {
	*slots
	wanted atomic.Int64 // of this listener and Runner
}

// free returns how many tasks may run here: the slots that other listeners and Runners of the process
// leave, and at least one, which waits with theirs.
func (s *share) free() int {
	others := s.slots.wanted.Load() - s.wanted.Load()
	return max(1, cap(s.taken)-int(others))
}

// take waits for a slot until stop is closed, ctx ends, or the patience is over.
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
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case s.taken <- struct{}{}:
		return nil
	case <-stop:
		return step.ErrStopping
	case <-late.C:
		return wait{0, s.what, job.BlameTasks}
	case <-ctx.Done():
		return away(context.Cause(ctx))
	}
}

// takeShare takes a slot of a process for a task. People see that it waits.
func (r *tasks) takeShare(ctx context.Context, t *task, s *share) error {
	err := s.take(ctx, r.stop, 0)
	var full wait
	if !errors.As(err, &full) {
		return err
	}
	if err := say(ctx, t, full.what, full.blame); err != nil {
		return err
	}
	return s.take(ctx, r.stop, slotPatience)
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

// lend lets tasks of other partitions use the slot while Redis is away: from when a call of Redis is
// slow until back is called. Afterwards the task continues, with a slot if one is free. It does not
// wait for one: it may have a connection for which the tasks with slots wait.
func (p *taskSlot) lend() (back func()) {
	if !p.held {
		return func() {}
	}
	away := time.AfterFunc(slow, p.share.leave)
	return func() {
		if !away.Stop() {
			p.held = p.try()
		}
	}
}

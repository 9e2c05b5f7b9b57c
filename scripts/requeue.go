package scripts

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Again says how a step comes again that could not be done.
type Again struct {
	Delay  time.Duration // 0: at once
	Counts bool          // the try is one of those that the step has
	Waits  bool          // nothing went wrong: a task waits, and Error says for what; it does not count
	Error  string        // why; empty leaves what the state says
}

// RequeueTask gives up a task, to be taken again: OK, Already, Busy where it is no
// longer the owner's, or Gone. Its entry is acknowledged after that.
func (s *Scripts) RequeueTask(ctx context.Context, t Task, a Again) (Outcome, error) {
	return s.requeue(ctx, t.ID, t.Attempt, t.Listener, t.Owner, s.Task(t.Listener), a)
}

// RequeueFold is RequeueTask for a claimed job: StepFanIn, or StepRecord where
// only its record is left to be done.
func (s *Scripts) RequeueFold(ctx context.Context, state *State, step string, a Again) (Outcome, error) {
	return s.requeue(ctx, state.ID, state.Attempt, step, strconv.FormatInt(state.Fence, 10), s.FanIn(), a)
}

func (s *Scripts) requeue(ctx context.Context, id string, attempt int64, step, token, stream string, a Again) (Outcome, error) {
	keys := s.also([]string{s.Data(id), s.State(id)}, s.Delayed(), s.Events(), stream)
	counts := "0"
	switch {
	case a.Waits:
		counts = "wait"
	case a.Counts:
		counts = "1"
	}
	outcome, more, err := s.list(ctx, requeueScript.call(shared{}, keys, id, attempt, step, token, a.Delay.Milliseconds(), counts, a.Error, s.events, Margin.Milliseconds()))
	if err != nil || !s.split || outcome < OK {
		return outcome, err
	}
	entry := redis.Cmder(redis.NewStringCmd(ctx, "xadd", stream, "*", "id", id, "attempt", attempt))
	if a.Delay > 0 {
		entry = redis.NewIntCmd(ctx, "zadd", s.Delayed(), more[0], Later{ID: id, Attempt: attempt, Step: step}.String())
	}
	cmds := []redis.Cmder{entry}
	switch {
	case !a.Waits:
		cmds = append(cmds, s.event(ctx, id, attempt, "retry", "step", step, "counts", counts, "next", more[0], "error", a.Error))
	case more[1] == int64(1):
		cmds = append(cmds, s.event(ctx, id, attempt, "waits", "step", step, "next", more[0], "for", a.Error))
	}
	return outcome, s.send(ctx, cmds...)
}

// silence is how long a consumer is silent before it is taken for gone. Readers
// read at least every few seconds.
const silence = 2 * time.Minute

// Tidy returns what a stream's reader calls now and then: Forget.
func (s *Scripts) Tidy(stream string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := s.Forget(ctx, stream, silence)
		return err
	}
}

// Forget removes the consumers of a stream that are gone and have nothing
// pending, and returns how many those were.
func (s *Scripts) Forget(ctx context.Context, stream string, silence time.Duration) (int64, error) {
	n, err := s.outcome(ctx, forgetScript.call(shared{}, []string{stream}, Group, silence.Milliseconds(), 100))
	return int64(n), err
}

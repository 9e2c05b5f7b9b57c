package scripts

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Margin is how long a job's keys outlive its deadline, and the last claim or
// keepalive.
const Margin = 10 * time.Minute

// Kept is how long the state of a job stays after its end.
const Kept = time.Minute

// Start is what starts an attempt.
type Start struct {
	ID         string
	Attempt    int64
	Report     string
	Definition string // hash
	Parameters []byte // JSON object
	Timeout    time.Duration
	Listeners  []string // of stage 1
	// Epoch is the one that was read before the attempt was started for the
	// first time; empty: any.
	Epoch string
	// Waits has the deadline move by the time for which a listener that the job waits
	// for is paused.
	Waits bool
}

// Start starts an attempt: OK, Already where the same one has a state, Another where that
// is one of other parameters, of another report or definition, or of a later attempt, or
// Gone where Redis has another epoch by now: a call before this one, whose
// answer was lost, may have started this attempt, and it must not run twice. In a
// cluster the messages of stage 1 are sent again where it is Already, as those of the
// first call may be lost; doubles do nothing.
func (s *Scripts) Start(ctx context.Context, j Start) (Outcome, error) {
	waits := ""
	if j.Waits {
		waits = "1"
	}
	with := shared{
		keys: s.also(nil, s.Deadlines(), s.Events(), s.Epoch()),
		args: []any{j.Report, j.Definition, j.Timeout.Milliseconds(), Margin.Milliseconds(), s.events, j.Epoch, waits},
	}
	if s.split && j.Epoch != "" {
		if now, err := s.ReadEpoch(ctx); err != nil || now != j.Epoch {
			return Gone, err
		}
	}
	for _, l := range j.Listeners {
		with.keys = s.also(with.keys, s.Task(l))
		with.args = append(with.args, l)
	}
	keys := []string{s.Data(j.ID), s.State(j.ID), s.Timeout(j.ID, j.Attempt)}
	outcome, more, err := s.list(ctx, startScript.call(with, keys, j.ID, j.Attempt, j.Parameters))
	if err != nil || !s.split || outcome < OK {
		return outcome, err
	}
	deadline := redis.NewIntCmd(ctx, "zadd", s.Deadlines(), more[0], j.ID)
	return outcome, s.send(ctx, append([]redis.Cmder{deadline, s.event(ctx, j.ID, j.Attempt, "started", "report", j.Report)},
		s.tasks(ctx, j.ID, j.Attempt, j.Listeners)...)...)
}

// Advance sends a claimed job from its stage into the next one, whose listeners
// are given.
func (s *Scripts) Advance(ctx context.Context, state *State, listeners []string) (Outcome, error) {
	keys := s.also([]string{s.Data(state.ID), s.State(state.ID)}, s.Events())
	args := []any{state.ID, state.Attempt, state.Stage, state.Fence, s.events}
	for _, l := range listeners {
		keys = s.also(keys, s.Task(l))
		args = append(args, l)
	}
	outcome, err := s.outcome(ctx, advanceScript.call(shared{}, keys, args...))
	if err != nil || !s.split || outcome != OK {
		return outcome, err
	}
	return outcome, s.send(ctx, append(s.tasks(ctx, state.ID, state.Attempt, listeners),
		s.event(ctx, state.ID, state.Attempt, "stage", "stage", state.Stage+1))...)
}

// Resend sends the messages of the stage that the job is in, once more. In a
// cluster it makes up for a crash between a change of state and its messages;
// on one node that cannot be, and it does nothing.
func (s *Scripts) Resend(ctx context.Context, state *State) error {
	if !s.split {
		return nil
	}
	return s.send(ctx, s.tasks(ctx, state.ID, state.Attempt, state.Listeners)...)
}

// Repair makes up for a crash right after Start: it sends the messages of the
// stage that a job is in once more, and its deadline. As Resend, it is for a
// cluster, and does nothing on one node.
func (s *Scripts) Repair(ctx context.Context, id string) error {
	if !s.split {
		return nil
	}
	state, err := s.Read(ctx, id)
	if errors.Is(err, ErrNoJob) || err == nil && state.Status != StatusRun {
		return nil
	} else if err != nil {
		return err
	}
	if err := s.send(ctx, redis.NewIntCmd(ctx, "zadd", s.Deadlines(), state.Deadline.UnixMilli(), id)); err != nil {
		return err
	}
	return s.Resend(ctx, state)
}

// Publish takes a claimed job over the point of no return: OK, or Late where its
// deadline has passed.
func (s *Scripts) Publish(ctx context.Context, state *State) (Outcome, error) {
	with := shared{keys: s.also(nil, s.Events()), args: []any{s.events}}
	outcome, err := s.outcome(ctx, publishScript.call(with, []string{s.State(state.ID)}, state.ID, state.Attempt, state.Fence))
	if err != nil || !s.split || outcome != OK {
		return outcome, err
	}
	return outcome, s.send(ctx, s.event(ctx, state.ID, state.Attempt, "publishing"))
}

// FailTask fails the job of a task that its owner cannot do.
func (s *Scripts) FailTask(ctx context.Context, t Task, reason string) (Outcome, error) {
	outcome, _, err := s.fail(ctx, t.ID, t.Attempt, t.Listener, t.Owner, reason, 0)
	return outcome, err
}

// OmitTask gives up a task that its job can do without, as the policy of its listener
// says: OK, Already where that reached the barrier, Busy, or Gone. What it had stored
// goes.
func (s *Scripts) OmitTask(ctx context.Context, t Task, policy, reason string) (Outcome, error) {
	keys := s.also([]string{s.Data(t.ID), s.State(t.ID)}, s.FanIn(), s.Events())
	outcome, more, err := s.list(ctx, omitScript.call(shared{}, keys, t.ID, t.Attempt, t.Listener, t.Owner, policy, reason, s.events))
	if err != nil || !s.split || outcome < OK {
		return outcome, err
	}
	cmds := []redis.Cmder{s.event(ctx, t.ID, t.Attempt, "omitted", "listener", t.Listener, "policy", policy, "reason", reason)}
	if outcome == Already {
		stage, _ := more[0].(int64)
		bytes, _ := more[1].(int64)
		cmds = append(cmds, s.toFanIn(ctx, t.ID, t.Attempt, stage, bytes))
	}
	return outcome, s.send(ctx, cmds...)
}

// FailFold fails a claimed job; its claim goes on, in order to end it. With
// remove, whoever ends it removes its file.
func (s *Scripts) FailFold(ctx context.Context, state *State, reason string, remove bool) (Outcome, error) {
	flag := 0
	if remove {
		flag = 1
	}
	outcome, _, err := s.fail(ctx, state.ID, state.Attempt, "@fanin", strconv.FormatInt(state.Fence, 10), reason, flag)
	return outcome, err
}

// Expire fails a job that is past its deadline, whatever its attempt. With OK it
// also returns how long ago that deadline was.
//
// One that waits for a listener that is paused does not fail where its report wants
// that: its deadline moves, and the outcome is Busy.
func (s *Scripts) Expire(ctx context.Context, id string) (Outcome, time.Duration, error) {
	found, err := s.Paused(ctx)
	if err != nil {
		return Busy, 0, err
	}
	if outcome, err := s.extendPaused(ctx, id, found); err != nil && !errors.Is(err, ErrBroken) || outcome == OK {
		return Busy, 0, err
	}
	var paused []any
	for member := range found {
		if name, ok := strings.CutPrefix(member, pausedListener); ok {
			paused = append(paused, name)
		}
	}
	outcome, late, err := s.fail(ctx, id, 0, "@deadline", "", "deadline passed", 0, paused...)
	return outcome, time.Duration(late) * time.Millisecond, err
}

// fail runs the script and returns how late it is (ms), too. Paused are the listeners
// that are, for the reason of a deadline.
func (s *Scripts) fail(ctx context.Context, id string, attempt int64, by, token, reason string, remove int, paused ...any) (Outcome, int64, error) {
	keys := s.also([]string{s.State(id)}, s.FanIn(), s.Events(), s.Delayed())
	outcome, more, err := s.list(ctx, failScript.call(shared{}, keys, append([]any{id, attempt, by, token, reason, s.events, remove}, paused...)...))
	if err != nil || len(more) == 0 {
		return outcome, 0, err
	}
	attempt, _ = more[0].(int64)
	late := int64(0)
	if len(more) > 1 {
		late, _ = more[1].(int64)
	}
	if !s.split || by == "@fanin" {
		return outcome, late, nil
	}
	return outcome, late, s.send(ctx, s.toFanIn(ctx, id, attempt, 0, 0), s.event(ctx, id, attempt, "failing", "by", by, "reason", reason))
}

// Settle ends a claimed job whose record is final. Detail is the file where the
// outcome is SUCCESS or PARTIAL, and the reason elsewhere. With OK the state's Entry is
// acknowledged and emptied.
func (s *Scripts) Settle(ctx context.Context, state *State, status, detail string) (Outcome, error) {
	id, attempt := state.ID, state.Attempt
	with := shared{
		keys: s.also(nil, s.Deadlines(), s.Dead(), s.Events(), s.FanIn()),
		args: []any{status, Kept.Milliseconds(), s.events, state.Entry.Group},
	}
	keys := []string{s.Data(id), s.State(id), s.Timeout(id, attempt)}
	outcome, err := s.outcome(ctx, settleScript.call(with, keys, id, attempt, state.Fence, detail, state.Entry.ID))
	if err != nil || outcome != OK {
		return outcome, err
	}
	if !s.split {
		state.Entry = Entry{}
		return outcome, nil
	}
	cmds := []redis.Cmder{redis.NewIntCmd(ctx, "zrem", s.Deadlines(), id)}
	if status == "FAILED" {
		cmds = append(cmds, redis.NewIntCmd(ctx, "zadd", s.Dead(), time.Now().UnixMilli(), id))
	} else {
		cmds = append(cmds, redis.NewIntCmd(ctx, "zrem", s.Dead(), id))
	}
	return outcome, s.send(ctx, append(cmds, s.event(ctx, id, attempt, "finished", "status", status, "detail", detail))...)
}

// Bury lists a record as failed whose job never ran.
func (s *Scripts) Bury(ctx context.Context, id string) error {
	c := delayScript.call(shared{}, []string{s.Dead()}, id, 0)
	if err := s.pipe.do(ctx, c); err != nil {
		return err
	}
	return asError("delay", c.Err())
}

// The messages that scripts send on one node and methods send in a cluster.

func (s *Scripts) tasks(ctx context.Context, id string, attempt int64, listeners []string) []redis.Cmder {
	var cmds []redis.Cmder
	for _, l := range listeners {
		cmds = append(cmds, redis.NewStringCmd(ctx, "xadd", s.Task(l), "*", "id", id, "attempt", attempt))
	}
	return cmds
}

// toFanIn has no bytes where they are not known.
func (s *Scripts) toFanIn(ctx context.Context, id string, attempt, stage, bytes int64) redis.Cmder {
	entry := []any{"xadd", s.FanIn(), "*", "id", id, "attempt", attempt, "stage", stage}
	if bytes > 0 {
		entry = append(entry, "bytes", bytes)
	}
	return redis.NewStringCmd(ctx, entry...)
}

func (s *Scripts) event(ctx context.Context, id string, attempt int64, event string, fields ...any) redis.Cmder {
	args := []any{"xadd", s.Events(), "maxlen", "~", s.events, "*", "id", id, "attempt", attempt, "event", event}
	return redis.NewStringCmd(ctx, append(args, fields...)...)
}

// send runs commands in one round trip and returns their first error.
func (s *Scripts) send(ctx context.Context, cmds ...redis.Cmder) error {
	if err := s.pipe.do(ctx, cmds...); err != nil {
		return err
	}
	for _, c := range cmds {
		if err := c.Err(); err != nil {
			return fmt.Errorf("%s: %w", nameOf(c), err)
		}
	}
	return nil
}

// nameOf is the name of a command or a script.
func nameOf(c redis.Cmder) string {
	if call, ok := c.(*call); ok {
		return "script " + call.script.name
	}
	return c.Name()
}

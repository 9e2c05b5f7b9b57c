package scripts

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Delay puts a member into the delayed set, due after d by the server's clock.
func (s Clock) Delay(ctx context.Context, member string, d time.Duration) error {
	_, err := s.outcome(ctx, call(ctx, "delay", []string{s.Keys.Delayed}, member, d.Milliseconds()))
	return err
}

// Due lists members of the delayed set that are due or invalid.
type Due struct {
	Members []string      // that are due
	Invalid []Refusal     // whose score is no time: not finite, or more than ten years away
	Wait    time.Duration // until the next one is due; 0: call again to know, negative: there is none
}

// Due lists what is due in the delayed set, at most max members of each kind; it skips the
// first members that are due.
func (s Clock) Due(ctx context.Context, max, skip int) (Due, error) {
	next, more, err := s.list(ctx, call(ctx, "due", []string{s.Keys.Delayed}, max, skip))
	if err != nil {
		return Due{}, err
	}
	due := Due{Wait: time.Duration(next) * time.Millisecond}
	invalid, _ := more[0].(int64)
	more = more[1:]
	for i := range min(int(invalid), len(more)/2) {
		member, _ := more[2*i].(string)
		score, _ := more[2*i+1].(string)
		due.Invalid = append(due.Invalid, Refusal{Member: member, Reason: WhyInvalid(score)})
	}
	for _, m := range more[min(2*int(invalid), len(more)):] {
		if text, ok := m.(string); ok {
			due.Members = append(due.Members, text)
		}
	}
	return due, nil
}

// Horizon is the maximum time until something is due: ten years.
const Horizon = 315576000000 * time.Millisecond

// MinMillis is the lowest score that is in milliseconds; one below it is in seconds.
const MinMillis = 1e11

// WhyInvalid says why a score is not a valid time, and how it was read.
func WhyInvalid(score string) string {
	const remedy = "write seconds or milliseconds since 1970"
	n, err := strconv.ParseFloat(score, 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) || n >= 1e15 {
		return fmt.Sprintf("its score %s is not a time: %s", score, remedy)
	}
	unit, at := "milliseconds", time.UnixMilli(int64(n))
	if n < MinMillis {
		unit, at = "seconds", time.Unix(int64(n), 0)
	}
	return fmt.Sprintf("its score %s, read as %s, is %s, more than ten years away: %s", score, unit,
		at.UTC().Format(time.DateOnly), remedy)
}

// Move is one member of the delayed set on its way to a stream: the entry has
// the id and, if Field is not empty, one more field.
type Move struct {
	Member, ID, Field, Value string
}

// Move moves members that are due to a stream, every one once, however many schedulers try,
// and returns how late those are that it moved. If the stream is a listener's, tasks that
// are no longer to be done, or whose jobs are not in Redis, are removed instead, and those
// that their jobs do not have are returned as unknown.
func (s Clock) Move(ctx context.Context, stream, listener string,
	moves []Move) (late []time.Duration, unknown []Refusal, err error) {
	args, keys := []any{listener}, []string{s.Keys.Delayed, stream}
	for _, m := range moves {
		args = append(args, m.Member, m.ID, m.Field, m.Value)
		if listener != "" {
			keys = append(keys, s.Keys.Job(m.ID))
		}
	}
	c := call(ctx, "move", keys, args...)
	if err := s.do(ctx, c); err != nil {
		return nil, nil, err
	}
	ms, err := c.Int64Slice()
	if err != nil {
		return nil, nil, asError("script move", err)
	}
	for i, n := range ms {
		switch {
		case n >= 0:
			late = append(late, time.Duration(n)*time.Millisecond)
		case n == noTask && i < len(moves):
			unknown = append(unknown, Refusal{Member: moves[i].Member, Reason: fmt.Sprintf(
				"job %s does not run, or has no listener %s: nothing of it can be done again", moves[i].ID, listener)})
		}
	}
	return late, unknown, nil
}

// noTask is what move answers if a job does not have such a task.
const noTask = -3

// Refusal is an invalid member of the delayed set, and the reason.
type Refusal struct {
	Member, Reason string
}

// Refuse puts members of the delayed set into quarantine, every one once, however many
// schedulers try, and returns how many it moved. With invalid, a member whose score
// has become valid stays.
func (s Clock) Refuse(ctx context.Context, refusals []Refusal, invalid bool) (int64, error) {
	args := []any{asFlag(invalid), QuarantineCap}
	for _, r := range refusals {
		args = append(args, r.Member, r.Reason, excerpt(map[string]string{"member": r.Member}))
	}
	n, err := s.outcome(ctx, call(ctx, "refuse", []string{s.Keys.Delayed, s.Keys.Quarantined}, args...))
	return int64(n), err
}

// DelayedSets are the delayed sets of all partitions.
type DelayedSets Partitions

// Add sets the due time of ids in one round trip, in place of an earlier one.
func (d DelayedSets) Add(ctx context.Context, at time.Time, ids ...string) error {
	cmds := make([]redis.Cmder, len(ids))
	for i, id := range ids {
		cmds[i] = redis.NewIntCmd(ctx, "zadd", Partitions(d).Of(id).Keys.Delayed, at.UnixMilli(), id)
	}
	return d[0].send(ctx, cmds...)
}

// Move sets the due time of members that exist, in one round trip, whichever partition has them.
func (d DelayedSets) Move(ctx context.Context, at time.Time, members ...string) error {
	var cmds []redis.Cmder
	for _, s := range d {
		for _, m := range members {
			cmds = append(cmds, redis.NewIntCmd(ctx, "zadd", s.Keys.Delayed, "xx", at.UnixMilli(), m))
		}
	}
	return d[0].send(ctx, cmds...)
}

// Remove removes members in one round trip, whichever partition has them.
func (d DelayedSets) Remove(ctx context.Context, members ...string) error {
	cmds := make([]redis.Cmder, len(d))
	for i, s := range d {
		cmds[i] = redis.NewIntCmd(ctx, append([]any{"zrem", s.Keys.Delayed}, asArgs(members)...)...)
	}
	return d[0].send(ctx, cmds...)
}

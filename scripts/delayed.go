package scripts

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Delay puts a member into the delayed set, due after d by the server's clock.
func (s *Scripts) Delay(ctx context.Context, member string, d time.Duration) error {
	c := delayScript.cmd(ctx, []string{s.Delayed()}, member, d.Milliseconds())
	if err := s.pipe.do(ctx, c); err != nil {
		return err
	}
	return asError("delay", c.Err())
}

// handBackAfter is how long a step rests that is handed back.
const handBackAfter = time.Second

// HandBack leaves a step of a job to a process that has its definition, after a
// second.
func (s *Scripts) HandBack(ctx context.Context, id string, attempt int64, step string) error {
	return s.Delay(ctx, Later{ID: id, Attempt: attempt, Step: step}.String(), handBackAfter)
}

// Due lists at most that many members of the delayed set that are due, and how
// long it is until the next one: 0 where one is due, negative where there is
// none.
func (s *Scripts) Due(ctx context.Context, most int) (members []string, wait time.Duration, err error) {
	next, more, err := s.list(ctx, dueScript, []string{s.Delayed()}, most)
	if err != nil {
		return nil, 0, err
	}
	for _, m := range more {
		if text, ok := m.(string); ok {
			members = append(members, text)
		}
	}
	return members, time.Duration(next) * time.Millisecond, nil
}

// Move is one member of the delayed set on its way to a stream: the entry has
// the id and, if Field is not empty, one more field.
type Move struct {
	Member, ID, Field, Value string
}

// Move moves members that are due to a stream, each once however many
// schedulers try, and returns how many it moved.
func (s *Scripts) Move(ctx context.Context, stream string, moves []Move) (int64, error) {
	if s.split {
		return s.moveSplit(ctx, stream, moves)
	}
	var args []any
	for _, m := range moves {
		args = append(args, m.Member, m.ID, m.Field, m.Value)
	}
	n, err := s.outcome(ctx, moveScript, []string{s.Delayed(), stream}, args...)
	return int64(n), err
}

// moveSplit appends first and removes afterwards: a crash in between leaves a
// double, which does nothing.
func (s *Scripts) moveSplit(ctx context.Context, stream string, moves []Move) (int64, error) {
	var add []redis.Cmder
	rem := []any{"zrem", s.Delayed()}
	for _, m := range moves {
		args := []any{"xadd", stream, "*", "id", m.ID}
		if m.Field != "" {
			args = append(args, m.Field, m.Value)
		}
		add = append(add, redis.NewStringCmd(ctx, args...))
		rem = append(rem, m.Member)
	}
	if err := s.send(ctx, add...); err != nil {
		return 0, fmt.Errorf("move to %s: %w", stream, err)
	}
	removed := redis.NewIntCmd(ctx, rem...)
	err := s.send(ctx, removed)
	return removed.Val(), err
}

// Undelay removes a member from the delayed set.
func (s *Scripts) Undelay(ctx context.Context, member string) error {
	return s.send(ctx, redis.NewIntCmd(ctx, "zrem", s.Delayed(), member))
}

package scripts

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

var cancelScript = load("cancel")

// otherStage is what the script answers where the stage has gone on meanwhile.
const otherStage Outcome = -4

// Cancel cancels a job: OK, Already, Gone where that attempt has no state or has
// ended, or Busy with its status, where it is PUBLISHING, or FAILING for another
// reason. An engine then makes its record CANCELLED, if nobody has, and removes the rest.
func (s *Scripts) Cancel(ctx context.Context, id string, attempt int64, reason string) (outcome Outcome, status string, err error) {
	for {
		listeners, err := s.rdb.HGet(ctx, s.State(id), "listeners").Result()
		if errors.Is(err, redis.Nil) {
			return Gone, "", nil
		} else if err != nil {
			return 0, "", asError("cancel", err)
		}
		outcome, more, err := s.cancel(ctx, id, attempt, reason, listeners)
		if err != nil || outcome == otherStage {
			if err != nil {
				return 0, "", err
			}
			continue
		}
		if outcome == Busy && len(more) > 0 {
			status, _ = more[0].(string)
		}
		return outcome, status, nil
	}
}

func (s *Scripts) cancel(ctx context.Context, id string, attempt int64, reason, listeners string) (Outcome, []any, error) {
	steps := strings.Split(listeners, ",")
	keys := s.also([]string{s.State(id)}, s.FanIn(), s.Events(), s.Delayed())
	for _, l := range steps {
		keys = s.also(keys, s.Task(l))
	}
	outcome, more, err := s.list(ctx, cancelScript.call(shared{}, keys, id, attempt, reason, s.events, s.Cancelled(), listeners))
	if err != nil || !s.split || outcome < OK {
		return outcome, more, err
	}
	var cmds []redis.Cmder
	for i := 0; i+1 < len(more); i += 2 {
		listener, _ := more[i].(string)
		cmds = append(cmds, redis.NewStringCmd(ctx, "xadd", s.Task(listener), "*", "id", id, "attempt", attempt, "cancel", "1", "memo", more[i+1]))
	}
	for _, step := range append(steps, StepFanIn) {
		cmds = append(cmds, redis.NewIntCmd(ctx, "zrem", s.Delayed(), Later{ID: id, Attempt: attempt, Step: step}.String()))
	}
	cmds = append(cmds, s.toFanIn(ctx, id, attempt, 0, 0), s.event(ctx, id, attempt, "failing", "by", "@cancel", "reason", reason))
	return outcome, more, s.send(ctx, cmds...)
}

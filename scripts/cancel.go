package scripts

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

var cancelScript = load("cancel")

// otherStage is what the script answers if the job is in another stage by now.
const otherStage Outcome = -4

// Cancel cancels a job: OK, Already, Gone if that attempt has no state or has ended, or
// Busy with its status, if it is PUBLISHING, or FAILING for another reason. After OK an
// engine makes the record CANCELLED, unless it is final, and removes the rest.
func (s Jobs) Cancel(ctx context.Context, id string, attempt int64, reason string) (outcome Outcome, status string, err error) {
	for {
		listeners, err := s.rdb.HGet(ctx, s.Keys.Job(id), "listeners").Result()
		if errors.Is(err, redis.Nil) {
			return Gone, "", nil
		} else if err != nil {
			return 0, "", asError("cancel", err)
		}
		listeners = listeners[strings.LastIndexByte(listeners, ';')+1:]
		keys := []string{s.Keys.Job(id), s.Keys.FanIn(), s.Keys.Events(), s.Keys.Delayed()}
		for l := range strings.SplitSeq(listeners, ",") {
			keys = append(keys, s.Keys.Task(l))
		}
		outcome, more, err := s.list(ctx, cancelScript.call(ctx, keys, id, attempt, reason, s.events, s.Keys.Cancelled(), listeners, Margin.Milliseconds()))
		if err != nil {
			return 0, "", err
		}
		if outcome == otherStage {
			continue
		}
		if len(more) > 0 {
			status, _ = more[0].(string)
		}
		return outcome, status, nil
	}
}

package scripts

import (
	"context"
	"fmt"
	"iter"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Running returns how many jobs are running.
func (s *Scripts) Running(ctx context.Context) (int64, error) {
	n, err := s.rdb.ZCard(ctx, s.Deadlines()).Result()
	if err != nil {
		return 0, fmt.Errorf("running jobs: %w", err)
	}
	return n, nil
}

// Overdue iterates over the running jobs whose deadline has passed by the
// server's clock, a page at a time.
func (s *Scripts) Overdue(ctx context.Context) iter.Seq2[string, error] {
	const page = 100
	return func(yield func(string, error) bool) {
		now, err := s.rdb.Time(ctx).Result()
		if err != nil {
			yield("", fmt.Errorf("time of Redis: %w", err))
			return
		}
		// What moves between pages, because others are settled, comes with the next
		// call.
		for offset := int64(0); ; offset += page {
			ids, err := s.rdb.ZRangeByScore(ctx, s.Deadlines(), &redis.ZRangeBy{
				Min: "-inf", Max: strconv.FormatInt(now.UnixMilli(), 10), Offset: offset, Count: page,
			}).Result()
			if err != nil {
				yield("", fmt.Errorf("overdue jobs: %w", err))
				return
			}
			for _, id := range ids {
				if !yield(id, nil) {
					return
				}
			}
			if len(ids) < page {
				return
			}
		}
	}
}

// PushAgain pushes a job whose state is lost while its deadline has passed, and
// removes that: its record decides what comes next. It is OK, or Gone where the
// job has a state or runs again.
func (s *Scripts) PushAgain(ctx context.Context, id string) (Outcome, error) {
	outcome, err := s.outcome(ctx, againScript, s.shared([]string{s.State(id)}, s.Deadlines(), s.Jobs()), id)
	if err != nil || !s.split || outcome != OK {
		return outcome, err
	}
	return outcome, s.send(ctx, redis.NewStringCmd(ctx, "xadd", s.Jobs(), "*", "id", id), redis.NewIntCmd(ctx, "zrem", s.Deadlines(), id))
}

package scripts

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Scan returns some members of a sorted set, about as many as asked for, with
// their scores, and the cursor of the next call, 0 after the last. A whole scan returns
// every member that existed from its start to its end, some perhaps twice.
func (s Sets) Scan(ctx context.Context, key string, cursor uint64, count int64) ([]redis.Z, uint64, error) {
	flat, next, err := s.rdb.ZScan(ctx, key, cursor, "", count).Result()
	if err != nil {
		return nil, 0, fmt.Errorf("scan %s: %w", key, err)
	}
	var members []redis.Z
	for i := 0; i+1 < len(flat); i += 2 {
		score, err := strconv.ParseFloat(flat[i+1], 64)
		if err != nil {
			return nil, 0, fmt.Errorf("scan %s: %w: score %q", key, ErrReply, flat[i+1])
		}
		members = append(members, redis.Z{Member: flat[i], Score: score})
	}
	return members, next, nil
}

// Scores returns the scores of those members that a sorted set has.
func (s Sets) Scores(ctx context.Context, key string, members []string) (map[string]float64, error) {
	if len(members) == 0 {
		return nil, nil
	}
	cmd := redis.NewSliceCmd(ctx, append([]any{"zmscore", key}, asArgs(members)...)...)
	if err := s.rdb.Process(ctx, cmd); err != nil {
		return nil, fmt.Errorf("scores in %s: %w", key, err)
	}
	scores := map[string]float64{}
	for i, v := range cmd.Val() {
		switch v := v.(type) {
		case float64:
			scores[members[i]] = v
		case string:
			score, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return nil, fmt.Errorf("scores in %s: %w: %q", key, ErrReply, v)
			}
			scores[members[i]] = score
		}
	}
	return scores, nil
}

// Restore adds members to a sorted set; those that exist keep their scores, or with
// later those scores that are greater.
func (s Sets) Restore(ctx context.Context, key string, members []redis.Z, later bool) error {
	if len(members) == 0 {
		return nil
	}
	if err := s.rdb.ZAddArgs(ctx, key, redis.ZAddArgs{NX: !later, GT: later, Members: members}).Err(); err != nil {
		return asError("restore "+key, err)
	}
	return nil
}

// Remove removes members of a sorted set, and returns how many it had.
func (s Sets) Remove(ctx context.Context, key string, members ...string) (int64, error) {
	c := redis.NewIntCmd(ctx, append([]any{"zrem", key}, asArgs(members)...)...)
	err := s.send(ctx, c)
	return c.Val(), err
}

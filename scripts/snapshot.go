package scripts

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// ReadSnapshot returns the version of the last snapshot that this Redis knows of; empty
// where it knows of none.
func (s Epoch) ReadSnapshot(ctx context.Context) (string, error) {
	return s.get(ctx, s.Keys.Snapshot)
}

// NextSnapshot notes the version of the next snapshot, and tells whether it did: not
// where the last one is another than expected.
func (s Epoch) NextSnapshot(ctx context.Context, expected, next string) (bool, error) {
	n, err := s.outcome(ctx, call(ctx, "snapshot", []string{s.Keys.Snapshot}, expected, next))
	return n == 1, err
}

// WriteSnapshot notes which snapshot this Redis has been restored from.
func (s Epoch) WriteSnapshot(ctx context.Context, version string) error {
	return s.send(ctx, redis.NewStatusCmd(ctx, "set", s.Keys.Snapshot, version))
}

// ScanSet returns some members of a sorted set, about as many as asked for, with
// their scores, and the cursor of the next call, 0 after the last. A whole scan returns
// every member that existed from its start to its end, some perhaps twice.
func (s Epoch) ScanSet(ctx context.Context, key string, cursor uint64, count int64) ([]redis.Z, uint64, error) {
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
func (s Epoch) Scores(ctx context.Context, key string, members []string) (map[string]float64, error) {
	if len(members) == 0 {
		return nil, nil
	}
	args := []any{"zmscore", key}
	for _, m := range members {
		args = append(args, m)
	}
	cmd := redis.NewSliceCmd(ctx, args...)
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
func (s Epoch) Restore(ctx context.Context, key string, members []redis.Z, later bool) error {
	if len(members) == 0 {
		return nil
	}
	if err := s.rdb.ZAddArgs(ctx, key, redis.ZAddArgs{NX: !later, GT: later, Members: members}).Err(); err != nil {
		return fmt.Errorf("restore %s: %w", key, err)
	}
	return nil
}

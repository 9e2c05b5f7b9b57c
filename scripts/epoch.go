package scripts

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// Locker makes locks on the client of the scripts; their keys are Lock's.
func (s *conn) Locker() *redislock.Client { return redislock.New(s.rdb) }

// Read returns the epoch of this Redis; it is empty if Redis has lost its data, or
// never had any.
func (s Epoch) Read(ctx context.Context) (string, error) {
	value, err := s.rdb.Get(ctx, s.Keys.Epoch()).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("epoch: %w", err)
	}
	return value, nil
}

// ReadRun returns the id of the server's run, which a restart and a failover
// change.
func (s Epoch) ReadRun(ctx context.Context) (string, error) {
	info, err := s.rdb.InfoMap(ctx, "server").Result()
	if err != nil {
		return "", fmt.Errorf("run of Redis: %w", err)
	}
	return info["Server"]["run_id"], nil
}

// MemoryUsed returns how much of its maxmemory Redis uses, in percent; 0 if it has no limit.
func (s *conn) MemoryUsed(ctx context.Context) (int, error) {
	info, err := s.rdb.InfoMap(ctx, "memory").Result()
	if err != nil {
		return 0, fmt.Errorf("memory of Redis: %w", err)
	}
	used, _ := strconv.ParseInt(info["Memory"]["used_memory"], 10, 64)
	if limit, _ := strconv.ParseInt(info["Memory"]["maxmemory"], 10, 64); limit > 0 {
		return int(used * 100 / limit), nil
	}
	return 0, nil
}

// Now returns the time by Redis's clock.
func (s *conn) Now(ctx context.Context) (time.Time, error) { return s.rdb.Time(ctx).Result() }

// Write begins an epoch.
func (s Epoch) Write(ctx context.Context, value string) error {
	if err := s.rdb.Set(ctx, s.Keys.Epoch(), value, 0).Err(); err != nil {
		return fmt.Errorf("epoch: %w", err)
	}
	return nil
}

// First begins an epoch if there is none, and tells whether it did.
func (s Epoch) First(ctx context.Context, value string) (bool, error) {
	ok, err := s.rdb.SetNX(ctx, s.Keys.Epoch(), value, 0).Result()
	if err != nil {
		return false, fmt.Errorf("epoch: %w", err)
	}
	return ok, nil
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

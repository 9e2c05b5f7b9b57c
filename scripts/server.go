package scripts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/report"
)

// Node returns a client of the server that has the keys, for subscriptions and commands without a key.
func (s *conn) Node(ctx context.Context) (*redis.Client, error) {
	return redisdb.Master(ctx, s.rdb, s.Keys.Wake)
}

// Locker makes locks on the client of the scripts; their keys are Lock's.
func (s *conn) Locker() *redislock.Client { return redislock.New(s.rdb) }

// KeyOfWrongType returns a key that is of another type than it must be, and that type; empty: none is.
func (s *conn) KeyOfWrongType(ctx context.Context, keys ...string) (key, is string, err error) {
	cmds := make([]redis.Cmder, len(keys))
	for i, key := range keys {
		cmds[i] = redis.NewStatusCmd(ctx, "type", key)
	}
	if err := s.send(ctx, cmds...); err != nil {
		return "", "", err
	}
	for i, key := range keys {
		if is := cmds[i].(*redis.StatusCmd).Val(); is != "none" && is != s.Keys.Type(key) {
			return key, is, nil
		}
	}
	return "", "", nil
}

// Where describes the server that has the keys, for commands that are shown to people.
func (s *conn) Where(ctx context.Context, r report.Redis) redisdb.Where {
	return redisdb.Server(ctx, r, s.rdb, s.Keys.Wake)
}

// TryLock takes a lock, which ends after that time; false: another process has it.
func (s *conn) TryLock(ctx context.Context, what string, d time.Duration) (bool, error) {
	_, err := s.Locker().Obtain(ctx, s.Keys.Lock(what), d, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return false, nil
	}
	return err == nil, err
}

// ReadRun returns the id of the server's run, which a restart and a failover
// change.
func (s Epoch) ReadRun(ctx context.Context) (string, error) {
	node, err := s.Node(ctx)
	if err != nil {
		return "", err
	}
	info, err := node.InfoMap(ctx, "server").Result()
	if err != nil {
		return "", fmt.Errorf("run of Redis: %w", err)
	}
	return info["Server"]["run_id"], nil
}

// Now returns the time by Redis's clock.
func (s *conn) Now(ctx context.Context) (time.Time, error) {
	node, err := s.Node(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return node.Time(ctx).Result()
}

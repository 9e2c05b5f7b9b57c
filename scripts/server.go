package scripts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/redisdb"
)

// Node returns a client of the server that has the keys, for subscriptions and commands without a key.
func (s *conn) Node(ctx context.Context) (*redis.Client, error) {
	return redisdb.Master(ctx, s.rdb, s.Keys.Wake)
}

// Locker makes locks on the client of the scripts; their keys are Lock's.
func (s *conn) Locker() *redislock.Client { return redislock.New(s.rdb) }

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

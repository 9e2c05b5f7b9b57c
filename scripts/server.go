package scripts

import (
	"context"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/redisdb"
)

// node returns a client of the server that has the keys, for commands that name no key.
func (s *conn) node(ctx context.Context) (*redis.Client, error) {
	return redisdb.Master(ctx, s.rdb, s.Keys.Wake)
}

// Locker makes locks on the client of the scripts; their keys are Lock's.
func (s *conn) Locker() *redislock.Client { return redislock.New(s.rdb) }

// ReadRun returns the id of the server's run, which a restart and a failover
// change.
func (s Epoch) ReadRun(ctx context.Context) (string, error) {
	node, err := s.node(ctx)
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
	node, err := s.node(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return node.Time(ctx).Result()
}

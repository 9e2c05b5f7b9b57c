package scripts

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/bsm/redislock"
)

// Locker makes locks on the client of the scripts; their keys are Lock's.
func (s *conn) Locker() *redislock.Client { return redislock.New(s.rdb) }

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

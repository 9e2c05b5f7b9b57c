package scripts

import (
	"context"
	"fmt"
	"strconv"
)

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

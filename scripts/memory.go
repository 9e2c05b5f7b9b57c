package scripts

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// MemoryUsed returns how much of its maxmemory Redis uses, in percent; 0 if it has no limit.
func (s *Scripts) MemoryUsed(ctx context.Context) (int, error) {
	text, err := s.rdb.Info(ctx, "memory").Result()
	if err != nil {
		return 0, fmt.Errorf("memory of Redis: %w", err)
	}
	var used, limit int64
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "used_memory":
			used, _ = strconv.ParseInt(value, 10, 64)
		case "maxmemory":
			limit, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	if limit == 0 {
		return 0, nil
	}
	return int(used * 100 / limit), nil
}

package scripts

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// maxScanned is the max number of keys of one call of the script.
const maxScanned = 1000

// Scan scans a part of the db for the keys of timers, from a cursor on, which is 0 at
// first. It returns the names of the timers whose keys disagree with the sets, and the next cursor, 0 at the end.
func (s Timers) Scan(ctx context.Context, cursor uint64, count int64) (names []string, next uint64, err error) {
	prefix := s.Keys.Timer("")
	node, err := s.Node(ctx)
	if err != nil {
		return nil, cursor, err
	}
	found, next, err := node.ScanType(ctx, cursor, prefix+"*", count, "string").Result()
	if err != nil {
		return nil, cursor, fmt.Errorf("scan for timers: %w", err)
	}
	for some := range slices.Chunk(found, maxScanned) {
		keys := append([]string{s.Keys.Timers, s.Keys.PausedTimers, s.Keys.RecentTimers}, some...)
		args := make([]any, len(some))
		for i, key := range some {
			args[i] = strings.TrimPrefix(key, prefix)
		}
		_, unknown, err := s.list(ctx, call(ctx, "timer_scan", keys, args...))
		if err != nil {
			return nil, cursor, err
		}
		for _, name := range unknown {
			if name, ok := name.(string); ok {
				names = append(names, name)
			}
		}
	}
	return names, next, nil
}

package scripts

import (
	"context"
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/redis/go-redis/v9"
)

// timersPage is how many timers one call looks at while it lists them.
const timersPage = 1000

// ListTimers lists timers, or those that are paused, whose name is like match (as
// path.Match, with * for everything), the next one first, at most limit of them.
func (s *Scripts) ListTimers(ctx context.Context, paused bool, match string, limit int) ([]DueTimer, error) {
	key := s.Timers()
	if paused {
		key = s.PausedTimers()
	}
	// A name may have a /, which is nothing special here.
	pattern := strings.ReplaceAll(match, "/", "\x00")
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("timers like %q: %w", match, err)
	}
	var found []DueTimer
	for offset := int64(0); len(found) < limit; offset += timersPage {
		page, err := s.rdb.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: key, Start: offset, Stop: offset + timersPage - 1}).Result()
		if err != nil {
			return nil, fmt.Errorf("timers: %w", err)
		}
		for _, z := range page {
			name, _ := z.Member.(string)
			if ok, _ := path.Match(pattern, strings.ReplaceAll(name, "/", "\x00")); ok && len(found) < limit {
				found = append(found, listed(name, z.Score))
			}
		}
		if len(page) < timersPage {
			break
		}
	}
	return found, nil
}

// NoTime is the least score that is no time: in milliseconds it is after the year
// 5138, and most likely it is in microseconds or nanoseconds.
const NoTime = 1e14

// listed is a timer with the score that it has.
func listed(name string, score float64) DueTimer {
	t := DueTimer{Name: name, Finite: !math.IsInf(score, 0) && score < NoTime}
	if t.Finite && score < MinMillis {
		score *= 1000
	}
	if t.Finite {
		t.Due = int64(score)
	}
	return t
}

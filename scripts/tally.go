package scripts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/tally"
)

// maxTallied is the maximum number of names in the counters of a time.
const maxTallied = 500

// TallyCursor says up to where the events are counted, and which versions ran then.
type TallyCursor struct {
	Entry    string // empty: none is counted
	Versions []string
}

func (c TallyCursor) String() string {
	if c.Entry == "" {
		return ""
	}
	return c.Entry + " " + strings.Join(c.Versions, " ")
}

// Cursor returns up to where the events are counted.
func (s Tally) Cursor(ctx context.Context) (c TallyCursor, err error) {
	text, err := s.rdb.Get(ctx, s.Keys.TallyCursor).Result()
	if errors.Is(err, redis.Nil) {
		return c, nil
	} else if err != nil {
		return c, asError("cursor of the counters", err)
	}
	words := strings.Fields(text)
	if len(words) > 0 {
		c = TallyCursor{words[0], words[1:]}
	}
	return c, nil
}

// Count adds sums of the events between two cursors to the counters: OK, or Busy if another process has counted some
// of them.
func (s Tally) Count(ctx context.Context, from, to TallyCursor, sums tally.Sums) (Outcome, error) {
	keys, args := []string{s.Keys.TallyCursor}, []any{from.String(), to.String(), maxTallied}
	for key, names := range sums {
		keys = append(keys, s.Keys.Counters(key.Level.Name, key.Number))
		args = append(args, key.Level.Start(key.Number+1).Add(key.Level.Kept).UnixMilli(), len(names))
		for name, counter := range names {
			args = append(args, name, counter.String())
		}
	}
	return s.outcome(ctx, call(ctx, "tally", keys, args...))
}

// Read returns the counters of n times of a level, by name, from the one with a number on.
func (s Tally) Read(ctx context.Context, level tally.Level, number, n int64) ([]map[string]string, error) {
	all := make([]map[string]string, 0, n)
	for from := int64(0); from < n; from += pageSize {
		cmds := make([]redis.Cmder, min(pageSize, n-from))
		for i := range cmds {
			key := s.Keys.Counters(level.Name, number+from+int64(i))
			cmds[i] = redis.NewMapStringStringCmd(ctx, "hgetall", key)
		}
		if err := s.send(ctx, cmds...); err != nil {
			return nil, fmt.Errorf("counters: %w", err)
		}
		for _, c := range cmds {
			all = append(all, c.(*redis.MapStringStringCmd).Val())
		}
	}
	return all, nil
}

package scripts

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Reserve reserves a call of a source with a rate limit: calls of all processes are a
// distance of time apart. It returns how long the caller waits before its call; false if
// the wait would be longer than limit, and nothing is reserved.
func (s Gate) Reserve(ctx context.Context, source string, distance, limit time.Duration) (time.Duration, bool, error) {
	outcome, more, err := s.list(ctx, call(ctx, "rate", []string{s.home.Rate(source)}, max(1, distance.Microseconds()), limit.Microseconds()))
	if err != nil {
		return 0, false, err
	}
	wait, _ := more[0].(int64)
	return time.Duration(wait) * time.Microsecond, outcome == OK, nil
}

// TakeSlot takes one of the slots of a source, which all processes share, or renews the one
// that the caller has, for the time of a lease. It is false if all slots are taken.
func (s Gate) TakeSlot(ctx context.Context, source, who string, slots int, lease time.Duration) (bool, error) {
	outcome, err := s.outcome(ctx, call(ctx, "slot", []string{s.home.Slots(source)}, who, slots, lease.Milliseconds()))
	return outcome == OK, err
}

// FreeSlot gives a slot back.
func (s Gate) FreeSlot(ctx context.Context, source, who string) error {
	return s.send(ctx, redis.NewIntCmd(ctx, "zrem", s.home.Slots(source), who))
}

// UsedSlots counts the tasks that have a slot, by source.
func (s Gate) UsedSlots(ctx context.Context, sources []string) (map[string]int64, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	counts := make([]*redis.IntCmd, len(sources))
	if _, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, source := range sources {
			counts[i] = p.ZCount(ctx, s.home.Slots(source), strconv.FormatInt(now.UnixMilli(), 10), "+inf")
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("slots: %w", err)
	}
	used := map[string]int64{}
	for i, source := range sources {
		used[source] = counts[i].Val()
	}
	return used, nil
}

package scripts

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// ReadSnapshot returns the version of the last snapshot that this Redis knows; empty: none.
func (s Epoch) ReadSnapshot(ctx context.Context) (string, error) {
	return s.get(ctx, s.Keys.Snapshot)
}

// NextSnapshot stores the version of the next snapshot. It returns false if the stored version is
// not the expected one.
func (s Epoch) NextSnapshot(ctx context.Context, expected, next string) (bool, error) {
	n, err := s.outcome(ctx, call(ctx, "snapshot", []string{s.Keys.Snapshot}, expected, next))
	return n == 1, err
}

// WriteSnapshot stores from which snapshot this Redis was restored.
func (s Epoch) WriteSnapshot(ctx context.Context, version string) error {
	return s.send(ctx, redis.NewStatusCmd(ctx, "set", s.Keys.Snapshot, version))
}

// Pauses returns the pauses as Redis has them, for RestorePauses.
func (s Epoch) Pauses(ctx context.Context) (map[string]string, error) {
	c := redis.NewMapStringStringCmd(ctx, "hgetall", s.Keys.Holds)
	err := s.send(ctx, c)
	return c.Val(), err
}

// RestorePauses restores pauses. Replace says that they are later than those of Redis.
func (s Epoch) RestorePauses(ctx context.Context, pauses map[string]string, replace bool) error {
	command := "hsetnx"
	if replace {
		command = "hset"
	}
	var cmds []redis.Cmder
	for member, pause := range pauses {
		cmds = append(cmds, redis.NewIntCmd(ctx, command, s.Keys.Holds, member, pause))
	}
	return s.send(ctx, cmds...)
}

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

package scripts

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// ReadSnapshot returns the version of the last snapshot that this Redis knows of; empty
// where it knows of none.
func (s Epoch) ReadSnapshot(ctx context.Context) (string, error) {
	version, err := s.rdb.Get(ctx, s.Keys.Snapshot()).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	return version, nil
}

// NextSnapshot notes the version of the next snapshot, and tells whether it did: not
// where the last one is another than expected.
func (s Epoch) NextSnapshot(ctx context.Context, expected, next string) (bool, error) {
	n, err := s.outcome(ctx, snapshotScript.call(ctx, []string{s.Keys.Snapshot()}, expected, next))
	return n == 1, err
}

// WriteSnapshot notes which snapshot this Redis has been restored from.
func (s Epoch) WriteSnapshot(ctx context.Context, version string) error {
	if err := s.rdb.Set(ctx, s.Keys.Snapshot(), version, 0).Err(); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

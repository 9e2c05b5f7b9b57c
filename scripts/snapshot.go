package scripts

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// ReadSnapshot returns the version of the last snapshot that this Redis knows of; empty
// where it knows of none.
func (s Epoch) ReadSnapshot(ctx context.Context) (string, error) {
	return s.get(ctx, s.Keys.Snapshot)
}

// NextSnapshot notes the version of the next snapshot, and tells whether it did: not
// where the last one is another than expected.
func (s Epoch) NextSnapshot(ctx context.Context, expected, next string) (bool, error) {
	n, err := s.outcome(ctx, call(ctx, "snapshot", []string{s.Keys.Snapshot}, expected, next))
	return n == 1, err
}

// WriteSnapshot notes which snapshot this Redis has been restored from.
func (s Epoch) WriteSnapshot(ctx context.Context, version string) error {
	return s.send(ctx, redis.NewStatusCmd(ctx, "set", s.Keys.Snapshot, version))
}

package scripts

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Read returns the epoch of this Redis; it is empty if Redis has lost its data, or
// never had any.
func (s Epoch) Read(ctx context.Context) (string, error) { return s.get(ctx, s.Keys.Epoch()) }

// get reads a text; empty: the key does not exist.
func (s Epoch) get(ctx context.Context, key string) (string, error) {
	value, err := s.rdb.Get(ctx, key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("get %s: %w", key, err)
	}
	return value, nil
}

// Write begins an epoch.
func (s Epoch) Write(ctx context.Context, value string) error {
	return s.send(ctx, redis.NewStatusCmd(ctx, "set", s.Keys.Epoch(), value))
}

// First begins an epoch if there is none, and tells whether it did.
func (s Epoch) First(ctx context.Context, value string) (bool, error) {
	ok, err := s.rdb.SetNX(ctx, s.Keys.Epoch(), value, 0).Result()
	if err != nil {
		return false, fmt.Errorf("epoch: %w", err)
	}
	return ok, nil
}

package scripts

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Read returns the epoch of this Redis; it is empty if Redis has lost its data, or
// never had any.
func (s Epoch) Read(ctx context.Context) (string, error) { return s.get(ctx, s.Keys.Epoch) }

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
	return s.send(ctx, redis.NewStatusCmd(ctx, "set", s.Keys.Epoch, value))
}

// Installation returns which installation the keys belong to; empty: that is not noted. It belongs to
// the first partition, like Claim.
func (s Epoch) Installation(ctx context.Context) (tag string, err error) {
	return s.get(ctx, s.Keys.Installation)
}

// Claim notes which installation the keys belong to, if that is not noted yet, and returns the one
// that is.
func (s Epoch) Claim(ctx context.Context, tag string) (owner string, err error) {
	key := s.Keys.Installation
	if owner, err = s.Installation(ctx); err != nil || owner != "" {
		return owner, err // a full Redis refuses to set a key, even if it exists
	}
	if _, err := s.rdb.SetNX(ctx, key, tag, 0).Result(); err != nil {
		return "", fmt.Errorf("claim %s: %w", key, err)
	}
	return s.get(ctx, key)
}

// First begins an epoch if there is none, and tells whether it did.
func (s Epoch) First(ctx context.Context, value string) (bool, error) {
	ok, err := s.rdb.SetNX(ctx, s.Keys.Epoch, value, 0).Result()
	if err != nil {
		return false, fmt.Errorf("epoch: %w", err)
	}
	return ok, nil
}

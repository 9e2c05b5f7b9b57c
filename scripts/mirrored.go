package scripts

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// ReadMirrored returns how many writes to the mirror were counted; 0 where none
// is known.
func (s *Scripts) ReadMirrored(ctx context.Context) (int64, error) {
	n, err := s.rdb.Get(ctx, s.Mirrored()).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("mirrored: %w", err)
	}
	return n, nil
}

// CountMirrored counts one more, and tells whether it did: not where the number
// is another one than expected.
func (s *Scripts) CountMirrored(ctx context.Context, expected int64) (bool, error) {
	n, err := s.outcome(ctx, mirroredScript.call(ctx, []string{s.Mirrored()}, expected, expected+1))
	return n == 1, err
}

// ForgetMirrored has Redis be taken for one that has lost writes, unless the number
// is another one than expected.
func (s *Scripts) ForgetMirrored(ctx context.Context, expected int64) error {
	_, err := s.outcome(ctx, mirroredScript.call(ctx, []string{s.Mirrored()}, expected, 0))
	return err
}

// WriteMirrored sets the number.
func (s *Scripts) WriteMirrored(ctx context.Context, n int64) error {
	if err := s.rdb.Set(ctx, s.Mirrored(), n, 0).Err(); err != nil {
		return fmt.Errorf("mirrored: %w", err)
	}
	return nil
}

package scripts

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Secret returns the secret that seals sessions. If there is none, it is the given one from now on. It exists for
// at least as long as a session that begins now.
func (s Sessions) Secret(ctx context.Context, otherwise string, valid time.Duration) (string, error) {
	key, ms := s.Keys.Session, valid.Milliseconds()
	secret := redis.NewStringCmd(ctx, "get", key)
	err := s.send(ctx, redis.NewBoolCmd(ctx, "set", key, otherwise, "px", ms, "nx"),
		redis.NewBoolCmd(ctx, "pexpire", key, ms), secret)
	return secret.Val(), err
}

// Read returns the secret that seals sessions, or nothing if there is none, and whether a session was ended.
func (s Sessions) Read(ctx context.Context, id string) (secret string, ended bool, err error) {
	both := redis.NewSliceCmd(ctx, "mget", s.Keys.Session, s.Keys.EndedSession(id))
	if err := s.send(ctx, both); err != nil {
		return "", false, err
	}
	secret, _ = both.Val()[0].(string)
	return secret, both.Val()[1] != nil, nil
}

// End ends a session in all processes.
func (s Sessions) End(ctx context.Context, id string, valid time.Duration) error {
	return s.send(ctx, redis.NewStatusCmd(ctx, "set", s.Keys.EndedSession(id), 1, "px", valid.Milliseconds()))
}

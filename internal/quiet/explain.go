package quiet

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// optional are commands without which the roles work, too.
var optional = []string{"config", "publish", "subscribe", "psubscribe", "client"}

// explain extends WRONGTYPE errors with the key that has the wrong type, both of a command and in
// the answer of a script. It logs a command that Redis denies to its user.
func (h *hook) explain(ctx context.Context, cmd redis.Cmder) {
	if name := strings.ToLower(cmd.Name()); redis.HasErrorPrefix(cmd.Err(), "NOPERM") &&
		!slices.Contains(optional, name) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.write(slog.LevelError,
			"Redis denies a command to its user: work waits until the right is granted; this is no outage",
			"command", name, "err", cmd.Err())
		return
	}
	cmd.SetErr(h.withKey(ctx, cmd, cmd.Err()))
	if script, ok := cmd.(*redis.Cmd); ok && script.Err() == nil {
		answers, _ := script.Val().([]any)
		for i, answer := range answers {
			if err, ok := answer.(error); ok {
				answers[i] = h.withKey(ctx, cmd, err)
			}
		}
	}
}

// maxKeys is the maximum number of keys of a command whose types are read.
const maxKeys = 200

// withKey adds the key of a command that has the wrong type to an error that is due to it.
func (h *hook) withKey(ctx context.Context, cmd redis.Cmder, err error) error {
	if h.Type == nil || err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		return err
	}
	read := 0
	for _, arg := range cmd.Args() {
		key, _ := arg.(string)
		want := h.Type(key)
		if want == "" {
			continue
		}
		is, failed := h.types.Get(ctx, key)
		if failed == nil && is != "none" && is != want {
			return fmt.Errorf("%w: the key %s is a %s, not a %s: inspect it with redis-cli TYPE '%s'", err, key,
				is, want, key)
		}
		if read++; failed != nil || read == maxKeys {
			break
		}
	}
	return err
}

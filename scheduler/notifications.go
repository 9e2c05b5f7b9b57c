package scheduler

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

const (
	notifySetting = "notify-keyspace-events"
	// notifyFlags are those that are needed: by key; of sorted sets, strings, generic
	// commands, and expired keys.
	notifyFlags = "Kzg$x"
	// notifyAll is what the flag A stands for.
	notifyAll = "g$lshzxetd"
)

// enable makes Redis publish keyspace notifications, beside those that it publishes
// already, and tells whether it did not publish all of them until now. Where that is
// refused, or the command is not there, the canary tells what that means. An error is one of the
// connection.
func (s *Scheduler) enable(ctx context.Context, client *redis.Client) (changed bool, err error) {
	settings, err := client.ConfigGet(ctx, notifySetting).Result()
	if err == nil {
		flags := withFlags(settings[notifySetting])
		if flags == settings[notifySetting] {
			return false, nil
		}
		err = client.ConfigSet(ctx, notifySetting, flags).Err()
		changed = err == nil
	}
	if !isReply(err) {
		return changed, err
	}
	if !s.refused {
		s.refused = true
		s.log.Info("Redis does not let its notifications be switched on: set them by hand, unless they are on", "setting", notifySetting, "needed", notifyFlags, "err", err)
	}
	return false, nil
}

// withFlags adds to flags what is missing there.
func withFlags(flags string) string {
	have := strings.ReplaceAll(flags, "A", notifyAll)
	for _, f := range notifyFlags {
		if !strings.ContainsRune(have, f) {
			flags += string(f)
		}
	}
	return flags
}

// isReply tells whether an error is an answer of Redis that would be the same
// again, and not one of the connection or of a Redis that is starting.
func isReply(err error) bool {
	_, ok := errors.AsType[redis.Error](err)
	return ok && !redis.HasErrorPrefix(err, "LOADING")
}

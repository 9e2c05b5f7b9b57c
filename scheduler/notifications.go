package scheduler

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
)

const (
	notifySetting = "notify-keyspace-events"
	// notifyFlags are the required flags: by key; sorted sets, strings, generic commands, and
	// expired keys.
	notifyFlags = "Kzg$x"
	// notifyAll is the meaning of the flag A.
	notifyAll = "g$lshzxetd"
)

// enable makes Redis publish the required keyspace notifications in addition to others, and tells
// whether some were missing. If Redis refuses or does not know the command, the canary finds out
// whether they are on. An error is one of the connection.
func (s *subscription) enable(ctx context.Context, client *redis.Client) (changed bool, err error) {
	settings, err := client.ConfigGet(ctx, notifySetting).Result()
	if err == nil {
		flags := withFlags(settings[notifySetting])
		if flags == settings[notifySetting] {
			return false, nil
		}
		err = client.ConfigSet(ctx, notifySetting, flags).Err()
		changed = err == nil
	}
	if !scripts.IsAnswer(err) {
		return changed, err
	}
	if !s.refused {
		s.refused = true
		s.log.Info("Redis does not allow Fanfold to enable keyspace notifications: enable them in its configuration",
			"setting", notifySetting, "needed", notifyFlags, "err", err)
	}
	return false, nil
}

// withFlags adds the missing flags.
func withFlags(flags string) string {
	have := strings.ReplaceAll(flags, "A", notifyAll)
	for _, f := range notifyFlags {
		if !strings.ContainsRune(have, f) {
			flags += string(f)
		}
	}
	return flags
}

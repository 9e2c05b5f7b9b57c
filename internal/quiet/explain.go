package quiet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const wrongType = "WRONGTYPE"

// explain extends WRONGTYPE errors with the key that has the wrong type, both of a command and in
// the answer of a script.
func (h hook) explain(ctx context.Context, cmd redis.Cmder) {
	if redis.HasErrorPrefix(cmd.Err(), "NOPERM") {
		h.denied(cmd)
		return
	}
	if h.Type == nil {
		return
	}
	if err := cmd.Err(); err != nil && strings.HasPrefix(err.Error(), wrongType) {
		if why := h.wrong(ctx, cmd); why != "" {
			cmd.SetErr(fmt.Errorf("%w: %s", err, why))
		}
		return
	}
	script, ok := cmd.(*redis.Cmd)
	if !ok || script.Err() != nil {
		return
	}
	why, described := "", false
	answers, _ := script.Val().([]any)
	for i, answer := range answers {
		if err, ok := answer.(error); ok && strings.Contains(err.Error(), wrongType) {
			if !described {
				why, described = h.wrong(ctx, cmd), true
			}
			if why != "" {
				answers[i] = fmt.Errorf("%w: %s", err, why)
			}
		}
	}
}

// optional are commands without which the roles work, too.
var optional = []string{"config", "publish", "subscribe", "psubscribe", "client"}

// denied logs a command that Redis denies to the user. The handler of the log collapses repetitions.
func (w *Watch) denied(cmd redis.Cmder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if name := strings.ToLower(cmd.Name()); w.log != nil && !slices.Contains(optional, name) {
		w.log.Error("Redis denies a command to its user: work waits until the right is granted; this is no outage", "command", name, "err", cmd.Err())
	}
}

// Limits of the types that are read and remembered.
const (
	maxKeys  = 200             // keys of a command whose types are read
	maxTypes = 1000            // types that are remembered
	wrongFor = time.Minute     // how long a wrong type is remembered
	rightFor = 5 * time.Second // how long a right type is remembered: it may change
)

// types are the types of keys that were read recently.
type types map[string]keyType

type keyType struct {
	is    string
	until time.Time
}

// wrong describes the key of a command that has the wrong type; empty: none is known.
func (h hook) wrong(ctx context.Context, cmd redis.Cmder) string {
	var keys, ask []string
	now := time.Now()
	h.mu.Lock()
	for _, arg := range cmd.Args() {
		key, _ := arg.(string)
		if key == "" || h.Type(key) == "" {
			continue
		}
		keys = append(keys, key)
		if !h.types[key].until.After(now) {
			ask = append(ask, key)
		}
		if len(keys) == maxKeys {
			break
		}
	}
	is := make(map[string]string, len(keys))
	for _, key := range keys {
		is[key] = h.types[key].is
	}
	h.mu.Unlock()
	if len(ask) > 0 {
		replies := make([]*redis.StatusCmd, len(ask))
		_, _ = h.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, key := range ask {
				replies[i] = p.Type(ctx, key)
			}
			return nil
		})
		h.mu.Lock()
		if h.types == nil || len(h.types)+len(ask) > maxTypes {
			h.types = types{}
		}
		for i, key := range ask {
			is[key] = replies[i].Val()
			if is[key] == "" {
				continue // Redis did not answer
			}
			until := now.Add(rightFor)
			if h.isWrong(key, is[key]) {
				until = now.Add(wrongFor)
			}
			h.types[key] = keyType{is[key], until}
		}
		h.mu.Unlock()
	}
	for _, key := range keys {
		if h.isWrong(key, is[key]) {
			return fmt.Sprintf("the key %s is a %s, not a %s: inspect it with redis-cli TYPE '%s'", key, is[key], h.Type(key), key)
		}
	}
	return ""
}

// isWrong tells whether a key has another type than Fanfold expects.
func (w *Watch) isWrong(key, is string) bool {
	return is != "" && is != "none" && is != w.Type(key)
}

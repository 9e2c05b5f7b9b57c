package inspect

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/scripts"
)

// eventTime is how long an event is waited for. All are heard within a round trip.
const eventTime = time.Second

// Unheard returns which of the keyspace events that the scheduler uses Redis does not publish, by their
// names; empty: it publishes all of them. It causes one of each kind on a key of its own and listens: the
// setting tells less, and many servers do not show it.
func (in *Inspector) Unheard(ctx context.Context) (missing []string, err error) {
	masters, err := redisdb.Masters(ctx, in.o.Redis)
	if err != nil {
		return nil, err
	}
	for _, master := range masters {
		found, _, err := in.UnheardOf(ctx, master)
		if err != nil {
			return nil, err
		}
		missing = append(missing, found...)
	}
	slices.Sort(missing)
	return slices.Compact(missing), nil
}

// UnheardOf is Unheard of one master; not has: it has no partition, and was not asked.
func (in *Inspector) UnheardOf(ctx context.Context, master *redis.Client) (missing []string, has bool, err error) {
	i := slices.IndexFunc(in.o.Scripts, func(s *scripts.Scripts) bool {
		its, err := redisdb.Master(ctx, in.o.Redis, s.Keys.Wake())
		return err == nil && its.Options().Addr == master.Options().Addr
	})
	if i < 0 {
		return nil, false, nil
	}
	missing, err = unheard(ctx, master, in.o.Scripts[i].Keys.Canary("inspect-"+rand.Text()))
	return missing, true, err
}

// unheard causes events on a key of its own, and returns those that are not published.
func unheard(ctx context.Context, client *redis.Client, key string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*eventTime)
	defer cancel()
	pubsub := client.Subscribe(ctx, fmt.Sprintf("__keyspace@%d__:%s", client.Options().DB, key))
	defer pubsub.Close()
	if _, err := pubsub.Receive(ctx); err != nil {
		return nil, err
	}
	if _, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.ZAdd(ctx, key, redis.Z{})
		p.Del(ctx, key)
		p.Set(ctx, key, "", time.Millisecond)
		return nil
	}); err != nil {
		return nil, err
	}
	select {
	case <-time.After(2 * time.Millisecond):
	case <-ctx.Done():
	}
	if err := client.Exists(ctx, key).Err(); err != nil { // deletes what has expired
		return nil, err
	}
	left := map[string]bool{"expired": true, "del": true, "set": true, "zadd": true}
	for end := time.Now().Add(eventTime); len(left) > 0 && time.Now().Before(end); {
		m, err := pubsub.ReceiveTimeout(ctx, time.Until(end))
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
			break
		} else if err != nil {
			return nil, err
		}
		if event, ok := m.(*redis.Message); ok {
			delete(left, event.Payload)
		}
	}
	return slices.Sorted(maps.Keys(left)), nil
}

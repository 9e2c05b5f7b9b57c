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

// Servers are the masters of Redis.
type Servers struct{ o *Options }

// eventTime is the timeout for an event. Events arrive within a round trip.
const eventTime = time.Second

// Unpublished returns the names of the keyspace events that the scheduler uses and Redis does not
// publish. It causes all of them on a key of its own and listens, because many servers do not show
// the setting.
func (m Servers) Unpublished(ctx context.Context) (missing []string, err error) {
	masters, err := redisdb.Masters(ctx, m.o.Redis)
	if err != nil {
		return nil, err
	}
	for _, master := range masters {
		found, _, err := m.UnpublishedBy(ctx, master)
		if err != nil {
			return nil, err
		}
		missing = append(missing, found...)
	}
	slices.Sort(missing)
	return slices.Compact(missing), nil
}

// EvictionPolicies returns the maxmemory-policy of all masters, each policy once.
func (m Servers) EvictionPolicies(ctx context.Context) (all []string, err error) {
	masters, err := redisdb.Masters(ctx, m.o.Redis)
	for _, master := range masters {
		info, err := master.InfoMap(ctx, "memory").Result()
		if err != nil {
			return nil, err
		}
		if policy := info["Memory"]["maxmemory_policy"]; policy != "" { // some managed servers hide it
			all = append(all, policy)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), err
}

// UnpublishedBy is Unpublished for one master. It returns false for has, and asks nothing, if the
// master has no partition.
func (m Servers) UnpublishedBy(ctx context.Context, master *redis.Client) (missing []string, has bool, err error) {
	i := slices.IndexFunc(m.o.Scripts, func(s *scripts.Scripts) bool {
		its, err := redisdb.Master(ctx, m.o.Redis, s.Keys.Wake)
		return err == nil && its.Options().Addr == master.Options().Addr
	})
	if i < 0 {
		return nil, false, nil
	}
	missing, err = unpublished(ctx, master, m.o.Scripts[i].Keys.Canary("inspect-"+rand.Text()))
	return missing, true, err
}

// unpublished causes events on a key, and returns those that are not published.
func unpublished(ctx context.Context, client *redis.Client, key string) ([]string, error) {
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
	if err := client.Exists(ctx, key).Err(); err != nil { // deletes the expired key
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

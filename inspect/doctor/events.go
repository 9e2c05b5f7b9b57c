package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/scripts"
)

// eventTime is how long an event is waited for. All are heard within a round trip.
const eventTime = time.Second

// checkNotifications checks for the events that the scheduler can use: it causes one of each kind
// and listens. The setting tells less, and many servers do not show it.
func (d redisDoctor) checkNotifications(ctx context.Context, client *redis.Client) Finding {
	const check = "redis notifications"
	i := slices.IndexFunc(d.Scripts, func(s *scripts.Scripts) bool {
		master, err := redisdb.Master(ctx, d.Redis, s.Keys.Wake())
		return err == nil && master.Options().Addr == client.Options().Addr
	})
	if i < 0 {
		return pass(check, "no partition is on this server")
	}
	missing, err := unheard(ctx, client, d.Scripts[i].Keys.Canary(fmt.Sprintf("doctor-%d", time.Now().UnixNano())))
	if err != nil {
		return newFinding(check, Warn, "", fmt.Errorf("cannot be tried: %w", err), "may this user use SUBSCRIBE, ZADD, SET and DEL, and is Redis full?")
	}
	if len(missing) > 0 {
		err = fmt.Errorf("not published: %s", strings.Join(missing, ", "))
	}
	return newFinding(check, Warn, "expired, del, set and zadd are heard", err,
		"fanfold serve switches them on where it may use CONFIG SET; elsewhere set notify-keyspace-events Kgz$x by hand, in the parameters of a managed server. Without them Fanfold polls once a second")
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

package scripts

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
)

// Server is a Redis server that accepts writes.
type Server struct {
	client *redis.Client
	parts  Partitions
}

// Servers returns the servers of all partitions, by address; in a cluster also those without one.
func (p Partitions) Servers(ctx context.Context) ([]Server, error) {
	clients, err := redisdb.Masters(ctx, p.First().rdb)
	all := make([]Server, len(clients))
	for i, client := range clients {
		all[i] = Server{client, p}
	}
	return all, err
}

// AddressOf returns the address of the server that has a key.
func (p Partitions) AddressOf(ctx context.Context, key string) (string, error) {
	client, err := redisdb.Master(ctx, p.First().rdb, key)
	if err != nil {
		return "", err
	}
	return client.Options().Addr, nil
}

// Address is its host and port.
func (s Server) Address() string { return s.client.Options().Addr }

// Now returns its time.
func (s Server) Now(ctx context.Context) (time.Time, error) { return s.client.Time(ctx).Result() }

// Info returns sections of INFO, each by the names of its fields.
func (s Server) Info(ctx context.Context, sections ...string) (map[string]map[string]string, error) {
	return s.client.InfoMap(ctx, sections...).Result()
}

// eventTime is the timeout for an event. Events arrive within a round trip.
const eventTime = time.Second

// Unpublished returns the names of the keyspace events that the scheduler uses and the server does not
// publish. It causes all of them on a key of its own and listens, because many servers do not show the
// setting. It returns false, and asks nothing, if the server has no partition.
func (s Server) Unpublished(ctx context.Context) (missing []string, has bool, err error) {
	for _, part := range s.parts {
		if address, err := s.parts.AddressOf(ctx, part.Keys.Wake); err == nil && address == s.Address() {
			missing, err = s.unpublished(ctx, part.Keys.Canary("inspect-"+rand.Text()))
			return missing, true, err
		}
	}
	return nil, false, nil
}

func (s Server) unpublished(ctx context.Context, key string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*eventTime)
	defer cancel()
	pubsub := s.client.Subscribe(ctx, fmt.Sprintf("__keyspace@%d__:%s", s.client.Options().DB, key))
	defer pubsub.Close()
	if _, err := pubsub.Receive(ctx); err != nil {
		return nil, err
	}
	if _, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
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
	if err := s.client.Exists(ctx, key).Err(); err != nil { // deletes the expired key
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

package redisdb

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
)

// Master returns a client of the server that has a key, for subscriptions and for commands without
// a key. The given client owns it.
func Master(ctx context.Context, client redis.UniversalClient, key string) (*redis.Client, error) {
	switch c := client.(type) {
	case *redis.Client:
		return c, nil
	case *redis.ClusterClient:
		node, err := c.MasterForKey(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("master of %s: %w", key, err)
		}
		return node, nil
	}
	return nil, fmt.Errorf("redisdb: cannot find the server of a %T", client)
}

// Masters returns a client of every server that accepts writes. The given client owns them.
func Masters(ctx context.Context, client redis.UniversalClient) ([]*redis.Client, error) {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		one, err := Master(ctx, client, "")
		return []*redis.Client{one}, err
	}
	var mu sync.Mutex
	var all []*redis.Client
	err := cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, node)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("masters of the cluster: %w", err)
	}
	slices.SortFunc(all, func(a, b *redis.Client) int { return strings.Compare(a.Options().Addr, b.Options().Addr) })
	return all, nil
}

// Where is how people connect to a server.
type Where struct {
	Network, Addr string // Addr is empty if the server is not known
	Username      string
	DB            int
	TLS           bool
}

// Server describes the server that has a key now.
func Server(ctx context.Context, r report.Redis, client redis.UniversalClient, key string) Where {
	master, err := Master(ctx, client, key)
	if err != nil {
		return Where{}
	}
	o := master.Options()
	w := Where{Network: o.Network, Addr: o.Addr, Username: o.Username, DB: o.DB, TLS: o.TLSConfig != nil}
	if r.Sentinel.Master == "" {
		return w
	}
	w.Addr = ""
	for _, address := range r.Sentinel.Addresses {
		s := redis.NewSentinelClient(&redis.Options{
			Addr: address, Username: r.Sentinel.User, Password: r.Sentinel.Password.Reveal(), TLSConfig: o.TLSConfig,
			ContextTimeoutEnabled: true, DisableIdentity: true,
		})
		found, err := s.GetMasterAddrByName(ctx, r.Sentinel.Master).Result()
		_ = s.Close()
		if err == nil && len(found) == 2 {
			w.Addr = net.JoinHostPort(found[0], found[1])
			return w
		}
	}
	return w
}

package testenv

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// MoveSlot moves the slot of a key, with all its keys, to another master, while clients use them.
// It retries, because masters can change meanwhile on a busy machine.
func (c *Cluster) MoveSlot(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return c.Servers[0].proc.await(ctx, func(ctx context.Context) error {
		to, err := c.other(ctx, key)
		if err != nil {
			return err
		}
		return c.MoveSlotTo(ctx, key, to)
	})
}

// other returns the master that follows the one of a key, by address.
func (c *Cluster) other(ctx context.Context, key string) (*Redis, error) {
	cluster := c.Client()
	defer cluster.Close()
	from, err := cluster.MasterForKey(ctx, key)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var target *redis.Client
	if err := cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		after := func(r *redis.Client) bool { return r.Options().Addr > from.Options().Addr }
		if node.Options().Addr != from.Options().Addr && (target == nil || after(node) && !after(target) ||
			after(node) == after(target) && node.Options().Addr < target.Options().Addr) {
			target = node
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return c.server(target.Options().Addr), nil
}

// MoveSlotTo is MoveSlot to a given master.
func (c *Cluster) MoveSlotTo(ctx context.Context, key string, to *Redis) error {
	cluster := c.Client()
	defer cluster.Close()
	slot, err := cluster.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return err
	}
	from, err := cluster.MasterForKey(ctx, key)
	if err != nil || from.Options().Addr == to.Addr {
		return err
	}
	// What a move that failed has left.
	if err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		return node.Do(ctx, "cluster", "setslot", slot, "stable").Err()
	}); err != nil {
		return err
	}
	target := to.Client()
	defer target.Close()
	ids := make([]string, 2)
	for n, client := range []*redis.Client{from, target} {
		if ids[n], err = client.Do(ctx, "cluster", "myid").Text(); err != nil {
			return err
		}
	}
	if err := target.Do(ctx, "cluster", "setslot", slot, "importing", ids[0]).Err(); err != nil {
		return err
	}
	if err := from.Do(ctx, "cluster", "setslot", slot, "migrating", ids[1]).Err(); err != nil {
		return err
	}
	for {
		keys, err := from.ClusterGetKeysInSlot(ctx, int(slot), 10).Result()
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			break
		}
		args := []any{"migrate", "127.0.0.1", to.port, "", 0, 10_000, "keys"}
		for _, k := range keys {
			args = append(args, k)
		}
		if err := from.Do(ctx, args...).Err(); err != nil && !strings.Contains(err.Error(), "NOKEY") {
			return err
		}
	}
	for _, client := range []*redis.Client{target, from} {
		if err := client.Do(ctx, "cluster", "setslot", slot, "node", ids[1]).Err(); err != nil {
			return err
		}
	}
	return nil
}

package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Cluster is a Redis Cluster on the loopback interface.
type Cluster struct {
	Servers []*Redis // the first ones are the masters at the start, then come their replicas, in the same order
	masters int
}

// clusterSlots is how many slots a cluster has.
const clusterSlots = 16384

// StartCluster starts masters, which share the slots evenly, and as many replicas, whose files are
// in dir, and waits until all nodes agree that all is well. A dead master is noticed after a
// second.
func StartCluster(ctx context.Context, dir string, masters int) (*Cluster, error) {
	c := &Cluster{masters: masters}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := c.start(ctx, dir); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, dir string) error {
	for i := range 2 * c.masters {
		folder := filepath.Join(dir, fmt.Sprint("node-", i))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		bus, err := freePort()
		if err != nil {
			return err
		}
		r, err := StartRedis(ctx, folder, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus), "--cluster-node-timeout", "1000",
			"--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0", "--cluster-replica-validity-factor", "0")
		if err != nil {
			return err
		}
		r.bus = bus
		c.Servers = append(c.Servers, r)
	}
	first := c.Servers[0]
	for i, r := range c.Servers {
		client := r.Client()
		defer client.Close()
		if i < c.masters {
			from, to := i*clusterSlots/c.masters, (i+1)*clusterSlots/c.masters-1
			if err := client.ClusterAddSlotsRange(ctx, from, to).Err(); err != nil {
				return fmt.Errorf("testenv: slots of node %d: %w", i, err)
			}
		}
		if err := client.Do(ctx, "cluster", "meet", "127.0.0.1", first.port, first.bus).Err(); err != nil {
			return fmt.Errorf("testenv: node %d: %w", i, err)
		}
	}
	if err := c.await(ctx, "all nodes know each other", func(info, nodes string) bool {
		return strings.Contains(info, "cluster_state:ok") && strings.Count(nodes, " connected") == len(c.Servers)
	}); err != nil {
		return err
	}
	for i, r := range c.Servers[c.masters:] {
		master, replica := c.Servers[i].Client(), r.Client()
		id, err := master.Do(ctx, "cluster", "myid").Text()
		if err == nil {
			err = replica.ClusterReplicate(ctx, id).Err()
		}
		_, _ = master.Close(), replica.Close()
		if err != nil {
			return fmt.Errorf("testenv: replica %d: %w", i, err)
		}
	}
	if err := c.await(ctx, "all replicas follow", func(_, nodes string) bool { return strings.Count(nodes, "slave ") == c.masters }); err != nil {
		return err
	}
	for _, r := range c.Servers[c.masters:] {
		client := r.Client()
		err := r.proc.await(ctx, func(ctx context.Context) error {
			info, err := client.Info(ctx, "replication").Result()
			if err == nil && !strings.Contains(info, "master_link_status:up") {
				err = errors.New("testenv: a replica has no data yet")
			}
			return err
		})
		_ = client.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// await waits until each node says something of CLUSTER INFO and CLUSTER NODES.
func (c *Cluster) await(ctx context.Context, what string, holds func(info, nodes string) bool) error {
	for _, r := range c.Servers {
		client := r.Client()
		err := r.proc.await(ctx, func(ctx context.Context) error {
			info, err := client.ClusterInfo(ctx).Result()
			if err != nil {
				return err
			}
			nodes, err := client.ClusterNodes(ctx).Result()
			if err == nil && !holds(info, nodes) {
				err = errors.New("testenv: not yet: " + what)
			}
			return err
		})
		_ = client.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// MoveSlot moves the slot of a key, with all keys in it, to the next one of the masters, while
// clients use them.
func (c *Cluster) MoveSlot(ctx context.Context, key string) error {
	cluster := c.Client()
	defer cluster.Close()
	slot, err := cluster.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return err
	}
	from, err := cluster.MasterForKey(ctx, key)
	if err != nil {
		return err
	}
	masters := c.Servers[:c.masters]
	i := slices.IndexFunc(masters, func(r *Redis) bool { return r.Addr == from.Options().Addr })
	to := masters[(i+1)%len(masters)]
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

// Addresses returns those of all nodes.
func (c *Cluster) Addresses() (all []string) {
	for _, r := range c.Servers {
		all = append(all, r.Addr)
	}
	return all
}

// Client returns a new client, which the caller closes.
func (c *Cluster) Client() *redis.ClusterClient {
	return redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addresses(), DisableIdentity: true})
}

// Stop ends all nodes.
func (c *Cluster) Stop() {
	for _, r := range c.Servers {
		r.Kill()
	}
}

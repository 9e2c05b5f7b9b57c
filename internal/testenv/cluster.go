package testenv

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Cluster is a Redis Cluster on the loopback interface.
type Cluster struct {
	Servers []*Redis // the initial masters, then their replicas in the same order
	masters int
}

// clusterSlots is the number of slots of a cluster.
const clusterSlots = 16384

// StartCluster starts masters, which share the slots evenly, and a replica for each, with files in
// dir, and waits until all nodes agree that the cluster is healthy. A dead master is detected after
// a second. If n is nil, the servers connect directly, otherwise through it. The settings are those
// of StartRedis.
func StartCluster(ctx context.Context, dir string, masters int, n *Network, settings ...string) (*Cluster, error) {
	return startCluster(ctx, dir, masters, masters, n, settings)
}

// StartMasters is StartCluster without replicas, for measurements: a busy master is not declared
// dead. The slots of the keys are assigned round-robin.
func StartMasters(ctx context.Context, dir string, masters int, keys ...string) (*Cluster, error) {
	return startCluster(ctx, dir, masters, 0, nil, []string{"--cluster-node-timeout", "60000"}, keys...)
}

func startCluster(ctx context.Context, dir string, masters, replicas int, n *Network, settings []string,
	even ...string) (*Cluster, error) {
	c := &Cluster{masters: masters}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := c.start(ctx, dir, replicas, n, settings, even); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, dir string, replicas int, n *Network, settings, even []string) error {
	settings = append([]string{"--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no",
		"--repl-diskless-sync-delay", "0", "--cluster-replica-validity-factor", "0"}, settings...)
	var buses []int // the bus ports, or those of their relays
	for i := range c.masters + replicas {
		r, bus, err := newNode(filepath.Join(dir, fmt.Sprint("node-", i)), settings...)
		if err == nil && n != nil {
			bus, err = n.join(r, bus)
		}
		if err == nil {
			err = r.Start(ctx)
		}
		if err != nil {
			return err
		}
		c.Servers, buses = append(c.Servers, r), append(buses, bus)
	}
	if err := c.addSlots(ctx, even); err != nil {
		return err
	}
	first := c.Servers[0].Client()
	defer first.Close()
	var met time.Time
	if err := c.await(ctx, "all nodes know each other", func(info, nodes string) bool {
		ok := strings.Contains(info, "cluster_state:ok") && strings.Count(nodes, " connected") == len(c.Servers)
		// On a busy machine the answer of a node can get lost: ask again.
		if !ok && time.Since(met) > 2*time.Second {
			met = time.Now()
			for i, r := range c.Servers[1:] {
				_ = first.Do(ctx, "cluster", "meet", "127.0.0.1", r.relayPort(), buses[i+1]).Err()
			}
		}
		return ok
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
	if err := c.await(ctx, "all replicas follow",
		func(_, nodes string) bool { return strings.Count(nodes, "slave ") == replicas }); err != nil {
		return err
	}
	return c.Settled(ctx)
}

// newNode returns a node of a cluster with a free bus port.
func newNode(dir string, settings ...string) (node *Redis, bus int, err error) {
	if bus, err = FreePort(); err != nil {
		return nil, 0, err
	}
	node, err = newRedis(dir, append([]string{"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus)},
		settings...)...)
	return node, bus, err
}

// StartNode starts a node that belongs to no cluster and has no slots.
func StartNode(ctx context.Context, dir string) (*Redis, error) {
	node, _, err := newNode(dir)
	if err != nil {
		return nil, err
	}
	return node, node.Start(ctx)
}

// addSlots assigns an equal range of slots to every master, and the slots of the keys in even
// round-robin.
func (c *Cluster) addSlots(ctx context.Context, even []string) error {
	of := map[int]int{}
	for i, key := range even {
		client := c.Servers[0].Client()
		slot, err := client.ClusterKeySlot(ctx, key).Result()
		_ = client.Close()
		if err != nil {
			return err
		}
		of[int(slot)] = i % c.masters
	}
	slots := make([][]int, c.masters)
	for slot := range clusterSlots {
		master, ok := of[slot]
		if !ok {
			master = slot * c.masters / clusterSlots
		}
		slots[master] = append(slots[master], slot)
	}
	for i, some := range slots {
		client := c.Servers[i].Client()
		err := client.ClusterAddSlots(ctx, some...).Err()
		_ = client.Close()
		if err != nil {
			return fmt.Errorf("testenv: slots of node %d: %w", i, err)
		}
	}
	return nil
}

// Settled waits until all nodes agree that every slot has a master and every master has a replica,
// and the replicas are up to date.
func (c *Cluster) Settled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := c.await(ctx, "all nodes are healthy", func(info, nodes string) bool {
		return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_ok:16384") &&
			strings.Count(nodes, " connected") == len(c.Servers) && !strings.Contains(nodes, "fail") &&
			followed(nodes) == len(c.Servers)-c.masters
	}); err != nil {
		return err
	}
	for _, r := range c.Servers {
		client := r.Client()
		err := r.proc.await(ctx, func(ctx context.Context) error {
			info, err := client.Info(ctx, "replication").Result()
			if err == nil && strings.Contains(info, "master_link_status:down") {
				err = errors.New("testenv: a replica is behind")
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

// followed counts the masters that have a replica in the answer of CLUSTER NODES.
func followed(nodes string) int {
	masters := map[string]bool{}
	for line := range strings.Lines(nodes) {
		if words := strings.Fields(line); len(words) > 3 && strings.HasSuffix(words[2], "slave") {
			masters[words[3]] = true
		}
	}
	return len(masters)
}

// Master returns the server that has a key now.
func (c *Cluster) Master(ctx context.Context, key string) (*Redis, error) {
	client := c.Client()
	defer client.Close()
	node, err := client.MasterForKey(ctx, key)
	if err != nil {
		return nil, err
	}
	return c.server(node.Options().Addr), nil
}

// replica returns a replica of the server that has a key now.
func (c *Cluster) replica(ctx context.Context, key string) (*Redis, error) {
	master, err := c.Master(ctx, key)
	if err != nil {
		return nil, err
	}
	node := master.Client()
	defer node.Close()
	id, err := node.Do(ctx, "cluster", "myid").Text()
	if err != nil {
		return nil, err
	}
	replicas, err := node.Do(ctx, "cluster", "replicas", id).StringSlice()
	if err != nil || len(replicas) == 0 {
		return nil, errors.Join(errors.New("testenv: no replica of the master of "+key), err)
	}
	_, address, _ := strings.Cut(replicas[0], " ")
	address, _, _ = strings.Cut(address, "@")
	return c.server(address), nil
}

// server returns the server with an address.
func (c *Cluster) server(address string) *Redis {
	return c.Servers[slices.IndexFunc(c.Servers, func(r *Redis) bool { return r.Addr == address })]
}

// HandOver promotes a replica of a healthy master. It retries, because masters can change meanwhile
// on a busy machine.
func (c *Cluster) HandOver(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return c.Servers[0].proc.await(ctx, func(ctx context.Context) error {
		replica, err := c.replica(ctx, key)
		if err != nil {
			return err
		}
		client := replica.Client()
		defer client.Close()
		return client.ClusterFailover(ctx).Err()
	})
}

// await waits until holds is true for CLUSTER INFO and CLUSTER NODES of every node.
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

// Addresses returns the addresses of all nodes.
func (c *Cluster) Addresses() (all []string) {
	for _, r := range c.Servers {
		all = append(all, r.Addr)
	}
	return all
}

// Client returns a new client. The caller closes it.
func (c *Cluster) Client() *redis.ClusterClient {
	return redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addresses(), DisableIdentity: true})
}

// Stop ends all nodes.
func (c *Cluster) Stop() {
	for _, r := range c.Servers {
		r.Kill()
	}
}

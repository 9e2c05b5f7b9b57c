package chaos

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/scripts"
)

// redisKinds are the forms of Redis of a round. CHAOS_REDIS names one: one server, which workers reach through
// their relays, a master with two replicas and three Sentinels, or three masters with three replicas and more
// partitions than masters.
var redisKinds = []string{e2e.Alone, e2e.Sentinel, e2e.Cluster}

// chaosPartitions is the number of partitions on a cluster.
const chaosPartitions = 4

// chaosRedis is the Redis of a round.
type chaosRedis struct {
	kind      string
	dir       string
	alone     *testenv.Redis
	sentinels *testenv.Sentinels
	cluster   *testenv.Cluster
	network   *testenv.Network // between the servers of a set

	down       sync.Mutex // held while a fault happens
	client     redis.UniversalClient
	partitions scripts.Partitions
}

func startChaosRedis(ctx context.Context, t testing.TB, kind, dir string) *chaosRedis {
	c := &chaosRedis{kind: kind, dir: filepath.Join(dir, "redis"), network: testenv.NewNetwork()}
	// The judge reads the complete append-only file of a single server, so it is never rewritten.
	settings := []string{"--auto-aof-rewrite-percentage", "0"}
	var err error
	switch kind {
	case e2e.Sentinel:
		c.sentinels, err = testenv.StartSentinels(ctx, c.dir, 2, c.network, settings...)
	case e2e.Cluster:
		// A slow machine must not cause a failover.
		settings = append(settings, "--cluster-node-timeout", "2000")
		c.cluster, err = testenv.StartCluster(ctx, c.dir, 3, c.network, settings...)
	default:
		c.alone, err = testenv.StartRedis(ctx, c.dir, settings...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// where returns the value of redis in a configuration. Workers reach a single server through their
// relay.
func (c *chaosRedis) where(relay string) string {
	switch c.kind {
	case e2e.Sentinel:
		return e2e.WhereSentinels(c.sentinels, 1)
	case e2e.Cluster:
		return e2e.WhereCluster(c.cluster, chaosPartitions)
	}
	return e2e.WhereAlone(relay, 1)
}

// address returns the address of a single server.
func (c *chaosRedis) address() string {
	if c.alone == nil {
		return ""
	}
	return c.alone.Addr
}

// servers returns all servers.
func (c *chaosRedis) servers() []*testenv.Redis {
	switch c.kind {
	case e2e.Sentinel:
		return c.sentinels.Servers
	case e2e.Cluster:
		return c.cluster.Servers
	}
	return []*testenv.Redis{c.alone}
}

func (c *chaosRedis) stop() {
	for _, r := range c.servers() {
		r.Stop()
	}
	if c.sentinels != nil {
		c.sentinels.Stop()
	}
	c.network.Close()
}

// cause makes a fault happen on the master that has the partition. It returns when the set has
// recovered, because two faults at once could destroy all copies of a partition.
func (c *chaosRedis) cause(ctx, storm context.Context, f incident) error {
	c.down.Lock()
	defer c.down.Unlock()
	if storm.Err() != nil {
		return errTooLate
	}
	partition := c.partitions[f.worker%len(c.partitions)]
	key := partition.Keys.Jobs
	master, err := c.master(ctx, key)
	if err != nil {
		return err
	}
	switch f.kind {
	case faultRedis:
		master.Kill()
		elapse(ctx, f.lasts)
		err = master.Start(ctx)
	case faultFreeze:
		master.Freeze()
		elapse(ctx, f.lasts)
		master.Thaw()
	case faultFlush:
		err = c.flush(ctx, key)
	case faultFull:
		err = c.fill(ctx, master, f.lasts)
	case faultApart:
		c.network.CutOff(master)
		elapse(ctx, f.lasts)
		c.network.Heal()
	case faultHandOver:
		err = c.handOver(ctx, key)
	case faultSlot:
		err = c.cluster.MoveSlot(ctx, key)
	}
	if err == nil {
		_, err = c.master(ctx, key)
	}
	return err
}

// fill lets a server have no more memory than it uses, for a while.
func (c *chaosRedis) fill(ctx context.Context, server *testenv.Redis, lasts time.Duration) error {
	client := server.Client()
	defer client.Close()
	used, err := client.InfoMap(ctx, "memory").Result()
	if err != nil {
		return err
	}
	if err := client.ConfigSet(ctx, "maxmemory", used["Memory"]["used_memory"]).Err(); err != nil {
		return err
	}
	elapse(ctx, lasts)
	return client.ConfigSet(ctx, "maxmemory", "0").Err()
}

// master waits until all servers are up, and returns the one that has the key.
func (c *chaosRedis) master(ctx context.Context, key string) (*testenv.Redis, error) {
	switch c.kind {
	case e2e.Sentinel:
		return c.sentinels.Settled(ctx)
	case e2e.Cluster:
		if err := c.cluster.Settled(ctx); err != nil {
			return nil, err
		}
		return c.cluster.Master(ctx, key)
	}
	return c.alone, nil
}

func (c *chaosRedis) handOver(ctx context.Context, key string) error {
	if c.kind == e2e.Sentinel {
		return c.sentinels.HandOver(ctx)
	}
	return c.cluster.HandOver(ctx, key)
}

// flush empties the master of a key. It retries, because masters can change meanwhile on a busy
// machine.
func (c *chaosRedis) flush(ctx context.Context, key string) error {
	for {
		master, err := c.master(ctx, key)
		if err != nil {
			return err
		}
		client := master.Client()
		err = client.FlushAll(ctx).Err()
		_ = client.Close()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// streams returns the streams of all partitions.
func (c *chaosRedis) streams() (all []string) {
	for _, p := range c.partitions {
		all = append(all, p.Keys.Jobs, p.Keys.Next, p.Keys.FanIn, p.Keys.FanInLarge)
		for _, listener := range []string{"src.a", "src.b", "src.c"} {
			all = append(all, p.Keys.Task(listener))
		}
	}
	return all
}

// plain returns the name of a key as it is with one partition on one server.
func (c *chaosRedis) plain(key string) string {
	for _, p := range c.partitions {
		if rest, ok := strings.CutPrefix(key, p.Keys.Hash); ok {
			return "FileDownloadRecordEntity-" + rest
		}
		if rest, ok := strings.CutPrefix(key, p.Keys.Prefix); ok {
			return "fanfold:" + rest
		}
	}
	return key
}

// pushed returns the partition into which a service pushes an id. For two of 20 values of the dice,
// it is the wrong one.
func (c *chaosRedis) pushed(id string, dice int) *scripts.Scripts {
	if dice == 1 || dice == 2 {
		return c.partitions[len(id)%len(c.partitions)]
	}
	return c.partitions.Of(id)
}

// lasting are the documented keys without a TTL or with a long one (docs/reference/keys.md).
var lasting = []string{
	"fanfold:jobs", "fanfold:next", "fanfold:delayed", "fanfold:fanin", "fanfold:fanin:large", "fanfold:deadlines", "fanfold:dead", "fanfold:quarantine",
	"fanfold:events", "fanfold:installation", "fanfold:version", "fanfold:incarnation", "fanfold:snapshot", "fanfold:timers", "fanfold:timers:paused", "fanfold:timers:recent", "fanfold:fired", "fanfold:finished",
	"fanfold:holds", "fanfold:definitions", "fanfold:lock:sweep", "fanfold:audit", "fanfold:tally",
}

// left returns the keys that jobs should have deleted at their end.
func (c *chaosRedis) left(ctx context.Context) (texts []string) {
	say := func(format string, args ...any) { texts = append(texts, fmt.Sprintf(format, args...)) }
	masters, err := redisdb.Masters(ctx, c.client)
	if err != nil {
		say("masters: %v", err)
	}
	for _, master := range masters {
		all := master.Scan(ctx, 0, "*", 1000).Iterator()
		for all.Next(ctx) {
			key := all.Val()
			plain := c.plain(key)
			lasts := slices.Contains(lasting, plain) || strings.HasPrefix(plain, "fanfold:task:") ||
				strings.HasPrefix(plain, "fanfold:tally:")
			switch ttl := master.PTTL(ctx, key).Val(); {
			case strings.HasPrefix(plain, "FileDownloadRecordEntity-") && !strings.HasSuffix(key, ":ended") && !strings.HasSuffix(key, ":kept"):
				say("the data %s is left of a job that has ended", key)
			case ttl == -1 && !lasts:
				say("%s is left without a TTL", key)
			case ttl > 20*time.Minute && !lasts:
				say("%s is left with a TTL of %s", key, ttl)
			}
		}
		if err := all.Err(); err != nil {
			say("keys: %v", err)
		}
	}
	for _, p := range c.partitions {
		if entries := c.client.XRangeN(ctx, p.Keys.Quarantined, "-", "+", 3).Val(); len(entries) > 0 {
			say("in quarantine: %v", entries)
		}
	}
	return texts
}

package scheduler

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// TestFailover promotes another server while deadlines come, with Sentinel and in a cluster. None
// is lost, and events are heard again within seconds.
func TestFailover(t *testing.T) {
	t.Parallel()
	kill := func(r *testenv.Redis) { r.Kill() }
	freeze := func(r *testenv.Redis) {
		r.Freeze()
		_ = step.Wait(t.Context(), 6*time.Second)
		r.Thaw() // it still takes itself for the master
	}
	handOver := func(c *testenv.Cluster) func(*testenv.Redis) {
		return func(*testenv.Redis) {
			replica := c.Servers[3].Client()
			defer replica.Close()
			if err := replica.ClusterFailover(t.Context()).Err(); err != nil {
				t.Error(err)
			}
		}
	}
	for name, fault := range map[string]func(*testenv.Redis){"killed": kill, "frozen": freeze} {
		t.Run("sentinel, "+name, func(t *testing.T) {
			t.Parallel()
			s, err := testenv.StartSentinels(t.Context(), t.TempDir(), 1)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Stop)
			testFailover(t, report.Redis{Sentinel: report.Sentinel{Master: s.Master, Addresses: s.Addresses}}, s.Servers[0], fault)
		})
	}
	for _, name := range []string{"killed", "frozen", "handed over"} {
		t.Run("cluster, "+name, func(t *testing.T) {
			t.Parallel()
			c, err := testenv.StartCluster(t.Context(), t.TempDir(), 3)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Stop)
			fault := map[string]func(*testenv.Redis){"killed": kill, "frozen": freeze, "handed over": handOver(c)}[name]
			testFailover(t, report.Redis{Cluster: c.Addresses()}, c.Servers[0], fault)
		})
	}
}

// testFailover lets a master fail that has all keys.
func testFailover(t *testing.T, where report.Redis, master *testenv.Redis, fault func(*testenv.Redis)) {
	client, err := redisdb.Connect(where, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := newBundle(t, client)
	// A slot of the first of three masters.
	b.s = scripts.New(scripts.Options{Redis: client, Keys: scripts.Keys{Prefix: "{fanfold:0}:", Hash: "{fanfold:0}:job-"}})
	b.options.Scripts = b.s
	registry := b.runAt("a", defaultPace)
	b.hears(registry, 1)
	b.startMany(40, time.Second, 12*time.Second)
	node, err := redisdb.Master(t.Context(), client, b.s.Keys.Wake())
	if err != nil {
		t.Fatal(err)
	}
	if redisdb.Server(t.Context(), where, client, b.s.Keys.Wake()).Addr != master.Addr {
		t.Fatal("the keys are on another master")
	}
	if n, err := replicated(t, node); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	began := time.Now()
	go fault(master)
	b.hears(registry, 0)
	b.hears(registry, 1)
	t.Logf("nothing was heard for %s", time.Since(began))
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("nothing is heard for %s", took)
	}
	b.allFail()
}

// replicated waits until a replica has what a connection has written, and all before.
func replicated(t *testing.T, client *redis.Client) (int64, error) {
	conn := client.Conn()
	defer conn.Close()
	if err := conn.Set(t.Context(), "{fanfold:0}:replicated", 1, time.Minute).Err(); err != nil {
		return 0, err
	}
	return conn.Do(t.Context(), "wait", 1, 5000).Int64()
}

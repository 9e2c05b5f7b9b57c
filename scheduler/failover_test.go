package scheduler

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
)

// TestFailover promotes another server while deadlines come, with Sentinel and in a cluster. None
// is lost, and events are heard again within seconds.
func TestFailover(t *testing.T) {
	t.Parallel()
	faults := map[string]func(*testenv.Redis, *testenv.Network){
		"killed": func(r *testenv.Redis, _ *testenv.Network) { r.Kill() },
		"frozen": func(r *testenv.Redis, _ *testenv.Network) {
			r.Freeze()
			_ = step.Wait(t.Context(), 6*time.Second)
			r.Thaw() // it still takes itself for the master
		},
		"cut off": func(r *testenv.Redis, n *testenv.Network) {
			n.CutOff(r)
			_ = step.Wait(t.Context(), 6*time.Second)
			n.Heal()
		},
	}
	for name, fault := range faults {
		t.Run("sentinel, "+name, func(t *testing.T) {
			t.Parallel()
			n := testenv.NewNetwork()
			t.Cleanup(n.Close)
			s, err := testenv.StartSentinels(t.Context(), t.TempDir(), 1, n)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Stop)
			testFailover(t, report.Redis{Sentinel: report.Sentinel{Master: s.Master, Addresses: s.Addresses}}, s.Servers[0], func(r *testenv.Redis) { fault(r, n) })
		})
	}
	for _, name := range []string{"killed", "frozen", "cut off", "handed over"} {
		t.Run("cluster, "+name, func(t *testing.T) {
			t.Parallel()
			n := testenv.NewNetwork()
			t.Cleanup(n.Close)
			c, err := testenv.StartCluster(t.Context(), t.TempDir(), 3, n)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Stop)
			fault := faults[name]
			if fault == nil {
				fault = func(*testenv.Redis, *testenv.Network) {
					if err := c.HandOver(t.Context(), "{fanfold:0}"); err != nil {
						t.Error(err)
					}
				}
			}
			testFailover(t, report.Redis{Cluster: c.Addresses()}, c.Servers[0], func(r *testenv.Redis) { fault(r, n) })
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
	b.s = scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: "{fanfold:0}:", Hash: "{fanfold:0}:job-"}})
	b.options.Scripts = b.s
	registry := b.runAt("a", defaultPace)
	b.hears(registry, 1)
	b.startMany(40, time.Second, 12*time.Second)
	node, err := redisdb.Master(t.Context(), client, b.s.Keys.Wake)
	if err != nil {
		t.Fatal(err)
	}
	if redisdb.Server(t.Context(), where, client, b.s.Keys.Wake).Addr != master.Addr {
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

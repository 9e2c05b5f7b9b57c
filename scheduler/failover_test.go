package scheduler

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/report"
)

// TestFailover promotes another server while deadlines come. None is lost, and events are heard
// again within seconds.
func TestFailover(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(s *testenv.Sentinels){
		"killed": func(s *testenv.Sentinels) { s.Servers[0].Kill() },
		"frozen": func(s *testenv.Sentinels) {
			s.Servers[0].Freeze()
			_ = step.Wait(t.Context(), 6*time.Second)
			s.Servers[0].Thaw() // it still takes itself for the master
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := testenv.StartSentinels(t.Context(), t.TempDir(), 1)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Stop)
			client, err := redisdb.Connect(report.Redis{Sentinel: report.Sentinel{Master: s.Master, Addresses: s.Addresses}}, 0)
			if err != nil {
				t.Fatal(err)
			}
			b := newBundle(t, client.(*redis.Client))
			registry := b.runAt("a", defaultPace)
			b.hears(registry, 1)
			b.startMany(40, time.Second, 12*time.Second)
			if n, err := b.client.Wait(t.Context(), 1, 5*time.Second).Result(); err != nil || n != 1 {
				t.Fatal(n, err)
			}
			began := time.Now()
			go fault(s)
			b.hears(registry, 0)
			b.hears(registry, 1)
			t.Logf("nothing was heard for %s", time.Since(began))
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("nothing is heard for %s", took)
			}
			b.allFail()
		})
	}
}

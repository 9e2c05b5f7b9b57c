package command

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/step"
)

// These tests are separate, and not subtests, which would all begin when the other tests have ended.

// TestSentinelKilled: the master dies.
func TestSentinelKilled(t *testing.T) {
	t.Parallel()
	sentinelFailover(t, func(r *testenv.Redis) { r.Kill() })
}

// TestSentinelFrozen: the master hangs and returns.
func TestSentinelFrozen(t *testing.T) {
	t.Parallel()
	sentinelFailover(t, func(r *testenv.Redis) {
		r.Freeze()
		_ = step.Wait(t.Context(), 5*time.Second)
		r.Thaw()
	})
}

// sentinelFailover promotes another Redis while two processes work. Data that was not replicated is
// rebuilt from the records: every record ends as SUCCESS, with one file.
func sentinelFailover(t *testing.T, fault func(r *testenv.Redis)) {
	const slices = 30
	jobs := crowdOf(t, 150)
	on, servers := e2e.NewOnSentinels(t, e2e.Crowd, "limits: {lease: 2s, recover_after: 2s}")
	s := withCommands(on)
	for range 2 {
		s.process("-c", s.File, "serve")
	}
	ids := s.crowd.insert(jobs)
	ended := make(chan struct{})
	for i := range slices {
		s.Jobs.PushAgain(ids[i*jobs/slices : (i+1)*jobs/slices]...)
		if i == slices/3 {
			go func() {
				defer close(ended)
				fault(servers.Servers[0])
			}()
		}
		_ = step.Wait(t.Context(), 100*time.Millisecond)
	}
	<-ended
	s.Jobs.Wait(ids...)
	s.Jobs.Idle()
	s.crowd.check(jobs)
}

// clusterPartitions are those of the jobs of clusterFault.
var clusterPartitions = report.DefaultKeys.Partitions(report.Redis{Partitions: 8})

// TestClusterKilled: a master dies.
func TestClusterKilled(t *testing.T) {
	t.Parallel()
	clusterFault(t, func(_ context.Context, c *testenv.Cluster) error {
		c.Servers[1].Kill()
		return nil
	})
}

// TestClusterFrozen: a master hangs and returns.
func TestClusterFrozen(t *testing.T) {
	t.Parallel()
	clusterFault(t, func(ctx context.Context, c *testenv.Cluster) error {
		c.Servers[1].Freeze()
		defer c.Servers[1].Thaw() // with old data, and still configured as a master
		return step.Wait(ctx, 5*time.Second)
	})
}

// TestClusterHandOver: a master hands over to its replica.
func TestClusterHandOver(t *testing.T) {
	t.Parallel()
	clusterFault(t, func(ctx context.Context, c *testenv.Cluster) error {
		return c.HandOver(ctx, clusterPartitions[0].Prefix)
	})
}

// TestClusterSlotMoves: the slots of all partitions move to other masters.
func TestClusterSlotMoves(t *testing.T) {
	t.Parallel()
	clusterFault(t, func(ctx context.Context, c *testenv.Cluster) error {
		for _, keys := range clusterPartitions {
			if err := c.MoveSlot(ctx, keys.Prefix); err != nil {
				return err
			}
		}
		return nil
	})
}

// clusterFault runs jobs in partitions on three masters while one master fails or slots move. Data that
// was not replicated is rebuilt from the records.
func clusterFault(t *testing.T, fault func(ctx context.Context, c *testenv.Cluster) error) {
	const slices = 30
	jobs := crowdOf(t, 150)
	s, cluster := newStackOnCluster(t, len(clusterPartitions), e2e.Crowd, "limits: {lease: 2s, recover_after: 2s}")
	for range 2 {
		s.process("-c", s.File, "serve")
	}
	ids := s.crowd.insert(jobs)
	ended := make(chan error, 1)
	for i := range slices {
		s.Jobs.PushAgain(ids[i*jobs/slices : (i+1)*jobs/slices]...)
		if i == slices/3 {
			go func() { ended <- fault(t.Context(), cluster) }()
		}
		_ = step.Wait(t.Context(), 100*time.Millisecond)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	s.Jobs.Wait(ids...)
	s.Jobs.Idle()
	s.crowd.check(jobs)
	for i := range len(clusterPartitions) { // to streams in other slots
		id, stream := s.Records.Insert("crowd", `{"job": 1}`), fmt.Sprint("replies:", i)
		s.Receipts.Push(stream, id)
		got := s.Receipts.Wait(stream, 1)
		if len(got) != 2 || got[0]["event"] != "accepted" || got[1]["status"] != "SUCCESS" {
			t.Errorf("receipts: %v", got)
		}
	}
}

// TestStartWhileAMasterIsAway: a process that starts while a master is down works on the partitions
// of the other masters.
func TestStartWhileAMasterIsAway(t *testing.T) {
	t.Parallel()
	partitions := report.DefaultKeys.Partitions(report.Redis{Partitions: 4})
	prefixes := make([]string, len(partitions))
	for i, keys := range partitions {
		prefixes[i] = keys.Prefix
	}
	cluster, err := testenv.StartMasters(t.Context(), t.TempDir(), 2, prefixes...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	where := func(partitions int) string { return e2e.WhereCluster(cluster, partitions) }
	s := withCommands(e2e.NewBehind(t, where, len(partitions), e2e.Crowd))
	var there, all []string
	for _, id := range s.crowd.insert(20) {
		if prefix := s.Partitions.Of(id).Keys.Prefix; prefix == prefixes[1] || prefix == prefixes[3] {
			there = append(there, id)
		}
		all = append(all, id)
	}
	cluster.Servers[0].Stop()
	s.process("-c", s.File, "serve")
	s.Jobs.Push(there...)
	s.Eventually("their jobs end", func() bool {
		return s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status = 'SUCCESS'") == len(there)
	})
	if err := cluster.Servers[0].Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Jobs.PushAgain(all...)
	s.Jobs.Wait(all...)
	s.Jobs.Idle()
	s.crowd.check(20)
}

// TestStopWhileAClusterHangs: a process that receives a stop signal ends before an orchestrator
// kills it, even if no server of the cluster answers.
func TestStopWhileAClusterHangs(t *testing.T) {
	t.Parallel()
	s, cluster := newStackOnCluster(t, 3, e2e.Crowd, "limits: {lease: 2s, recover_after: 2s, shutdown_timeout: 5s}")
	c := s.process("-c", s.File, "serve")
	ids := s.crowd.insert(10)
	s.Jobs.Push(ids...)
	s.Jobs.Wait(ids...)
	for _, r := range cluster.Servers {
		r.Freeze()
		t.Cleanup(r.Thaw)
	}
	_ = step.Wait(t.Context(), time.Second) // reads are under way
	_ = c.Process.Signal(syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case <-ended:
	case <-time.After(40 * time.Second):
		t.Error("it does not stop")
	}
}

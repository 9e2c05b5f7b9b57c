package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/internal/testenv"
)

// TestSentinelFailover promotes another Redis while two processes work. What the old one had not
// replicated comes back from the records: each ends as SUCCESS, with one file.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	const jobs, slices = 600, 30
	for name, fault := range map[string]func(r *testenv.Redis){
		"killed": func(r *testenv.Redis) { r.Kill() },
		"frozen": func(r *testenv.Redis) {
			r.Freeze()
			_ = step.Wait(t.Context(), 5*time.Second)
			r.Thaw()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers, err := testenv.StartSentinels(t.Context(), t.TempDir(), 2)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(servers.Stop)
			s := &stack{t: t, dir: t.TempDir(), redis: servers.Servers[0]}
			s.where = fmt.Sprintf("{sentinel: {master: %s, addresses: [%s]}}", servers.Master, strings.Join(servers.Addresses, ", "))
			s.begin(crowdReport, "limits: {lease: 2s, grace: 2s}")
			for range 2 {
				s.process("-c", s.config, "serve")
			}
			ids := s.insertCrowd(jobs)
			ended := make(chan struct{})
			for i := range slices {
				s.pushAgain(ids[i*jobs/slices : (i+1)*jobs/slices]...)
				if i == slices/3 {
					go func() {
						defer close(ended)
						fault(servers.Servers[0])
					}()
				}
				_ = step.Wait(t.Context(), 100*time.Millisecond)
			}
			<-ended
			s.wait(ids...)
			s.idle()
			s.checkCrowd(jobs)
		})
	}
}

// pushAgain pushes ids until Redis takes them, as a service does.
func (s *stack) pushAgain(ids ...string) {
	s.t.Helper()
	s.eventually("Redis takes ids", func() bool { return s.b.push(s.t.Context(), ids) == nil })
}

// TestCluster runs jobs in partitions on three masters, of which one dies.
func TestCluster(t *testing.T) {
	t.Parallel()
	const jobs, slices = 600, 30
	cluster, err := testenv.StartCluster(t.Context(), t.TempDir(), 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	s := &stack{t: t, dir: t.TempDir(), redis: cluster.Servers[0]}
	s.where = fmt.Sprintf("{cluster: [%s], partitions: 8}", strings.Join(cluster.Addresses(), ", "))
	s.begin(crowdReport, "limits: {lease: 2s, grace: 2s}")
	for range 2 {
		s.process("-c", s.config, "serve")
	}
	ids := s.insertCrowd(jobs)
	for i := range slices {
		s.pushAgain(ids[i*jobs/slices : (i+1)*jobs/slices]...)
		if i == slices/3 {
			cluster.Servers[1].Kill()
		}
		_ = step.Wait(t.Context(), 100*time.Millisecond)
	}
	s.wait(ids...)
	s.checkCrowd(jobs)
}

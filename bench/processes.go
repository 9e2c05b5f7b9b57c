package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/fanfold/fanfold/internal/testenv"
)

const (
	whatProcesses = "coordination, 2 listeners, in processes of its own"
	whatBacklog   = "coordination, 2 listeners, with a backlog"

	withCPU    = ", CPU of the processes"
	withServer = ", CPU of Redis"
	withMemory = ", peak memory of the processes"
	withRedis  = ", peak memory of Redis"
)

// processesJobs and backlogs are the jobs of one round.
const processesJobs = 10_000

func inProcesses(n int) string { return fmt.Sprintf("fanfold, %d processes", n) }
func ofBacklog(n int) string   { return fmt.Sprintf("fanfold, %d ids", n) }

var (
	processCounts = []int{1, 2, 4}
	backlogs      = []int{1_000, 10_000, 100_000}
	largeBacklog  = 1_000_000
)

// processes measures Fanfold in several processes.
func processes(ctx context.Context, o options, dir string, r *results) error {
	for round := range o.rounds {
		for _, n := range processCounts {
			if err := apart(ctx, mkdir(dir, strconv.Itoa(round), strconv.Itoa(n)), n, processesJobs, whatProcesses, inProcesses(n), r); err != nil {
				return err
			}
		}
	}
	return nil
}

// backlog measures Fanfold in one process while many ids wait.
func backlog(ctx context.Context, o options, dir string, r *results) error {
	for round := range o.rounds {
		for _, n := range backlogs {
			if round > 0 && n == slices.Max(backlogs) {
				continue // long enough to be measured once
			}
			if err := apart(ctx, mkdir(dir, strconv.Itoa(round), strconv.Itoa(n)), 1, n, whatBacklog, ofBacklog(n), r); err != nil {
				return err
			}
		}
	}
	return nil
}

func backlogLarge(ctx context.Context, _ options, dir string, r *results) error {
	return apart(ctx, dir, 1, largeBacklog, whatBacklog, ofBacklog(largeBacklog), r)
}

// apart measures processes on a Redis of their own, whose peak of memory is theirs.
func apart(ctx context.Context, dir string, processes, jobs int, what, system string, r *results) error {
	server, err := testenv.StartRedis(ctx, dir)
	if err != nil {
		return err
	}
	defer server.Stop()
	s := servers{redis: server}
	p, err := startFanfolds(ctx, s, processes)
	if err != nil {
		return err
	}
	defer p.close()
	w, err := work(ctx, s, p, idsOf("p", 0, jobs))
	if err != nil {
		return fmt.Errorf("%s: %w", system, err)
	}
	client := server.Client()
	defer client.Close()
	peak, err := usedMemory(ctx, client, "used_memory_peak")
	if err != nil {
		return err
	}
	r.add(what, system, "jobs/s", float64(jobs)/w.took.Seconds())
	r.add(what+withCPU, system, "µs/job", float64(p.cpu().Microseconds())/float64(jobs))
	r.add(what+withServer, system, "µs/job", 1e6*w.redis/float64(jobs))
	r.add(what+withMemory, system, "MB", p.peak())
	r.add(what+withRedis, system, "MB", peak)
	return nil
}

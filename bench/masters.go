package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

const (
	whatMasters = "coordination, 2 listeners, on masters"
	whatDivided = "coordination, 2 listeners, on a cluster in partitions"
	withBusiest = ", CPU of the busiest Redis"

	whatWaitingID = "memory of Redis for an id that waits"
	whatRunning   = "memory of Redis for a running job, without its data"
	whatRecordCPU = "CPU of MariaDB for each job"
	whatRecordRow = "size of a record in MariaDB, with its indexes"

	// mastersJobs and recordsJobs are the jobs of one round.
	mastersJobs, recordsJobs = 20_000, 10_000
	// clusterMasters are those of the cluster.
	clusterMasters = 3
	// dividedProcesses work where partitions are compared.
	dividedProcesses = 4
)

var (
	mastersProcesses = []int{1, 2, 4, 8}
	// clusterPartitions divide the jobs in the cluster; with as many as the first, it is compared
	// with a single Redis.
	clusterPartitions = []int{3, 6, 12}
)

func onMasters(masters, processes int) string {
	return fmt.Sprintf("fanfold, %d masters, %d processes", masters, processes)
}

// masters measures Fanfold in several processes, on one Redis and on a cluster by turns. The
// cluster has no replicas, as the single Redis has none: what a replica takes is its own.
func masters(ctx context.Context, o options, dir string, r *results) error {
	single, err := testenv.StartRedis(ctx, mkdir(dir, "single"))
	if err != nil {
		return err
	}
	defer single.Stop()
	var prefixes []string
	for _, keys := range report.DefaultKeys.Partitions(report.Redis{Partitions: clusterPartitions[len(clusterPartitions)-1]}) {
		prefixes = append(prefixes, keys.Prefix)
	}
	cluster, err := testenv.StartMasters(ctx, mkdir(dir, "cluster"), clusterMasters, prefixes...)
	if err != nil {
		return err
	}
	defer cluster.Stop()
	for round := range o.rounds {
		ids := idsOf("m", round, mastersJobs)
		for _, n := range mastersProcesses {
			for _, s := range []servers{{redis: single}, {cluster: cluster, partitions: clusterPartitions[0]}} {
				if err := onServers(ctx, s, n, ids, whatMasters, onMasters(len(s.nodes()), n), r); err != nil {
					return err
				}
			}
		}
		for _, n := range clusterPartitions {
			s := servers{cluster: cluster, partitions: n}
			if err := onServers(ctx, s, dividedProcesses, ids, whatDivided, ofPartitions(n), r); err != nil {
				return err
			}
		}
		if err := memoryOfJobs(ctx, servers{redis: single}, ids, r); err != nil {
			return err
		}
	}
	return costOfRecords(ctx, o, servers{redis: single}, mkdir(dir, "mariadb"), r)
}

// onServers measures processes on servers that are emptied before.
func onServers(ctx context.Context, s servers, processes int, ids []string, what, system string, r *results) error {
	if err := s.empty(ctx); err != nil {
		return err
	}
	p, err := startFanfolds(ctx, s, processes)
	if err != nil {
		return err
	}
	defer p.close()
	w, err := work(ctx, s, p, ids)
	if err != nil {
		return fmt.Errorf("%s: %w", system, err)
	}
	jobs := float64(len(ids))
	r.add(what, system, "jobs/s", jobs/w.took.Seconds())
	r.add(what+withCPU, system, "µs/job", float64(p.cpu().Microseconds())/jobs)
	r.add(what+withServer, system, "µs/job", 1e6*w.redis/jobs)
	r.add(what+withBusiest, system, "µs/job", 1e6*w.busiest/jobs)
	return nil
}

// memoryOfJobs measures what ids take in Redis, first as they wait and then as their jobs run.
func memoryOfJobs(ctx context.Context, s servers, ids []string, r *results) error {
	if err := s.empty(ctx); err != nil {
		return err
	}
	f, err := newFanfold(s.at(), fanfoldOptions{listeners: workerListeners})
	if err != nil {
		return err
	}
	defer f.close()
	client := s.redis.Client()
	defer client.Close()
	took := func(what string, do func() error) error {
		before, err := usedMemory(ctx, client, "used_memory")
		if err != nil {
			return err
		}
		if err := do(); err != nil {
			return err
		}
		after, err := usedMemory(ctx, client, "used_memory")
		r.add(what, "fanfold", "bytes", 1e6*(after-before)/float64(len(ids)))
		return err
	}
	if err := took(whatWaitingID, func() error { return f.push(ctx, ids) }); err != nil {
		return err
	}
	rep, err := benchReport(workerListeners)
	if err != nil {
		return err
	}
	var names []string
	for _, l := range rep.Stages[0].Listeners {
		names = append(names, l.Name)
	}
	jobs := make([]scripts.Start, len(ids))
	for i, id := range ids {
		jobs[i] = scripts.Start{ID: id, Attempt: 1, Parameters: []byte(`{"tag":"vip","from":"2024-06-01"}`), Plan: scripts.Plan{
			Report: rep.Name, Definition: rep.Hash(), Timeout: time.Hour, Listeners: strings.Join(names, ","),
		}}
	}
	return took(whatRunning, func() error {
		outcomes, err := f.partitions.First().Jobs.Start(ctx, "", jobs...)
		for _, o := range outcomes {
			if err == nil && o != scripts.OK {
				err = fmt.Errorf("start: %v", o)
			}
		}
		return err
	})
}

// costOfRecords measures what the records of jobs take in MariaDB: CPU time and bytes.
func costOfRecords(ctx context.Context, o options, s servers, dir string, r *results) error {
	m, err := testenv.StartDatabase(ctx, dir)
	if err != nil {
		return err
	}
	defer m.Stop()
	db, err := m.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	var file string
	if err := db.QueryRowContext(ctx, "SELECT @@pid_file").Scan(&file); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for round := range o.rounds {
		if err := s.empty(ctx); err != nil {
			return err
		}
		store, ids, err := filledTable(ctx, m, round, recordsJobs)
		if err != nil {
			return err
		}
		f, err := newFanfold(s.at(), fanfoldOptions{listeners: workerListeners, records: store})
		if err != nil {
			return err
		}
		before, err := clockOf(pid)
		if err == nil {
			_, err = work(ctx, s, f, ids)
		}
		f.close()
		if err != nil {
			return err
		}
		after, err := clockOf(pid)
		if err != nil {
			return err
		}
		r.add(whatRecordCPU, "fanfold", "µs/job", float64((after-before).Microseconds())/float64(len(ids)))
		schema := "bench" + strconv.Itoa(round)
		if _, err := db.ExecContext(ctx, "ANALYZE TABLE "+schema+".file_download_record"); err != nil {
			return err
		}
		var bytes float64
		if err := db.QueryRowContext(ctx, "SELECT data_length + index_length FROM information_schema.tables WHERE table_schema = ? AND table_name = 'file_download_record'", schema).Scan(&bytes); err != nil {
			return err
		}
		r.add(whatRecordRow, "fanfold", "bytes", bytes/float64(len(ids)))
	}
	return nil
}

package main

import (
	"fmt"
	"slices"
	"strings"
)

// target is a line of the table: a figure, and what Fanfold wants to reach on two cores.
type target struct {
	what, against string
	unit          string // empty: the figure is a ratio
	limit         string // ">= 3" or "<= 3"; empty: none
	value         func(f *figures) float64
}

// met tells whether a value is within the limit.
func (t target) met(value float64) bool {
	var relation string
	var limit float64
	_, _ = fmt.Sscan(t.limit, &relation, &limit)
	return relation == ">=" && value >= limit || relation == "<=" && value <= limit
}

// figures are looked up in results; those that are missing are noted.
type figures struct {
	list    []result
	missing bool
}

func (f *figures) median(what, system string) float64 {
	x, ok := find(f.list, what, system)
	f.missing = f.missing || !ok
	return x.Median
}

// over divides what was measured of one quantity and system by another one.
func over(what, system, byWhat, bySystem string) func(f *figures) float64 {
	return func(f *figures) float64 { return f.median(what, system) / f.median(byWhat, bySystem) }
}

func of(what, system string) func(f *figures) float64 {
	return func(f *figures) float64 { return f.median(what, system) }
}

const bareStreams = "streams, no guarantees"

var targets = slices.Concat([]target{
	faster(2, "RabbitMQ", ">= 3"), faster(8, "RabbitMQ", ">= 3"),
	faster(2, "asynq", ">= 3.5"), faster(8, "asynq", ">= 3.5"),
	faster(2, "BullMQ", ">= 4"), faster(8, "BullMQ", ">= 4"),
	faster(2, bareStreams, ""), faster(8, bareStreams, ""),
	cheaper("asynq"), cheaper(bareStreams),
	{"coordination, 2 listeners, records in MariaDB: jobs/s", "records in memory", "", ">= 0.8", over(coordinationOf(2), inMariaDB, coordinationOf(2), "fanfold")},
	{"one job when idle: median time", bareStreams, "", "<= 1.7", over(whatIdle+", median", "fanfold", whatIdle+", median", bareStreams)},
	{"one job when idle: p99", bareStreams, "", "<= 1.7", over(whatIdle+", p99", "fanfold", whatIdle+", p99", bareStreams)},
	{"delayed id, lateness, with events: p99", "", "ms", "<= 5", of(whatLateID+", p99", lateEvents)},
	{"delayed id, lateness, without events: p99", "", "ms", "<= 5", of(whatLateID+", p99", lateOff)},
	{"delayed job, until its listener has it: p99", "", "ms", "<= 5", of(whatDelayed+", p99", "fanfold")},
	{"join of 1M x 1M rows: time", "two dumps of the mariadb client, joined by DuckDB", "", "<= 0.8", over(oneMillion+joinJob, "fanfold", oneMillion+joinJob, joinDuckDB)},
	{"join of 1M x 1M rows: time", "two dumps of the mariadb client alone", "", "", over(oneMillion+joinJob, "fanfold", oneMillion+joinJob, joinDumps)},
	{"join of 1M x 1M rows: time", "MariaDB's own join, by its client", "", "", over(oneMillion+joinJob, "fanfold", oneMillion+joinJob, joinItself)},
	{"join of 1M x 1M rows: worst PING of another client", "the same with an idle Redis beside it", "", "<= 1.2", over(oneMillion+joinPing+", max", "fanfold", oneMillion+joinPing+", max", quietRedis)},
	{"join of 1M x 1M rows: peak memory of the process", "", "MB", "", of(oneMillion+joinMemory, "fanfold")},
	{"join of 10M x 10M rows: time", "1M x 1M", "", "<= 11", over(tenMillion+joinJob, "fanfold", oneMillion+joinJob, "fanfold")},
	{"join of 10M x 10M rows: peak memory of the process", "", "MB", "<= 512", of(tenMillion+joinMemory, "fanfold")},
	{"join of 1M x 1M rows, rows in the spool: time", "two dumps of the mariadb client, joined by DuckDB", "", "<= 0.8", over(oneMillion+joinJob, joinSpooled, oneMillion+joinJob, joinDuckDB)},
	{"join of 1M x 1M rows, rows in the spool, not compressed: time", "two dumps of the mariadb client, joined by DuckDB", "", "<= 0.8", over(oneMillion+joinJob, joinPlain, oneMillion+joinJob, joinDuckDB)},
	{"join of 1M x 1M rows, rows in the spool: worst PING of another client", "the same with an idle Redis beside it", "", "<= 1.1", over(oneMillion+joinPing+", max", joinSpooled, oneMillion+joinPing+", max", quietRedis)},
	{"join of 10M x 10M rows, rows in the spool: time", "1M x 1M", "", "<= 10.5", over(tenMillion+joinJob, joinSpooled, oneMillion+joinJob, joinSpooled)},
	{"join of 10M x 10M rows, rows in the spool, not compressed: time", "1M x 1M", "", "<= 10.5", over(tenMillion+joinJob, joinPlain, oneMillion+joinJob, joinPlain)},
	{"join of 10M x 10M rows, rows in the spool: memory of Redis beyond idle", "", "MB", "<= 16", of(tenMillion+joinRedis, joinSpooled)},
	{"join of 10M x 10M rows, rows in the spool: peak memory of the process", "", "MB", "<= 512", of(tenMillion+joinMemory, joinSpooled)},
	{"memory of Redis for a dataset", "its JSON text", "", "<= 1.3", of(oneMillion+whatDatasetRatio, datasetPlain)},
	{"memory of Redis for a dataset, with compression", "its JSON text", "", "<= 0.4", of(oneMillion+whatDatasetRatio, datasetCompressed)},
	{"XLSX of 1M x 20 cells: CPU", "CSV with gzip", "", "<= 2", over(withFormatCPU, "XLSX", withFormatCPU, "CSV, gzip")},
	{"XLSX of 1M x 20 cells: CPU", "CSV", "", "<= 2", over(withFormatCPU, "XLSX", withFormatCPU, formatCSV)},
	{"XLSX of 1M x 20 cells: peak memory of the process", "", "MB", "<= 64", of(withFormatPeak, "XLSX")},
	waitingTarget(1), waitingTarget(2), waitingTarget(3),
	{"idle engine: CPU of the process", "", "% of a core", "<= 1", of(whatIdleCPU, nothingWaits)},
	{"idle engine: CPU of Redis", "", "% of a core", "", of(whatIdleRedis, nothingWaits)},
	{"dashboard, 10,000 jobs, 50 browsers: median time of a page", "", "ms", "<= 100", of(whatPage+", median", fiftyBrowsers)},
	{"dashboard, 10,000 jobs, 50 browsers: CPU of Redis beyond that without", "", "% of a core", "<= 1", func(f *figures) float64 {
		return f.median(whatSamplerRedis, fiftyBrowsers) - f.median(whatSamplerRedis, nobodyLooks)
	}},
	busiest(1), busiest(2), busiest(4), busiest(8),
	{"four processes: jobs/s", "one process", "", "", over(whatProcesses, inProcesses(4), whatProcesses, inProcesses(1))},
	{"backlog of 100,000 ids: jobs/s", "a backlog of 10,000", "", ">= 0.9", over(whatBacklog, ofBacklog(100_000), whatBacklog, ofBacklog(10_000))},
	{"backlog of 1,000,000 ids: jobs/s", "a backlog of 10,000", "", ">= 0.9", over(whatBacklog, ofBacklog(largeBacklog), whatBacklog, ofBacklog(10_000))},
}, togetherTargets(), foldTargets(), clickTargets(), laneTargets(), protectTargets())

// foldTargets compare every fold with DuckDB, and its memory with its budget.
func foldTargets() (all []target) {
	for _, c := range foldCases {
		what := c.name + withFoldTime
		for i, limit := range []string{"<= 1", "<= 2"} {
			system := onDuckDB(i + 1)
			all = append(all, target{what, system, "", limit, over(what, "fanfold", what, system)})
		}
		all = append(all, target{c.name + withFoldMemory, "", "MB", "<= 131", of(c.name+withFoldMemory, "fanfold")})
	}
	return all
}

var oneMillion, tenMillion = joinName(joinRows), joinName(joinRowsLarge)

// faster is a target for coordination, in the same run: of the whole unit of work, with the
// fan-out, which is a part of the pushing in other systems.
func faster(listeners int, system, limit string) target {
	what := coordinationOf(listeners) + withPushing
	return target{fmt.Sprintf("coordination, %d listeners: jobs/s", listeners), system, "", limit, over(what, "fanfold", what, system)}
}

// cheaper compares the CPU of a job, of Redis and of the process together.
func cheaper(system string) target {
	cpu := func(f *figures, system string) float64 {
		return f.median(coordinationOf(2)+withCPU, system) + f.median(coordinationOf(2)+withServer, system)
	}
	return target{"coordination, 2 listeners: CPU of a job, Redis + process", system, "", "", func(f *figures) float64 {
		return cpu(f, "fanfold") / cpu(f, system)
	}}
}

// busiest compares the CPU of a job on a cluster's busiest Redis with that on a single one.
func busiest(processes int) target {
	what := whatMasters + withBusiest
	return target{fmt.Sprintf("%d masters, processes: %d: CPU of a job, busiest Redis", clusterMasters, processes), "1 master", "", "<= 0.45",
		over(what, onMasters(clusterMasters, processes), what, onMasters(1, processes))}
}

// waitingTarget asks whether what waits costs CPU, of Redis and the process together.
func waitingTarget(i int) target {
	cpu := func(f *figures, system string) float64 {
		return f.median(whatIdleCPU, system) + f.median(whatIdleRedis, system)
	}
	_, what, _ := strings.Cut(waiters[i].system, ", ")
	return target{"idle engine with " + what + ": CPU, Redis + process", "nothing waits", "", "<= 1.2", func(f *figures) float64 {
		return cpu(f, waiters[i].system) / cpu(f, nothingWaits)
	}}
}

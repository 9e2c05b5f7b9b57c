package main

import (
	"fmt"
	"strings"
)

// given stands where a figure is asked for, and no limit.
const given = "given"

// target is something that Fanfold wants to reach on two cores.
type target struct {
	what, target string
	measure      func(f *figures) (measured string, met bool)
}

// figures are looked up in results; those that are missing are noted.
type figures struct {
	list    []result
	missing []string
}

func (f *figures) get(what, system string) result {
	x, ok := find(f.list, what, system)
	if !ok {
		f.missing = append(f.missing, what+", "+system)
	}
	return x
}

func (f *figures) median(what, system string) float64 { return f.get(what, system).Median }

var targets = []target{
	faster("RabbitMQ", 4),
	faster("asynq", 4.5),
	faster("BullMQ", 6),
	faster("streams, no guarantees", 1),
	{"one job when idle, from the push to the fold, p50 / p99", "<= 1.5 ms / <= 4 ms", func(f *figures) (string, bool) {
		p50, p99 := f.median(whatIdle+", median", "fanfold"), f.median(whatIdle+", p99", "fanfold")
		return fmt.Sprintf("%s ms / %s ms", figure(p50), figure(p99)), p50 <= 1.5 && p99 <= 4
	}},
	{"coordination with records in MariaDB, against without, 2 listeners", ">= 0.6x", func(f *figures) (string, bool) {
		x := f.median(coordinationOf(2), inMariaDB) / f.median(coordinationOf(2), "fanfold")
		return times(x), x >= 0.6
	}},
	{"delayed jobs, lateness p99: of the id with events / without / until the listener has it", "<= 5 ms", func(f *figures) (string, bool) {
		return most(5, "ms", f.median(whatLateID+", p99", lateEvents), f.median(whatLateID+", p99", lateOff), f.median(whatDelayed+", p99", "fanfold"))
	}},
	{"1M x 1M join, against two dumps / against MariaDB's own join", "<= 1.3x / < 1x the time", func(f *figures) (string, bool) {
		what := joinName(joinRows) + joinJob
		took := f.median(what, "fanfold")
		dumps, itself := took/f.median(what, joinDumps), took/f.median(what, joinItself)
		return times(dumps) + " / " + times(itself), dumps <= 1.3 && itself < 1
	}},
	{"1M x 1M join, peak memory of the process", "<= 200 MB", func(f *figures) (string, bool) {
		return most(200, "MB", f.median(joinName(joinRows)+joinMemory, "fanfold"))
	}},
	{"10M x 10M join, against the time of 1M x 1M", "<= 11x", func(f *figures) (string, bool) {
		x := f.median(joinName(joinRowsLarge)+joinJob, "fanfold") / f.median(joinName(joinRows)+joinJob, "fanfold")
		return times(x), x <= 11
	}},
	{"10M x 10M join, peak memory of the process", "<= 512 MB", func(f *figures) (string, bool) {
		return most(512, "MB", f.median(joinName(joinRowsLarge)+joinMemory, "fanfold"))
	}},
	{"memory of Redis for a dataset, against its JSON text", "<= 1.3x", datasetTarget(datasetPlain, 1.3)},
	{"the same with compression", "<= 0.4x", datasetTarget(datasetCompressed, 0.4)},
	{"another client's worst PING while the 1M x 1M job runs (of a Redis that does nothing beside it)", "<= 10 ms", func(f *figures) (string, bool) {
		what := joinName(joinRows) + joinPing + ", max"
		worst, floor := f.get(what, "fanfold").Max, f.get(what, quietRedis).Max
		return fmt.Sprintf("%s ms (%s ms)", figure(worst), figure(floor)), worst <= 10
	}},
	waitingTarget(1), waitingTarget(2), waitingTarget(3),
	{"idle engine, CPU of the process", "<= 1 % of a core", func(f *figures) (string, bool) {
		return most(1, "%", f.median(whatIdleCPU, nothingWaits))
	}},
	{"idle engine, CPU of Redis, commands in a second", given, func(f *figures) (string, bool) {
		return fmt.Sprintf("%s %% of a core, %s/s", figure(f.median(whatIdleRedis, nothingWaits)), figure(f.median(whatIdleCommands, nothingWaits))), true
	}},
	{"memory of 100,000 delayed ids / timers by ZADD / by SET: in Redis, in the process", given, func(f *figures) (string, bool) {
		var parts []string
		for _, w := range waiters[1:] {
			more := f.median(whatIdleMemory, w.system) - f.median(whatIdleMemory, nothingWaits)
			parts = append(parts, fmt.Sprintf("%s MB, %s MB", figure(f.median(whatIdleData, w.system)), figure(more)))
		}
		return strings.Join(parts, " / "), true
	}},
	{"jobs/s with 1 / 2 / 4 processes", given, func(f *figures) (string, bool) {
		var parts []string
		for _, n := range processCounts {
			parts = append(parts, figure(f.median(whatProcesses, inProcesses(n))))
		}
		return strings.Join(parts, " / "), true
	}},
	{"jobs/s with a backlog of 10,000 / 1,000 / 100,000 / 1,000,000 ids", "no fall: the least >= 0.9x of the first", fall(backlogs[1], backlogs[0], backlogs[2], largeBacklog)},
}

// faster is a target for coordination, in the same run, with 2 and with 8 listeners.
func faster(system string, least float64) target {
	return target{"coordination with 2 / 8 listeners, against " + system + " (with the pushing)", fmt.Sprintf(">= %vx", least), func(f *figures) (string, bool) {
		both := func(more string) (text string, met bool) {
			two, eight := f.ratio(coordinationOf(2)+more, system), f.ratio(coordinationOf(8)+more, system)
			return times(two) + " / " + times(eight), two >= least && eight >= least
		}
		running, met := both("")
		whole, _ := both(withPushing)
		return running + " (" + whole + ")", met
	}}
}

// ratio is Fanfold's median divided by that of another system.
func (f *figures) ratio(what, system string) float64 {
	return f.median(what, "fanfold") / f.median(what, system)
}

func datasetTarget(system string, limit float64) func(f *figures) (string, bool) {
	return func(f *figures) (string, bool) {
		x := f.median(joinName(joinRows)+whatDatasetRatio, system)
		return times(x), x <= limit
	}
}

// idleNoise is a difference in CPU, in % of a core, that says nothing.
const idleNoise = 0.1

// waitingTarget asks whether what waits costs CPU.
func waitingTarget(i int) target {
	w := waiters[i]
	_, what, _ := strings.Cut(w.system, ", ")
	return target{"CPU with " + what + " waiting / with none: of the process, of Redis", "no more", func(f *figures) (string, bool) {
		process, none := f.median(whatIdleCPU, w.system), f.median(whatIdleCPU, nothingWaits)
		redis, noneRedis := f.median(whatIdleRedis, w.system), f.median(whatIdleRedis, nothingWaits)
		return fmt.Sprintf("%s %%, %s %% / %s %%, %s %% of a core", figure(process), figure(redis), figure(none), figure(noneRedis)),
			process <= none+idleNoise && redis <= noneRedis+idleNoise
	}}
}

// fall asks whether the first backlog is worked off faster than another.
func fall(counts ...int) func(f *figures) (string, bool) {
	return func(f *figures) (string, bool) {
		var parts []string
		met, first := true, f.median(whatBacklog, ofBacklog(counts[0]))
		for _, n := range counts {
			x := f.median(whatBacklog, ofBacklog(n))
			parts, met = append(parts, figure(x)), met && x >= 0.9*first
		}
		return strings.Join(parts, " / "), met
	}
}

func times(x float64) string { return figure(x) + "x" }

// most says whether all figures are within a limit.
func most(limit float64, unit string, values ...float64) (measured string, met bool) {
	met = true
	var parts []string
	for _, v := range values {
		parts, met = append(parts, figure(v)+" "+unit), met && v <= limit
	}
	return strings.Join(parts, " / "), met
}

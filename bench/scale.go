package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// mastersTable compares a single Redis with a cluster.
func mastersTable(list []result) string {
	var b strings.Builder
	b.WriteString("| processes | masters | jobs/s | CPU of the processes | CPU of all Redis | CPU of the busiest Redis | busiest, against 1 master |\n|---|---|---|---|---|---|---|\n")
	for _, n := range mastersProcesses {
		for _, m := range []int{1, clusterMasters} {
			at := func(what string) cell { return measured(list, whatMasters+what, onMasters(m, n)) }
			ratio := ""
			if m > 1 {
				ratio = at(withBusiest).over(measured(list, whatMasters+withBusiest, onMasters(1, n))).in(" x")
			}
			fmt.Fprintf(&b, "| %d | %d | %s | %s | %s | %s | %s |\n", n, m,
				at("").in(""), at(withCPU).in(" µs"), at(withServer).in(" µs"), at(withBusiest).in(" µs"), ratio)
		}
	}
	return b.String()
}

// growthTable says what a quantity is where something is small and where it is large.
func growthTable(list []result) string {
	masters := func(masters, processes int, what string) cell {
		return measured(list, whatMasters+what, onMasters(masters, processes))
	}
	divided := func(n int, what string) cell { return measured(list, whatDivided+what, ofPartitions(n)) }
	idle := func(n int, what string) cell { return measured(list, what, ofPartitions(n)) }
	last := func(of []int) int { return of[len(of)-1] }
	few, many := clusterPartitions[0], last(clusterPartitions)
	var b strings.Builder
	b.WriteString("| what grows | from | to | quantity | before | after | factor |\n|---|---|---|---|---|---|---|\n")
	for _, g := range []struct {
		what, from, to, quantity, unit string
		before, after                  cell
	}{
		{"ids that wait", "1,000", "100,000", "jobs/s", "", measured(list, whatBacklog, ofBacklog(1_000)), measured(list, whatBacklog, ofBacklog(100_000))},
		{"listeners", "2", "8", "CPU of Redis for a job", " µs", measured(list, coordinationOf(2)+withServer, "fanfold"), measured(list, coordinationOf(8)+withServer, "fanfold")},
		{"listeners", "2", "8", "CPU of the process for a job", " µs", measured(list, coordinationOf(2)+withCPU, "fanfold"), measured(list, coordinationOf(8)+withCPU, "fanfold")},
		{"rows of both tables", "1M", "10M", "time of a job", " s", measured(list, oneMillion+joinJob, "fanfold"), measured(list, tenMillion+joinJob, "fanfold")},
		{"rows of both tables", "1M", "10M", "peak memory of the process", " MB", measured(list, oneMillion+joinMemory, "fanfold"), measured(list, tenMillion+joinMemory, "fanfold")},
		{"processes, 1 master", "1", "8", "CPU of the processes for a job", " µs", masters(1, 1, withCPU), masters(1, 8, withCPU)},
		{"processes, 1 master", "1", "8", "CPU of Redis for a job", " µs", masters(1, 1, withServer), masters(1, 8, withServer)},
		{"masters, 4 processes", "1", strconv.Itoa(clusterMasters), "CPU of all Redis for a job", " µs", masters(1, 4, withServer), masters(clusterMasters, 4, withServer)},
		{"masters, 4 processes", "1", strconv.Itoa(clusterMasters), "CPU of the busiest Redis for a job", " µs", masters(1, 4, withBusiest), masters(clusterMasters, 4, withBusiest)},
		{"partitions, 3 masters", strconv.Itoa(few), strconv.Itoa(many), "CPU of all Redis for a job", " µs", divided(few, withServer), divided(many, withServer)},
		{"partitions, 3 masters", strconv.Itoa(few), strconv.Itoa(many), "CPU of the processes for a job", " µs", divided(few, withCPU), divided(many, withCPU)},
		{"partitions, idle", "1", strconv.Itoa(last(idlePartitions)), "CPU of a process", " % of a core", idle(1, whatIdleCPU), idle(last(idlePartitions), whatIdleCPU)},
		{"partitions, idle", "1", strconv.Itoa(last(idlePartitions)), "CPU of Redis", " % of a core", idle(1, whatIdleRedis), idle(last(idlePartitions), whatIdleRedis)},
		{"partitions, idle", "1", strconv.Itoa(last(idlePartitions)), "connections of a process", "", idle(1, whatIdleClients), idle(last(idlePartitions), whatIdleClients)},
	} {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", g.what, g.from, g.to, g.quantity, g.before.in(g.unit), g.after.in(g.unit), g.after.over(g.before).in(" x"))
	}
	return b.String()
}

// What the calculation of a day takes as given.
const (
	dayJobs      = 100_000_000
	dayPeak      = 4       // the busiest second against the mean
	dayUse       = 0.5     // of a core, at the peak: the other half is for failovers and slow disks
	dayRuns      = 30      // s, from the start of a job to its end
	dayData      = 100_000 // bytes of a job in Redis
	dayListeners = 2
	dayProcesses = 4 // are those whose measured CPU is taken
)

// dayTable calculates what a day of many jobs takes.
func dayTable(list []result) string {
	of := func(what string) cell {
		return measured(list, whatMasters+what, onMasters(clusterMasters, dayProcesses))
	}
	mean := known(dayJobs / 86_400.0)
	peak := mean.times(known(dayPeak))
	second := known(1e-6) // µs
	one := measured(list, whatMasters+withServer, onMasters(1, dayProcesses))
	redis, busy, process := of(withServer), of(withBusiest), of(withCPU)
	records, row := measured(list, whatRecordCPU, "fanfold"), measured(list, whatRecordRow, "fanfold")
	state, id := measured(list, whatRunning, "fanfold"), measured(list, whatWaitingID, "fanfold")
	flight := peak.times(known(dayRuns))
	processes := peak.times(process).times(second).over(known(dayUse)).up()
	last := idlePartitions[len(idlePartitions)-1]
	idle1, idleN := measured(list, whatIdleClients, ofPartitions(1)), measured(list, whatIdleClients, ofPartitions(last))
	connections := cell{(idleN.value - idle1.value) / float64(last-1), idle1.ok && idleN.ok}
	const MB = 1e-6
	var b strings.Builder
	b.WriteString("| what | calculation | result |\n|---|---|---|\n")
	for _, s := range []struct {
		what, calculation string
		result            cell
		unit              string
	}{
		{"jobs, mean", "100,000,000 / 86,400 s", mean, "/s"},
		{"jobs, peak", fmt.Sprintf("%s/s × %d", mean.in(""), dayPeak), peak, "/s"},
		{"one Redis", fmt.Sprintf("%s/s × %s µs", peak.in(""), one.in("")), peak.times(one).times(second), " cores"},
		{"masters, each at half a core", fmt.Sprintf("%s/s × %s µs / %g, rounded up", peak.in(""), redis.in(""), dayUse), peak.times(redis).times(second).over(known(dayUse)).up(), ""},
		{"the busiest of 3 masters", fmt.Sprintf("%s/s × %s µs", peak.in(""), busy.in("")), peak.times(busy).times(second), " cores"},
		{"processes, without queries", fmt.Sprintf("%s/s × %s µs", peak.in(""), process.in("")), peak.times(process).times(second), " cores"},
		{"processes, each at half a core", fmt.Sprintf("the same / %g, rounded up", dayUse), processes, ""},
		{"connections to each master, idle", fmt.Sprintf("%s processes × 3 partitions × %s / 3 masters", processes.in(""), connections.in("")), processes.times(connections), ""},
		{"jobs in flight (`limits.running_jobs`)", fmt.Sprintf("%s/s × %d s", peak.in(""), dayRuns), flight, ""},
		{"their states in Redis", fmt.Sprintf("%s × %s bytes", flight.in(""), state.in("")), flight.times(state).times(known(MB)), " MB"},
		{"their data in Redis", fmt.Sprintf("%s × %d KB", flight.in(""), dayData/1000), flight.times(known(dayData * MB)), " MB"},
		{"ids that wait after an hour at the peak", fmt.Sprintf("%s/s × 3,600 s × %s bytes", peak.in(""), id.in("")), peak.times(known(3600)).times(id).times(known(MB)), " MB"},
		{"queries of the listeners", fmt.Sprintf("%s/s × %d", peak.in(""), dayListeners), peak.times(known(dayListeners)), "/s"},
		{"row writes in MySQL", fmt.Sprintf("%s/s × 3 (insert, PROCESSING, SUCCESS)", peak.in("")), peak.times(known(3)), "/s"},
		{"CPU of MySQL for the records", fmt.Sprintf("%s/s × %s µs", peak.in(""), records.in("")), peak.times(records).times(second), " cores"},
		{"growth of the record table", fmt.Sprintf("100,000,000 × %s bytes", row.in("")), known(dayJobs).times(row).times(known(MB / 1000)), " GB a day"},
	} {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", s.what, s.calculation, s.result.in(s.unit))
	}
	return b.String()
}

// bucketJobs is the number of large jobs of the day that bucketTable calculates.
const bucketJobs = 10_000

// bucketTable calculates what a day of large jobs takes in the spool.
func bucketTable(list []result) string {
	bytes, objects := measured(list, oneMillion+joinSpool, joinSpooled), measured(list, oneMillion+joinSegments, joinSpooled)
	inRedis := measured(list, oneMillion+joinRedis, "fanfold")
	flight := known(bucketJobs / 86_400.0 * dayPeak * dayRuns)
	const GB = 1e-3 // MB
	var b strings.Builder
	b.WriteString("| what | calculation | result |\n|---|---|---|\n")
	for _, s := range []struct {
		what, calculation string
		result            cell
		unit              string
	}{
		{"written, and read", fmt.Sprintf("10,000 × %s MB", bytes.in("")), known(bucketJobs * GB).times(bytes), " GB a day"},
		{"objects", fmt.Sprintf("10,000 × %s", objects.in("")), known(bucketJobs).times(objects), " a day"},
		{"requests: write, read and delete each; list once a job", fmt.Sprintf("10,000 × (%s × 3 + 1)", objects.in("")), known(bucketJobs).times(cell{3*objects.value + 1, objects.ok}), " a day"},
		{"jobs in flight at the peak", fmt.Sprintf("10,000 / 86,400 s × %d × %d s", dayPeak, dayRuns), flight, ""},
		{"held at once", fmt.Sprintf("%s × %s MB", flight.in(""), bytes.in("")), flight.times(bytes), " MB"},
		{"memory of Redis without a spool", fmt.Sprintf("%s × %s MB", flight.in(""), inRedis.in("")), flight.times(inRedis), " MB"},
	} {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", s.what, s.calculation, s.result.in(s.unit))
	}
	return b.String()
}

// cell is a figure, if all that it depends on was measured.
type cell struct {
	value float64
	ok    bool
}

func known(n float64) cell { return cell{n, true} }

func measured(list []result, what, system string) cell {
	x, ok := find(list, what, system)
	return cell{x.Median, ok}
}

func (c cell) times(d cell) cell { return cell{c.value * d.value, c.ok && d.ok} }
func (c cell) over(d cell) cell  { return cell{c.value / d.value, c.ok && d.ok} }
func (c cell) up() cell          { return cell{math.Ceil(c.value), c.ok} }

// in writes it with a unit, and with commas between thousands.
func (c cell) in(unit string) string {
	if !c.ok {
		return "not measured"
	}
	text := figure(c.value)
	if c.value == math.Trunc(c.value) && math.Abs(c.value) < 100 {
		text = strconv.FormatFloat(c.value, 'f', 0, 64)
	}
	if whole, _, fraction := strings.Cut(text, "."); !fraction {
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "," + whole[i:]
		}
		text = whole
	}
	return text + unit
}

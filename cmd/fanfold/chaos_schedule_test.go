package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// The kinds of faults. CHAOS_FAULTS names those that are on; all are by default.
const (
	faultCrash   = "crash"   // kill -9 of a worker before or after one call to a server
	faultKill    = "kill"    // kill -9 of a worker at any time
	faultTerm    = "term"    // a worker is asked to stop
	faultZombie  = "zombie"  // SIGSTOP of a worker beyond its lease
	faultRedis   = "redis"   // kill -9 of a redis-server, and its restart
	faultFreeze  = "freeze"  // SIGSTOP of a redis-server
	faultFlush   = "flush"   // FLUSHALL
	faultMySQL   = "mysql"   // MariaDB is stopped or killed, and started
	faultSink    = "sink"    // the sink answers 503 and 412, hangs, cuts, loses answers
	faultLatency = "latency" // answers of a server come late, for one worker
	faultCut     = "cut"     // the connections of one worker to a server break; new ones are refused
	faultHalf    = "half"    // half-open: what one worker and a server send is swallowed
	faultDouble  = "double"  // entries come twice
	faultCancel  = "cancel"  // somebody cancels a job

	faultHandOver = "handover" // a replica of a master that is well is promoted
	faultApart    = "apart"    // a master is cut off from other servers, and not from its clients
	faultSlot     = "slot"     // the slot of a partition moves to another master
)

// faultKinds are those of a kind of Redis.
func faultKinds(redis string) []string {
	kinds := []string{
		faultCrash, faultKill, faultTerm, faultZombie, faultRedis, faultFreeze, faultFlush,
		faultMySQL, faultSink, faultLatency, faultCut, faultHalf, faultDouble, faultCancel,
	}
	if redis != redisAlone {
		kinds = append(kinds, faultHandOver, faultApart)
	}
	if redis == redisCluster {
		kinds = append(kinds, faultSlot)
	}
	return kinds
}

// fault is one entry of a schedule.
type fault struct {
	kind   string
	at     time.Duration // after the begin of the storm
	lasts  time.Duration
	worker int    // for those that happen to one worker
	server string // for those that happen between one worker and a server
}

func (f fault) String() string {
	text := fmt.Sprintf("%.1fs %s", f.at.Seconds(), f.kind)
	switch f.kind {
	case faultKill, faultTerm, faultZombie:
		text += fmt.Sprintf(" w%d", f.worker)
	case faultLatency, faultCut, faultHalf:
		text += fmt.Sprintf(" w%d-%s", f.worker, f.server)
	}
	if f.lasts > 0 {
		text += fmt.Sprintf(" for %.1fs", f.lasts.Seconds())
	}
	return text
}

// relays are what a worker reaches through relays of its own. The servers of a set tell clients
// their addresses, so workers reach these directly.
func relays(redis string) []string {
	if redis == redisAlone {
		return []string{"redis", "mysql", "sink"}
	}
	return []string{"mysql", "sink"}
}

// schedule makes the faults of one round from its seed alone: one about every
// half second, and each kind that is on at least once.
func schedule(seed uint64, kinds, servers []string, storm time.Duration) []fault {
	random := rand.New(rand.NewPCG(seed, 1))
	weights := map[string]int{
		faultKill: 4, faultTerm: 2, faultZombie: 4, faultRedis: 2, faultFreeze: 1, faultFlush: 1, faultMySQL: 2,
		faultSink: 4, faultLatency: 4, faultCut: 5, faultHalf: 4, faultCancel: 4,
		faultHandOver: 2, faultApart: 2, faultSlot: 2,
	}
	var deck []string // crash and double go on all the time
	for _, k := range kinds {
		deck = append(deck, slices.Repeat([]string{k}, weights[k])...)
	}
	if len(deck) == 0 {
		return nil
	}
	seconds := func(least, most float64) time.Duration {
		return time.Duration((least + random.Float64()*(most-least)) * float64(time.Second)).Round(100 * time.Millisecond)
	}
	var list []fault
	add := func(kind string) {
		f := fault{kind: kind, at: seconds(0.5, storm.Seconds()), worker: random.IntN(len(crew)), server: servers[random.IntN(len(servers))]}
		switch kind {
		case faultZombie:
			f.lasts = lease + seconds(0.3, 2.5)
		case faultRedis, faultMySQL:
			f.lasts = seconds(0, 2)
		case faultSink:
			f.lasts = seconds(1, 3)
		case faultLatency, faultHalf, faultFreeze, faultApart:
			f.lasts = seconds(0.5, 4)
		case faultCut:
			f.lasts = seconds(0, 1)
		}
		list = append(list, f)
	}
	for _, k := range slices.Compact(slices.Clone(deck)) {
		add(k)
	}
	for len(list) < int(storm/(500*time.Millisecond)) {
		add(deck[random.IntN(len(deck))])
	}
	slices.SortStableFunc(list, func(a, b fault) int { return int(a.at - b.at) })
	return list
}

// crash says at which call a worker's life ends.
type crash struct {
	step  string // such as "redis complete"
	after bool   // with the answer held back: the effect has happened, and nobody said so
	skip  int    // how many such calls go well
	calls int    // where the step does not come: at this call, whatever it is
}

// steps are the calls at which workers crash, as taps name them.
var steps = []string{
	"redis start", "redis take", "redis append", "redis complete", "redis claim", "redis advance",
	"redis publish", "redis settle", "redis ack", "redis move", "redis delay", "redis fail",
	"redis keepalive", "redis due", "redis xreadgroup", "redis xclaim",
	"mysql select record", "mysql update record", "mysql listener", "mysql commit",
	"sink POST", "sink GET", "sink DELETE",
}

// stepsAt are the steps that relays see.
func stepsAt(servers []string) (seen []string) {
	for _, s := range steps {
		if server, _, _ := strings.Cut(s, " "); slices.Contains(servers, server) {
			seen = append(seen, s)
		}
	}
	return seen
}

// crashOf gives the crash of a worker's n-th life. The lives of all workers go
// through all steps, in an order that the seed makes.
func crashOf(seed uint64, steps []string, worker, life int) crash {
	deck := rand.New(rand.NewPCG(seed, 2)).Perm(2 * len(steps))
	card := deck[(worker+life*len(crew))%len(deck)]
	random := rand.New(rand.NewPCG(seed, uint64(1000+worker)<<32|uint64(life)))
	return crash{
		step: steps[card/2], after: card%2 == 1,
		skip: random.IntN(15), calls: 300 + random.IntN(900),
	}
}

// scheduleText prints a schedule, several faults in a line.
func scheduleText(list []fault) string {
	var lines []string
	for some := range slices.Chunk(list, 6) {
		var texts []string
		for _, f := range some {
			texts = append(texts, f.String())
		}
		lines = append(lines, strings.Join(texts, "; "))
	}
	return strings.Join(lines, "\n  ")
}

package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// The kinds of faults. CHAOS_FAULTS names those that are on; all are by default.
const (
	faultCrash   = "crash"   // kill -9 of a worker before or after one call to a server
	faultKill    = "kill"    // kill -9 of a worker at any time
	faultTerm    = "term"    // SIGTERM of a worker
	faultZombie  = "zombie"  // SIGSTOP of a worker beyond its lease
	faultRedis   = "redis"   // kill -9 of a redis-server, and its restart
	faultFreeze  = "freeze"  // SIGSTOP of a redis-server
	faultFlush   = "flush"   // FLUSHALL
	faultFull    = "full"    // a redis-server has no memory left
	faultMySQL   = "mysql"   // MariaDB is stopped or killed, and started
	faultSink    = "sink"    // the sink answers 503 and 412, hangs, cuts connections, loses answers
	faultLatency = "latency" // answers of a server to one worker are delayed
	faultCut     = "cut"     // the connections of one worker to a server break; new ones are refused
	faultHalf    = "half"    // half-open connections: data between one worker and a server is lost
	faultDouble  = "double"  // entries are duplicated
	faultCancel  = "cancel"  // a job is cancelled
	faultSegment = "segment" // segments of the spool vanish, are cut short, or have another byte
	faultDisk    = "disk"    // a worker cannot write large files: the disk of its spool is full

	faultHandOver = "handover" // a replica of a healthy master is promoted
	faultApart    = "apart"    // a master is cut off from the other servers, but not from its clients
	faultSlot     = "slot"     // the slot of a partition moves to another master
)

// faultKinds returns the kinds of faults for a kind of Redis.
func faultKinds(redis string) []string {
	kinds := []string{
		faultCrash, faultKill, faultTerm, faultZombie, faultRedis, faultFreeze, faultFlush, faultFull,
		faultMySQL, faultSink, faultLatency, faultCut, faultHalf, faultDouble, faultCancel, faultSegment, faultDisk,
	}
	if redis != e2e.Alone {
		kinds = append(kinds, faultHandOver, faultApart)
	}
	if redis == e2e.Cluster {
		kinds = append(kinds, faultSlot)
	}
	return kinds
}

// incident is one entry of a schedule.
type incident struct {
	kind   string
	at     time.Duration // since the start of the storm
	lasts  time.Duration
	worker int    // for faults of one worker
	server string // for faults between one worker and a server
}

func (f incident) String() string {
	text := fmt.Sprintf("%.1fs %s", f.at.Seconds(), f.kind)
	switch f.kind {
	case faultKill, faultTerm, faultZombie, faultDisk:
		text += fmt.Sprintf(" w%d", f.worker)
	case faultLatency, faultCut, faultHalf:
		text += fmt.Sprintf(" w%d-%s", f.worker, f.server)
	}
	if f.lasts > 0 {
		text += fmt.Sprintf(" for %.1fs", f.lasts.Seconds())
	}
	return text
}

// relays returns the servers that a worker reaches through its own relays. The servers of a set
// tell clients their addresses, so workers reach these directly.
func relays(redis string) []string {
	if redis == e2e.Alone {
		return []string{"redis", "mysql", "sink"}
	}
	return []string{"mysql", "sink"}
}

// schedule computes the faults of one round from its seed alone: about one every half second, and
// every enabled kind at least once.
func schedule(seed uint64, kinds, servers []string, storm time.Duration) []incident {
	random := rand.New(rand.NewPCG(seed, 1))
	weights := map[string]int{
		faultKill: 4, faultTerm: 2, faultZombie: 4, faultRedis: 2, faultFreeze: 1, faultFlush: 1, faultFull: 2, faultMySQL: 2,
		faultSink: 4, faultLatency: 4, faultCut: 5, faultHalf: 4, faultCancel: 4, faultSegment: 4, faultDisk: 2,
		faultHandOver: 2, faultApart: 2, faultSlot: 2,
	}
	var deck []string // crash and double happen all the time
	for _, k := range kinds {
		deck = append(deck, slices.Repeat([]string{k}, weights[k])...)
	}
	if len(deck) == 0 {
		return nil
	}
	seconds := func(least, most float64) time.Duration {
		return time.Duration((least + random.Float64()*(most-least)) * float64(time.Second)).Round(100 * time.Millisecond)
	}
	var list []incident
	add := func(kind string) {
		f := incident{kind: kind, at: seconds(0.5, storm.Seconds()), worker: random.IntN(len(crew)), server: servers[random.IntN(len(servers))]}
		switch kind {
		case faultZombie:
			f.lasts = lease + seconds(0.3, 2.5)
		case faultRedis, faultMySQL:
			f.lasts = seconds(0, 2)
		case faultSink, faultSegment:
			f.lasts = seconds(1, 3)
		case faultDisk: // some of them longer than a commit is tried again
			f.lasts = seconds(2, 7)
		case faultLatency, faultHalf, faultFreeze, faultFull, faultApart:
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
	slices.SortStableFunc(list, func(a, b incident) int { return int(a.at - b.at) })
	return list
}

// crash says at which call a worker is killed.
type crash struct {
	step  string // such as "redis complete"
	after bool   // at the answer: the effect has happened, and the worker does not learn of it
	skip  int    // number of such calls before the crash
	calls int    // if the step does not happen: at this call, whatever it is
}

// steps are the calls at which workers crash, by the names that taps give them.
var steps = []string{
	"redis start", "redis take", "redis append", "redis segment", "redis complete", "redis reopen", "redis claim", "redis advance",
	"redis publish", "redis settle", "redis ack", "redis move", "redis delay", "redis fail",
	"redis keepalive", "redis due", "redis xreadgroup", "redis xclaim",
	"mysql select record", "mysql update record", "mysql listener", "mysql commit",
	"sink POST", "sink GET", "sink DELETE",
}

// stepsAt returns the steps that relays see.
func stepsAt(servers []string) (seen []string) {
	for _, s := range steps {
		if server, _, _ := strings.Cut(s, " "); slices.Contains(servers, server) {
			seen = append(seen, s)
		}
	}
	return seen
}

// crashOf returns the crash of a worker's n-th process. The processes of all workers cover all
// steps, in an order that depends on the seed.
func crashOf(seed uint64, steps []string, worker, life int) crash {
	deck := rand.New(rand.NewPCG(seed, 2)).Perm(2 * len(steps))
	card := deck[(worker+life*len(crew))%len(deck)]
	random := rand.New(rand.NewPCG(seed, uint64(1000+worker)<<32|uint64(life)))
	return crash{
		step: steps[card/2], after: card%2 == 1,
		skip: random.IntN(15), calls: 300 + random.IntN(900),
	}
}

// scheduleText formats a schedule, with several faults in a line.
func scheduleText(list []incident) string {
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

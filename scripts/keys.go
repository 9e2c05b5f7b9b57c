package scripts

import (
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// Keys names everything that Fanfold has in one partition of Redis: a field for a key that exists once,
// a method for one of many.
type Keys struct {
	report.Keys
	sourceKeys
	turnKeys
	tallyKeys

	// Wake is the string with a TTL that ends at the next deadline.
	Wake string
	// Jobs is the stream into which services push ids.
	Jobs string
	// Delayed is the sorted set of ids and steps that are due later.
	Delayed string
	// FanIn is the stream of jobs whose barrier was reached or that are to end.
	FanIn string
	// FanInLarge is the stream of those whose data is large, of which a process folds a few at once.
	FanInLarge string
	// Reply is the stream of the messages of external services about their tasks.
	Reply string
	// Deadlines is the sorted set of running jobs.
	Deadlines string
	// Contenders is the sorted set of the jobs that have competed for a full Redis: id → start of the
	// first attempt.
	Contenders string
	// Full is the string that exists for a minute after a job was preempted: Redis counts as full.
	Full string
	// Dead is the sorted set of failed jobs.
	Dead string
	// Quarantined is the capped stream of entries that cannot be used.
	Quarantined string
	// Audit is the capped stream of what people did, in the first partition.
	Audit string
	// Events is the capped stream of transitions.
	Events string
	// Holds is the hash of what people hold back: source/<name>, listener/<name> or report/<name> is paused, and
	// limit/source/<name> or limit/report/<name> has another limit → since and until when (ms), who, the reason and the
	// limit, as JSON.
	Holds string
	// Cancelled is the channel to which the ids of cancelled jobs are published.
	Cancelled string
	// Timers is the sorted set of timers: name → when it fires.
	Timers string
	// PausedTimers is the sorted set of timers that are paused: name → when it
	// would fire.
	PausedTimers string
	// RecentTimers is the sorted set of timers whose keys Fanfold deleted itself in the last
	// minute: name → time.
	RecentTimers string
	// TimerAnchors is the hash of timers that are due on a day without their time of day, or in
	// a month without their day: name → due, and the time from which their periods count.
	TimerAnchors string
	// Schedules is the hash of reports with schedules: report → versions of them that processes have, and names
	// of the timers that are set.
	Schedules string
	// Fired is the stream of timers that have fired and whose action is to be done.
	Fired string
	// Finished is the stream of ended jobs whose services are to be notified, as firings.
	Finished string
	// ReplyTo is the hash of the ids whose pushes want receipts: id → streams of services.
	ReplyTo string
	// WaitingFired is the sorted set of firings of both streams whose action is retried later:
	// name, due time, lateness and tries → when.
	WaitingFired string
	// Epoch is the string that identifies the memory of this Redis.
	Epoch string
	// Installation is the string that names the installation which the keys belong to.
	Installation string
	// Snapshot is the string with the version of the last snapshot in MySQL: an older copy of Redis has
	// an older one.
	Snapshot string
	// Definitions is the sorted set of the definitions that processes have: <report>/<hash>
	// → when a process last reported it.
	Definitions string
	// Processes is the sorted set of the processes that run: process → when it last reported.
	Processes string
	// Once is the hash of the ids that share a run with others, or may: id → digest of its group.
	Once string
	// Fallbacks is the sorted set of the jobs that have left datasets for later ones: id → when the last one
	// expires.
	Fallbacks string
	// Session is the string with the secret that seals sessions of people, in the first partition.
	Session string
	// Version is the string with the version of the state in this partition (see package stored).
	Version string
}

// sourceKeys names the keys of sources, in the first partition.
type sourceKeys struct{ prefix string }

// turnKeys names the keys of lanes and their turns.
type turnKeys struct {
	// Lanes is the hash of the ids that wait for a turn or have a slot, with lanes: id → which of these, since
	// when, order, stride, class, lane and ask.
	Lanes string
	// LaneTags is the sorted set of the queues that are not in the rotation: class and lane → tag.
	LaneTags string
	// LaneAsks is the sorted set of the waiting ids of reports of which a person's newest one counts.
	LaneAsks string
	// Next is the stream of the ids that have had their turn.
	Next string
}

// tallyKeys names the counters of what has happened.
type tallyKeys struct {
	// TallyCursor is the string that says up to where the events are counted.
	TallyCursor string
}

// NewKeys returns the keys with these prefixes.
func NewKeys(k report.Keys) *Keys {
	p := k.Prefix
	return &Keys{
		Keys: k, sourceKeys: sourceKeys{p}, turnKeys: turnKeys{
			Lanes: p + "lanes", LaneTags: p + "lanes:tags", LaneAsks: p + "lanes:asks", Next: p + "next",
		}, tallyKeys: tallyKeys{p + "tally"},

		Wake:         p + "wake",
		Jobs:         p + "jobs",
		Delayed:      p + "delayed",
		FanIn:        p + "fanin",
		FanInLarge:   p + "fanin:large",
		Reply:        p + "reply",
		Deadlines:    p + "deadlines",
		Contenders:   p + "contenders",
		Full:         p + "full",
		Dead:         p + "dead",
		Quarantined:  p + "quarantine",
		Audit:        p + "audit",
		Events:       p + "events",
		Holds:        p + "holds",
		Cancelled:    p + "cancelled",
		Timers:       p + "timers",
		PausedTimers: p + "timers:paused",
		RecentTimers: p + "timers:recent",
		TimerAnchors: p + "timers:anchors",
		Schedules:    p + "schedules",
		Fired:        p + "fired",
		Finished:     p + "finished",
		ReplyTo:      p + "reply_to",
		WaitingFired: p + "fired:later",
		Epoch:        p + "incarnation",
		Installation: p + "installation",
		Snapshot:     p + "snapshot",
		Definitions:  p + "definitions",
		Processes:    p + "processes",
		Once:         p + "once",
		Fallbacks:    p + "fallbacks",
		Session:      p + "session",
		Version:      p + "version",
	}
}

// Job is the hash of a job: its state, its counters and its data.
func (k *Keys) Job(id string) string { return k.Hash + id }

// Ended is the tombstone of a job: a string that says for a minute how it ended.
func (k *Keys) Ended(id string) string { return k.Hash + id + ":ended" }

// Kept is the hash of the datasets that a job has left which ended without a file.
func (k *Keys) Kept(id string) string { return k.Hash + id + ":kept" }

// Good is the hash of the datasets that a job with a file has left for later jobs.
func (k *Keys) Good(id string) string { return k.Hash + id + ":good" }

// Fallback is the string with the id of the last job that has left datasets of a report for parameters of this
// digest.
func (k *Keys) Fallback(report, digest string) string {
	return k.Prefix + "fallback:" + report + "/" + digest
}

// Task is the stream of a listener's work.
func (k *Keys) Task(listener string) string { return k.Prefix + "task:" + listener }

// Waiting is the sorted set of the ids that wait for a report that is paused: id →
// since when.
func (k *Keys) Waiting(report string) string { return k.Prefix + "waiting:" + report }

// Running is the sorted set of the running jobs of a report with a limit of them: id → when its slot
// expires.
func (k *Keys) Running(report string) string { return k.Prefix + "running:" + report }

// Group is the hash of jobs that share a run: its leader, and its last file.
func (k *Keys) Group(digest string) string { return k.Prefix + "once:" + digest }

// ClassWaiting is the sorted set of the ids of a class that wait for a turn, with score 0: lane, order and id.
func (k turnKeys) ClassWaiting(class string) string { return k.Lanes + ":waiting:" + class }

// ClassRunning is the sorted set of the ids of a class that have a slot, with score 0: lane and id.
func (k turnKeys) ClassRunning(class string) string { return k.Lanes + ":running:" + class }

// ClassTurns is the sorted set of the queues of a class that may have a turn: lane → tag.
func (k turnKeys) ClassTurns(class string) string { return k.Lanes + ":turns:" + class }

// Counters is the hash of what happened in a time, by the name of its level and its number.
func (k tallyKeys) Counters(level string, number int64) string {
	return k.TallyCursor + ":" + level + ":" + strconv.FormatInt(number, 10)
}

// Timer is the string with a TTL that a service sets for a timer.
func (k *Keys) Timer(name string) string { return k.Prefix + "timer:" + name }

// Lock is the string of a lock.
func (k *Keys) Lock(what string) string { return k.Prefix + "lock:" + what }

// EndedSession is the string that says that a session was ended before its time.
func (k *Keys) EndedSession(id string) string { return k.Session + ":" + id }

// Rate is the string that says when the next call of a source with a rate limit is.
func (k sourceKeys) Rate(source string) string { return k.prefix + "rate:" + source }

// Slots is the sorted set of the tasks that have a slot of a source.
func (k sourceKeys) Slots(source string) string { return k.prefix + "parallel:" + source }

// SlotQueue is the sorted set of the tasks that wait for a slot of a source: since when.
func (k sourceKeys) SlotQueue(source string) string { return k.Slots(source) + ":queue" }

// SlotAsked is the sorted set of the tasks that wait for a slot of a source: when they last asked for one.
func (k sourceKeys) SlotAsked(source string) string { return k.Slots(source) + ":asked" }

// Health is the hash with what was last measured of a source.
func (k sourceKeys) Health(source string) string { return k.prefix + "health:" + source }

// Pause is the hash with the time until which nobody calls a source, because it is busy.
func (k sourceKeys) Pause(source string) string { return k.prefix + "busy:" + source }

// Canary is the string with a TTL whose expiry proves that a subscriber receives events.
func (k *Keys) Canary(consumer string) string { return k.Prefix + "canary:" + consumer }

// Type returns the type that a key must have, as TYPE names it; empty: Fanfold has no key of this
// name.
func (k *Keys) Type(key string) string {
	if id, ok := strings.CutPrefix(key, k.Hash); ok {
		if strings.HasSuffix(id, ":ended") {
			return "string"
		}
		return "hash"
	}
	switch key {
	case k.Jobs, k.Next, k.FanIn, k.FanInLarge, k.Reply, k.Fired, k.Finished, k.Quarantined, k.Events,
		k.Audit:
		return "stream"
	case k.Delayed, k.Deadlines, k.Contenders, k.Dead, k.Timers, k.PausedTimers, k.RecentTimers,
		k.WaitingFired, k.Definitions, k.Processes, k.LaneTags, k.LaneAsks, k.Fallbacks:
		return "zset"
	case k.TimerAnchors, k.Schedules, k.ReplyTo, k.Once, k.Lanes, k.Holds:
		return "hash"
	case k.Epoch, k.Version, k.Installation, k.Snapshot, k.Wake, k.Full, k.TallyCursor, k.Session:
		return "string"
	}
	switch {
	case strings.HasPrefix(key, k.Task("")):
		return "stream"
	case strings.HasPrefix(key, k.Group("")) && !strings.HasSuffix(key, ":waiting"):
		return "hash"
	case strings.HasPrefix(key, k.Group("")), strings.HasPrefix(key, k.Waiting("")),
		strings.HasPrefix(key, k.Slots("")),
		strings.HasPrefix(key, k.Running("")), strings.HasPrefix(key, k.ClassWaiting("")),
		strings.HasPrefix(key, k.ClassRunning("")), strings.HasPrefix(key, k.ClassTurns("")):
		return "zset"
	case strings.HasPrefix(key, k.Timer("")), strings.HasPrefix(key, k.Lock("")), strings.HasPrefix(key, k.Rate("")),
		strings.HasPrefix(key, k.Canary("")), strings.HasPrefix(key, k.Prefix+"fallback:"),
		strings.HasPrefix(key, k.EndedSession("")):
		return "string"
	case strings.HasPrefix(key, k.Health("")), strings.HasPrefix(key, k.Pause("")),
		strings.HasPrefix(key, k.TallyCursor+":"):
		return "hash"
	}
	return ""
}

// HoldsWork tells whether a key holds work that is due later or entries for people, which no record has.
func (k *Keys) HoldsWork(key string) bool {
	switch key {
	case k.Jobs, k.Next, k.Delayed, k.Holds, k.Timers, k.PausedTimers, k.TimerAnchors, k.Fired, k.Finished,
		k.ReplyTo, k.WaitingFired, k.Dead, k.Quarantined:
		return true
	}
	return strings.HasPrefix(key, k.Waiting("")) || strings.HasPrefix(key, k.ClassWaiting("")) ||
		strings.HasPrefix(key, k.Timer(""))
}

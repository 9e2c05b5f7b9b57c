package scripts

import (
	"strings"

	"github.com/fanfold/fanfold/report"
)

// Keys names everything that Fanfold has in Redis.
type Keys report.Keys

// Job is the hash of a job: its state, its counters and its data.
func (k Keys) Job(id string) string { return k.Hash + id }

// Ended is the tombstone of a job: a string that says for a minute how it ended.
func (k Keys) Ended(id string) string { return k.Hash + id + ":ended" }

// Wake is the string with a TTL that ends at the next deadline.
func (k Keys) Wake() string { return k.Prefix + "wake" }

// Jobs is the stream into which services push ids.
func (k Keys) Jobs() string { return k.Prefix + "jobs" }

// Delayed is the sorted set of ids and steps that are due later.
func (k Keys) Delayed() string { return k.Prefix + "delayed" }

// Task is the stream of a listener's work.
func (k Keys) Task(listener string) string { return k.Prefix + "task:" + listener }

// FanIn is the stream of jobs whose barrier was reached or that are to end.
func (k Keys) FanIn() string { return k.Prefix + "fanin" }

// FanInLarge is the stream of those whose data is large, of which a process folds a few at once.
func (k Keys) FanInLarge() string { return k.Prefix + "fanin:large" }

// Reply is the stream of what external services have to say of their tasks.
func (k Keys) Reply() string { return k.Prefix + "reply" }

// Deadlines is the sorted set of running jobs.
func (k Keys) Deadlines() string { return k.Prefix + "deadlines" }

// Contenders is the sorted set of the jobs that have competed for a full Redis: id → start of the
// first attempt.
func (k Keys) Contenders() string { return k.Prefix + "contenders" }

// Full is the string that exists for a minute after a job was preempted: since then Redis counts as
// full.
func (k Keys) Full() string { return k.Prefix + "full" }

// Dead is the sorted set of failed jobs.
func (k Keys) Dead() string { return k.Prefix + "dead" }

// Quarantined is the capped stream of entries that cannot be used.
func (k Keys) Quarantined() string { return k.Prefix + "quarantine" }

// Events is the capped stream of transitions.
func (k Keys) Events() string { return k.Prefix + "events" }

// PausedSet is the sorted set of what is paused: listener/<name> or report/<name> →
// since when.
func (k Keys) PausedSet() string { return k.Prefix + "paused" }

// Waiting is the sorted set of the ids that wait for a report that is paused: id →
// since when.
func (k Keys) Waiting(report string) string { return k.Prefix + "waiting:" + report }

// Running is the sorted set of the running jobs of a report that has a limit of them: id → when its
// place ends if nobody gives it back.
func (k Keys) Running(report string) string { return k.Prefix + "running:" + report }

// Cancelled is the channel that tells of jobs as they are cancelled: the message is the
// id.
func (k Keys) Cancelled() string { return k.Prefix + "cancelled" }

// Timers is the sorted set of timers: name → when it fires.
func (k Keys) Timers() string { return k.Prefix + "timers" }

// PausedTimers is the sorted set of timers that are paused: name → when it
// would fire.
func (k Keys) PausedTimers() string { return k.Prefix + "timers:paused" }

// RecentTimers is the sorted set of timers whose keys Fanfold deleted itself in the last
// minute: name → time.
func (k Keys) RecentTimers() string { return k.Prefix + "timers:recent" }

// TimerAnchors is the hash of timers that are due on a day without their time of day, or in
// a month without their day: name → due, and the time from which their periods count.
func (k Keys) TimerAnchors() string { return k.Prefix + "timers:anchors" }

// Timer is the string with a TTL that a service sets for a timer.
func (k Keys) Timer(name string) string { return k.Prefix + "timer:" + name }

// Fired is the stream of timers that have fired and whose action is to be done.
func (k Keys) Fired() string { return k.Prefix + "fired" }

// Finished is the stream of jobs that have ended, of which services are to be told, as firings.
func (k Keys) Finished() string { return k.Prefix + "finished" }

// ReplyTo is the hash of the ids whose pushes want receipts: id → streams of services.
func (k Keys) ReplyTo() string { return k.Prefix + "reply_to" }

// WaitingFired is the sorted set of firings of both streams whose action is to be tried later:
// name, due time, lateness and tries → when.
func (k Keys) WaitingFired() string { return k.Prefix + "fired:later" }

// Epoch is the string that a Redis which has lost its memory has lost, too.
func (k Keys) Epoch() string { return k.Prefix + "incarnation" }

// Installation is the string that names the installation which the keys belong to.
func (k Keys) Installation() string { return k.Prefix + "installation" }

// Snapshot is the string with the version of the last snapshot in MySQL that Redis knows
// of: an older copy of Redis knows an older one.
func (k Keys) Snapshot() string { return k.Prefix + "snapshot" }

// Lock is the string of a lock.
func (k Keys) Lock(what string) string { return k.Prefix + "lock:" + what }

// Rate is the string that says when the next call of a source with a rate limit is.
func (k Keys) Rate(source string) string { return k.Prefix + "rate:" + source }

// Slots is the sorted set of the tasks that have a slot of a source.
func (k Keys) Slots(source string) string { return k.Prefix + "parallel:" + source }

// Canary is the string with a TTL whose expiry proves that a subscriber receives events.
func (k Keys) Canary(consumer string) string { return k.Prefix + "canary:" + consumer }

// Type returns the type that a key must have, as TYPE names it; empty: Fanfold has no key of this
// name.
func (k Keys) Type(key string) string {
	if id, ok := strings.CutPrefix(key, k.Hash); ok {
		if strings.HasSuffix(id, ":ended") {
			return "string"
		}
		return "hash"
	}
	switch key {
	case k.Jobs(), k.FanIn(), k.FanInLarge(), k.Reply(), k.Fired(), k.Finished(), k.Quarantined(), k.Events():
		return "stream"
	case k.Delayed(), k.Deadlines(), k.Contenders(), k.Dead(), k.PausedSet(), k.Timers(), k.PausedTimers(), k.RecentTimers(), k.WaitingFired(), k.Definitions(), k.Processes():
		return "zset"
	case k.TimerAnchors(), k.ReplyTo():
		return "hash"
	case k.Epoch(), k.Version(), k.Installation(), k.Snapshot(), k.Wake(), k.Full():
		return "string"
	}
	switch {
	case strings.HasPrefix(key, k.Task("")):
		return "stream"
	case strings.HasPrefix(key, k.Waiting("")), strings.HasPrefix(key, k.Slots("")), strings.HasPrefix(key, k.Running("")):
		return "zset"
	case strings.HasPrefix(key, k.Timer("")), strings.HasPrefix(key, k.Lock("")), strings.HasPrefix(key, k.Rate("")), strings.HasPrefix(key, k.Canary("")):
		return "string"
	}
	return ""
}

// HoldsWork tells whether a key holds what is to be done later, or is kept for people: what no
// record knows.
func (k Keys) HoldsWork(key string) bool {
	switch key {
	case k.Jobs(), k.Delayed(), k.PausedSet(), k.Timers(), k.PausedTimers(), k.TimerAnchors(), k.Fired(), k.Finished(), k.ReplyTo(), k.WaitingFired(), k.Dead(), k.Quarantined():
		return true
	}
	return strings.HasPrefix(key, k.Waiting("")) || strings.HasPrefix(key, k.Timer(""))
}

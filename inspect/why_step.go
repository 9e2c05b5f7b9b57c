package inspect

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// Missed is how long something may be overdue before the scheduler counts as missing.
const Missed = 5 * time.Second

// Remedies if no process has a role.
const (
	SchedulerMissing = "start fanfold serve --roles scheduler, or look at its log"
	engineMissing    = "start fanfold serve --roles engine, or look at its log"
	listenersMissing = "start fanfold serve --roles listeners --listeners {name}, or check the --listeners of the running processes and their logs"
)

// step has the facts of an open step of a job, a listener's task or fan-in, and the answer.
type step struct {
	part // Next is the score in the delayed set, which people can change
	*facts
	answer

	queue    queue
	maxTries int              // 0: unknown or unlimited
	listener *report.Listener // nil: fan-in, or unknown
	away     error            // why its source does not answer; nil: it does
}

// newStep collects the facts of a step and applies the rules.
func newStep(f *facts, p part) step {
	s := step{part: p, facts: f, queue: f.Queues[p.Name]}
	silence := f.Limits.Lease // after which the worker of an entry counts as dead
	back := f.retry(p.Name)
	if back != nil && back.Due != nil {
		s.Next = *back.Due
	}
	if s.fold() {
		if r := f.definition(); r != nil && !f.Job.committed() {
			s.maxTries = r.Retry.Retries + 1
		}
	} else if l := f.listenerOf(p.Name); l != nil {
		s.listener, s.away, s.maxTries = l, f.Sources[l.Source], l.Retry.Retries+1
		if l.Kind == report.External {
			silence = l.Silence
		}
	}
	e := s.queue.Entry
	// The state names an owner only after a takeover, or after a while. Before that, the pending
	// list of the stream has the owner and the lease.
	if e != nil && e.Consumer != "" && s.Lease.IsZero() {
		s.Owner, s.Lease, s.Tries = cmp.Or(s.Owner, e.Consumer), f.Now.Add(silence-e.Idle), max(s.Tries, 1)
		if s.Taken.IsZero() {
			s.Taken = scripts.EntryTime(e.ID)
		}
	}
	k := s.known(back != nil)
	if k.holds("retries") {
		s.Tries++
	}
	k.is["tries"], k.text["tries"] = s.Tries != 0, integer(s.Tries)
	s.answer = k.answer(stepRule)
	return s
}

// known names the facts of the step, for the rules; back: it is in the delayed set.
func (s *step) known(back bool) *known {
	e, now, l := s.queue.Entry, s.Now, s.listener
	since, paused := s.Paused[scripts.PausedListener(s.Name)]
	refuses := errors.Is(s.away, fault.Login)
	slots, holders, holds := s.slots()
	k := &known{outer: s.outer()}
	k.is = map[string]bool{
		"fold": s.fold(), "owner": s.Owner != "", "lease-over": now.After(s.Lease), "back": back, "next": !s.Next.IsZero(), "past-due": now.Sub(s.Next) > Missed,
		"entry": e != nil, "whole": s.queue.Whole, "error": s.Error != "", "for-other": s.Waits != "", "listener-paused": paused,
		"blames-records": s.Blame == job.BlameRecords, "blames-sink": s.Blame == job.BlameSink, "source-refuses": refuses, "source-away": s.away != nil && !refuses,
		"alone-in": s.live(s.queue) == 0, "tries-max": s.maxTries != 0, "taken": !s.Taken.IsZero(), "rows": s.Rows > 0,
		"bounded": slots > 0, "slots-full": slots > 0 && len(holders) >= slots, "has-slot": holds, "slots-used": len(holders) > 0,
		"blames-slots": s.Blame == job.BlameSlots, "blames-rate": s.Blame == job.BlameRate, "blames-tasks": s.Blame == job.BlameTasks,
		"external": l != nil && l.Kind == report.External,
	}
	k.text = map[string]string{
		"name": s.Name, "title": title(s.Name), "owner": s.Owner, "error": s.Error, "waits": s.Waits, "rows": integer(s.Rows), "tries-max": strconv.Itoa(s.maxTries),
		"next": words.When(s.Next, now), "lease-over": words.Short(now.Sub(s.Lease)), "taken": words.Short(now.Sub(s.Taken)), "paused-since": words.Stamp(since),
		"stream": s.queue.Key, "stream-in-shell": shell(s.queue.Key), "length": integer(s.queue.Length), "workers": strconv.Itoa(s.live(s.queue)),
		"stream-searched": integer(s.queue.Searched), "source-error": text(s.away), "lost-every": scripts.LostEvery.String(), "lost-jobs": strconv.Itoa(scripts.LostJobs),
	}
	k.text["slots"], k.text["slots-used"], k.text["holders"] = strconv.Itoa(slots), strconv.Itoa(len(holders)), jobsOf(holders)
	k.at = map[string]time.Time{"poll": {}, "next": s.Next, "takeover": now.Add(s.Limits.Lease), "timeout": s.timesOut()}
	if k.holds("comes") {
		k.at["poll"] = s.Next
	}
	if e != nil {
		k.is["ahead"], k.text["entries-before"] = e.Ahead > 0, integer(e.Ahead)
	}
	if l != nil {
		words := s.Bounds[l.Source]
		k.text["source-name"], k.text["source-noun"], k.text["source-section"] = l.Source, words.Noun, words.Section
		k.text["source-work"] = strings.ReplaceAll(words.Work, "{source}", l.Source)
	}
	return k
}

// slots returns the limit of tasks of the step's source (0: none), the tasks that have a slot, and
// whether this one has.
func (s *step) slots() (limit int, holders []scripts.Holder, holds bool) {
	if s.listener == nil {
		return 0, nil, false
	}
	holders = s.Holders[s.listener.Source]
	return s.Bounds[s.listener.Source].Parallel, holders, slices.ContainsFunc(holders, func(h scripts.Holder) bool {
		return h.ID == s.ID && h.Attempt == s.Job.Attempt && h.Listener == s.Name
	})
}

// MaxHolders is the maximum number of jobs that have a slot and are named.
const MaxHolders = 5

// jobsOf names the jobs of tasks, without duplicates.
func jobsOf(holders []scripts.Holder) string {
	var ids []string
	for _, h := range holders {
		if !slices.Contains(ids, h.ID) {
			ids = append(ids, h.ID)
		}
	}
	switch more := len(ids) - MaxHolders; {
	case len(ids) == 1:
		return "job " + ids[0]
	case more > 0:
		return "jobs " + strings.Join(ids[:MaxHolders], ", ") + " and " + words.Count(more, "other")
	}
	return "jobs " + strings.Join(ids, ", ")
}

// timesOut returns when the running query ends at the latest; zero: that is not known, or it is none.
func (s *step) timesOut() time.Time {
	if l := s.listener; l != nil && s.Bounds[l.Source].Timed && l.Timeout > 0 && !s.Taken.IsZero() {
		return s.Taken.Add(l.Timeout)
	}
	return time.Time{}
}

// fold reports whether the step is fan-in.
func (s *step) fold() bool { return s.Name == job.StepFanIn }

// public returns the step as a verdict shows it.
func (s *step) public() Step {
	return Step{
		Name: s.Name, Kind: s.kind, Says: s.says, Try: s.Tries, Tries: s.maxTries, Owner: s.Owner,
		Since: s.Taken, Lease: s.Lease, Next: s.Next, Error: s.Error,
	}
}

// title returns the name of a step in a sentence.
func title(step string) string {
	if step == job.StepFanIn {
		return "fan-in"
	}
	return step
}

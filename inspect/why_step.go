package inspect

import (
	"cmp"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// Missed is how long something may be due before a scheduler is missed.
const Missed = 5 * time.Second

// What to do when no process does the work of a role.
const (
	SchedulerMissing = "start fanfold serve --roles scheduler, or look at its log"
	engineMissing    = "start fanfold serve --roles engine, or look at its log"
	listenersMissing = "start fanfold serve --roles listeners, or look at its log"
)

// step is what was found of one step of a job that is not done, the task of a listener or
// fan-in, and what keeps it. The two differ in nouns alone.
type step struct {
	part // Next is as its member of the delayed set says, which people can change
	*facts
	answer

	queue    queue
	maxTries int              // 0: not known here, or without limit
	listener *report.Listener // nil: of fan-in, or not known here
	away     error            // why its source does not answer from here; nil: it does
}

// newStep collects what was found of a step, and judges it.
func newStep(f *facts, p part) step {
	s := step{part: p, facts: f, queue: f.Queues[p.Name]}
	silence := f.Limits.Lease // after which a worker that has read an entry counts as dead
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
	// The state has an owner only once a step was taken over, or has taken a while; before
	// that the pending list of its stream says whose it is, and until when.
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

// known names what was found of a step, for the rules; back: it is in the delayed set.
func (s *step) known(back bool) *known {
	e, now, l := s.queue.Entry, s.Now, s.listener
	since, paused := s.Paused[scripts.PausedListener(s.Name)]
	refuses := mysqldb.Refused(s.away)
	k := &known{outer: s.outer()}
	k.is = map[string]bool{
		"fold": s.fold(), "owner": s.Owner != "", "lease-over": now.After(s.Lease), "back": back, "next": !s.Next.IsZero(), "past-due": now.Sub(s.Next) > Missed,
		"entry": e != nil, "whole": s.queue.Whole, "error": s.Error != "", "for-other": s.Waits != "", "listener-paused": paused,
		"blames-records": s.Blame == job.BlameRecords, "blames-sink": s.Blame == job.BlameSink, "source-refuses": refuses, "source-away": s.away != nil && !refuses,
		"alone-in": s.live(s.queue) == 0, "tries-max": s.maxTries != 0, "taken": !s.Taken.IsZero(), "rows": s.Rows > 0,
		"api": l != nil && l.Kind == report.FromHTTP, "external": l != nil && l.Kind == report.External,
	}
	k.text = map[string]string{
		"name": s.Name, "title": title(s.Name), "owner": s.Owner, "error": s.Error, "waits": s.Waits, "rows": integer(s.Rows), "tries-max": strconv.Itoa(s.maxTries),
		"next": When(s.Next, now), "lease-over": Short(now.Sub(s.Lease)), "taken": Short(now.Sub(s.Taken)), "paused-since": Stamp(since),
		"stream": s.queue.Key, "stream-in-shell": shell(s.queue.Key), "length": integer(s.queue.Length), "workers": strconv.Itoa(s.live(s.queue)),
		"stream-searched": integer(s.queue.Searched), "source-error": text(s.away), "lost-every": scripts.LostEvery.String(), "lost-jobs": strconv.Itoa(scripts.LostJobs),
	}
	k.at = map[string]time.Time{"next": s.Next, "takeover": now.Add(s.Limits.Lease)}
	if e != nil {
		k.text["entries-before"] = integer(e.Ahead)
	}
	if l != nil {
		k.text["source-name"] = l.Source
	}
	return k
}

// fold tells whether it is fan-in.
func (s *step) fold() bool { return s.Name == job.StepFanIn }

// public is what a verdict tells of a step.
func (s *step) public() Step {
	return Step{
		Name: s.Name, Kind: s.kind, Says: s.says, Try: s.Tries, Tries: s.maxTries, Owner: s.Owner,
		Since: s.Taken, Lease: s.Lease, Next: s.Next, Error: s.Error,
	}
}

// title is the name of a step in a sentence.
func title(step string) string {
	if step == job.StepFanIn {
		return "fan-in"
	}
	return step
}

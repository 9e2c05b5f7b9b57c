package inspect

import (
	"cmp"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// missed is how long something may be due before a scheduler is missed.
const missed = 5 * time.Second

// What to do when no process does the work of a role.
const (
	SchedulerMissing = "start fanfold serve --roles scheduler, or look at its log"
	engineMissing    = "start fanfold serve --roles engine, or look at its log"
	listenersMissing = "start fanfold serve --roles listeners, or look at its log"
)

// severity has the kinds of steps. Of the steps of a job, the one whose kind comes first is
// the worst.
var severity = []Kind{
	KindNoDefinition, KindRecordsAway, KindSourceRefuses, KindSourceAway, KindPaused, KindNoScheduler, KindNoWorker, KindWorkerDead,
	KindSinkFails, KindRetryWaiting, KindLost, KindQueued, KindWaiting, KindRunning, KindEnding, KindFolding,
}

// step is what was found of one step of a job that is not done, the task of a listener or
// fan-in, and what keeps it. The two differ in nouns alone.
type step struct {
	part // Next is as its member of the delayed set says, which people can change
	*facts
	answer

	phase    phase
	queue    queue
	maxTries int              // 0: not known here, or without limit
	listener *report.Listener // nil: of fan-in, or not known here
	away     error            // why its source does not answer from here; nil: it does
	missing  string           // what to do when no process reads the stream
}

// phase is where a step stands.
type phase int

const (
	held      phase = iota // a worker has it and renews its lease
	expired                // the lease of its worker has ended
	vanished               // the same, and its entry is gone
	handed                 // a process without its definition has handed it back
	later                  // its next try has a time
	forgotten              // the same, and nothing brings it back
	unread                 // its entry is in the stream
	unseen                 // its entry is not among those that were searched
	absent                 // nothing leads to it
)

// newStep collects what was found of a step, and judges it.
func newStep(f *facts, p part) step {
	s := step{part: p, facts: f, queue: f.Queues[p.Name], missing: listenersMissing}
	silence := f.Limits.Lease // after which a worker that has read an entry counts as dead
	back := f.retry(p.Name)
	if back != nil && back.Due != nil {
		s.Next = *back.Due
	}
	if s.fold() {
		s.missing = engineMissing
		if r := f.definition(); r != nil && !f.Job.committed() {
			s.maxTries = r.Retry.Retries + 1
		}
	} else if l := f.listenerOf(p.Name); l != nil {
		s.listener, s.away, s.maxTries = l, f.Sources[l.Source], l.Retry.Retries+1
		if l.Kind == report.External {
			silence, s.missing = l.Silence, "start the service that reads "+s.queue.Key+", or look at its log"
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
	gone := e == nil && s.queue.Whole && back == nil
	switch {
	case s.Owner != "" && !f.Now.After(s.Lease):
		s.phase = held
	case s.Owner != "" && gone:
		s.phase = vanished
	case s.Owner != "":
		s.phase = expired
	case e == nil && !gone && !s.Next.IsZero() && s.Error == "" && s.Waits == "":
		s.phase = handed
	case !s.Next.IsZero() && gone:
		s.phase = forgotten
	case !s.Next.IsZero() && e == nil:
		s.phase = later
	case e != nil:
		s.phase = unread
	case !s.queue.Whole:
		s.phase = unseen
	default:
		s.phase = absent
	}
	if s.retries() {
		s.Tries++
	}
	s.answer = s.judge()
	return s
}

// judge says what keeps a step.
func (s *step) judge() answer {
	next, try, send := When(s.Next, s.Now), s.try(), []string{s.send()}
	failed := "it failed and is tried again " + next + try + ": " + s.Error
	tried := after("; the last try failed: ", s.Error)
	before, again, attempt := tried, "it is tried again "+next+try, fmt.Sprintf("try %d of %s", s.Tries, title(s.Name))
	if s.Waits != "" {
		before, again, attempt = "; it waits for "+s.Waits, "it waits for "+s.Waits+"; the next poll is "+next, "the next poll of "+title(s.Name)
	}
	tryNow := "fanfold delay run " + s.ID + " tries it now"
	paused, isPaused := s.paused()
	// comes: its next try will come, and begin.
	alone, comes := s.live(s.queue) == 0, s.comes()
	switch {
	case s.orphan():
		return answer{kind: KindNoDefinition, says: "it waits for a process with that definition" + tried}
	case s.retries() && s.Blame == job.BlameRecords:
		return answer{kind: KindRecordsAway, says: failed, do: []string{tryNow + "; fanfold doctor checks the records' database"}, at: s.Next, then: attempt}
	case s.phase == held && mysqldb.Refused(s.away):
		return answer{kind: KindSourceRefuses, says: fmt.Sprintf("worker %s has it, and %s refuses the login from here: %v", s.Owner, s.source(), s.away), do: s.correct()}
	case comes && mysqldb.Refused(s.away):
		return answer{kind: KindSourceRefuses, says: fmt.Sprintf("%s refuses the login from here (%v); %s", s.source(), s.away, again), do: s.correct(), at: s.Next, then: attempt}
	case s.phase == held && s.away != nil:
		return answer{kind: KindSourceAway, says: fmt.Sprintf("worker %s has it, and %s does not answer from here: %v", s.Owner, s.source(), s.away)}
	case comes && s.away != nil:
		return answer{kind: KindSourceAway, says: fmt.Sprintf("%s does not answer from here (%v); %s", s.source(), s.away, again), do: []string{tryNow}, at: s.Next, then: attempt}
	case isPaused:
		return answer{kind: KindPaused, says: "the listener is paused since " + Stamp(paused), do: []string{"fanfold resume listener " + s.Name}}
	case s.overdue():
		return answer{kind: KindNoScheduler, says: "its next try was due " + next + ", and no scheduler has moved it" + before, do: []string{SchedulerMissing}}
	case s.phase == handed:
		return answer{kind: KindNoWorker, says: "a process without its definition has handed it back; it is offered again " + next,
			do: []string{"keep a process with the old configuration until its jobs are done"}}
	case alone && s.phase >= unread:
		return answer{kind: KindNoWorker, says: fmt.Sprintf("no worker reads %s, which has %d entries", s.queue.Key, s.queue.Length), do: []string{s.missing}}
	case s.phase == expired:
		a := answer{kind: KindWorkerDead, says: s.took() + ": its lease ended " + Short(s.Now.Sub(s.Lease)) + " ago"}
		if alone {
			a.more, a.do = []string{"No worker reads " + s.queue.Key + " that could take it over."}, []string{s.missing}
		} else {
			a.at, a.then = s.Now.Add(s.Limits.Lease), "by then another worker takes it over"
		}
		return a
	case s.retries() && s.Blame == job.BlameSink:
		return answer{kind: KindSinkFails, says: failed, do: []string{tryNow + "; fanfold doctor checks the sink"}, at: s.Next, then: attempt}
	case s.retries():
		return answer{kind: KindRetryWaiting, says: failed, do: []string{tryNow}, at: s.Next, then: attempt}
	case s.phase == vanished:
		return answer{kind: KindLost, says: s.took() + ", and its entry is not in " + s.queue.Key + " any more: Redis has lost the message", do: send}
	case s.phase == forgotten:
		return answer{kind: KindLost, says: fmt.Sprintf("its next try was due %s, and is neither in %s nor in %s any more%s", next, s.Keys.Delayed(), s.queue.Key, before), do: send}
	case s.phase == absent:
		return answer{kind: KindLost, says: fmt.Sprintf("it is neither in %s nor in %s: Redis has lost the message", s.queue.Key, s.Keys.Delayed()), do: send}
	case s.phase == unread:
		return answer{kind: KindQueued, says: fmt.Sprintf("%d %s are before it in %s, with %d workers", s.queue.Entry.Ahead, s.others(), s.queue.Key, s.live(s.queue))}
	case s.phase == unseen:
		return answer{kind: KindQueued, says: fmt.Sprintf("at least %d %s are before it in %s", s.queue.Searched, s.others(), s.queue.Key)}
	case comes:
		return answer{kind: KindWaiting, says: again, do: []string{"fanfold delay run " + s.ID + " polls now"}, at: s.Next, then: attempt}
	case !s.fold():
		return answer{kind: KindRunning, says: s.works() + tried}
	case s.Job.failing():
		return answer{kind: KindEnding, says: "worker " + s.Owner + " is ending the job: " + s.Job.Reason}
	}
	return answer{kind: KindFolding, says: "worker " + s.Owner + " is making the file" + try + tried}
}

// fold tells whether it is fan-in.
func (s *step) fold() bool { return s.Name == job.StepFanIn }

// overdue tells whether its next try should have come.
func (s *step) overdue() bool {
	return (s.phase == later || s.phase == handed) && s.Now.Sub(s.Next) > missed
}

// comes tells whether its next try will come, and begin.
func (s *step) comes() bool {
	_, paused := s.paused()
	return s.phase == later && !s.overdue() && !paused
}

// retries tells whether its next try will come after one that failed.
func (s *step) retries() bool { return s.comes() && s.Waits == "" }

// paused tells since when its listener is paused, unless a worker continues it.
func (s *step) paused() (since time.Time, paused bool) {
	since, paused = s.Paused[scripts.PausedListener(s.Name)]
	return since, paused && s.phase != held
}

// try says which try it is, and of how many.
func (s *step) try() string {
	switch {
	case s.Tries == 0:
		return ""
	case s.maxTries == 0:
		return fmt.Sprintf(" (try %d)", s.Tries)
	}
	return fmt.Sprintf(" (try %d of %d)", s.Tries, s.maxTries)
}

// took says who had it and is dead.
func (s *step) took() string {
	ago := ""
	if !s.Taken.IsZero() {
		ago = " " + Short(s.Now.Sub(s.Taken)) + " ago"
	}
	return "worker " + s.Owner + " took it" + ago + s.try() + " and is dead"
}

// works says what the worker does that has the task.
func (s *step) works() string {
	does, rows := "its query runs for ", ""
	switch {
	case s.listener != nil && s.listener.Kind == report.FromHTTP:
		does = "it asks API " + s.listener.Source + ", for "
	case s.listener != nil && s.listener.Kind == report.External:
		does = "it runs for "
	}
	does += Short(s.Now.Sub(s.Taken))
	if s.listener != nil && s.listener.Kind == report.FromHTTP {
		does += " so far"
	}
	if s.Rows > 0 {
		rows = fmt.Sprintf("; %d rows so far", s.Rows)
	}
	return does + s.try() + ", with worker " + s.Owner + rows
}

func (s *step) others() string {
	if s.fold() {
		return "jobs"
	}
	return "tasks"
}

// source names what the listener asks.
func (s *step) source() string {
	if s.listener.Kind == report.FromHTTP {
		return "API " + s.listener.Source
	}
	return "database " + s.listener.Source
}

func (s *step) correct() []string {
	return []string{"correct the DSN of " + s.source() + " or its account, and start the processes again where the DSN has changed"}
}

// send says how a lost message is sent again.
func (s *step) send() string {
	return fmt.Sprintf("%s XADD %s '*' id %s attempt %d does it at once; otherwise a scheduler does, within %s per %d running jobs",
		s.CLI, shell(s.queue.Key), s.ID, s.Job.Attempt, scripts.LostEvery, scripts.LostJobs)
}

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

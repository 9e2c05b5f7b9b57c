package inspect

import (
	"cmp"
	"time"

	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// missed is how long something may be due before a scheduler is missed.
const missed = 5 * time.Second

// What to do when no process does the work of a role.
const (
	schedulerMissing = "start fanfold serve --roles scheduler, or look at its log"
	engineMissing    = "start fanfold serve --roles engine, or look at its log"
	listenersMissing = "start fanfold serve --roles listeners, or look at its log"
)

// stepFacts are what was found of one step of a job that is not done: the task of a
// listener, or fan-in. The two differ in nouns alone.
type stepFacts struct {
	part // Next is as its member of the delayed set says, which people can change
	*facts

	phase    phase
	queue    queue
	maxTries int              // 0: not known here, or without limit
	listener *report.Listener // nil: of fan-in, or not known here
	away     error            // why its source does not answer from here; nil: it does
	silence  time.Duration    // after which a worker that has read an entry counts as dead
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

// newStep collects what was found of a step.
func newStep(f *facts, p part) *stepFacts {
	s := &stepFacts{part: p, facts: f, queue: f.Queues[p.Name], silence: f.Limits.Lease, missing: listenersMissing}
	back := f.retry(p.Name)
	if back != nil && back.Due != nil {
		s.part.Next = *back.Due
	}
	gone := s.queue.Entry == nil && s.queue.Whole && back == nil
	if s.fold() {
		s.missing = engineMissing
		if r := f.definition(); r != nil && !f.Job.committed() {
			s.maxTries = r.Retry.Retries + 1
		}
	} else if l := f.listenerOf(p.Name); l != nil {
		s.listener, s.away, s.maxTries = l, f.Sources[l.Source], l.Retry.Retries+1
		if l.Kind == report.External {
			s.silence, s.missing = l.Silence, "start the service that reads "+s.queue.Key+", or look at its log"
		}
	}
	s.hold()
	p = s.part
	switch e := s.queue.Entry; {
	case p.Owner != "" && !f.Now.After(p.Lease):
		s.phase = held
	case p.Owner != "" && gone:
		s.phase = vanished
	case p.Owner != "":
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
	return s
}

// hold fills in what the pending list of its stream says: whose it is, and until when. The
// state has an owner only once a step was taken over, or has taken a while.
func (s *stepFacts) hold() {
	e := s.queue.Entry
	if e == nil || e.Consumer == "" || !s.Lease.IsZero() {
		return
	}
	s.Owner, s.Lease, s.Tries = cmp.Or(s.Owner, e.Consumer), s.Now.Add(s.silence-e.Idle), max(s.Tries, 1)
	if s.Taken.IsZero() {
		s.Taken = entryTime(e.ID)
	}
}

// fold tells whether it is fan-in.
func (s *stepFacts) fold() bool { return s.Name == scripts.StepFanIn }

// overdue tells whether its next try should have come.
func (s *stepFacts) overdue() bool {
	return (s.phase == later || s.phase == handed) && s.Now.Sub(s.Next) > missed
}

// comes tells whether its next try will come, and begin.
func (s *stepFacts) comes() bool {
	return s.phase == later && !s.overdue() && s.pausedSince().IsZero()
}

// retries tells whether its next try will come after one that failed.
func (s *stepFacts) retries() bool { return s.comes() && s.Waits == "" }

// pausedSince is since when its listener is paused; zero where it is not, or where a
// worker continues it.
func (s *stepFacts) pausedSince() time.Time {
	if s.phase == held {
		return time.Time{}
	}
	return s.Paused[scripts.PausedListener(s.Name)]
}

// refused tells whether its database answers and refuses the login.
func (s *stepFacts) refused() bool { return mysqldb.Refused(s.away) }

// alone tells whether its stream has no reader.
func (s *stepFacts) alone() bool { return s.live(s.queue) == 0 }

// takeover is when another worker takes it over, at the latest.
func (s *stepFacts) takeover() time.Time { return s.Now.Add(s.Limits.Lease) }

// next is when its next try comes.
func (s *stepFacts) next() time.Time { return s.Next }

// title is the name of a step in a sentence.
func title(step string) string {
	if step == scripts.StepFanIn {
		return "fan-in"
	}
	return step
}

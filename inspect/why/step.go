package why

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// step has the facts of an open step of a job, a listener's task or fan-in, and the answer.
type step struct {
	inspect.Part // Next is the score in the delayed set, which people can change
	*facts
	answer
	names *known

	queue    queue
	isBack   bool            // it is in the delayed set
	maxTries int             // 0: unknown or unlimited
	listener report.Listener // zero: fan-in, or unknown
	source   report.Source   // of the listener
}

// newStep collects the facts of a step and applies the rules.
func newStep(f *facts, p inspect.Part) *step {
	s := &step{Part: p, facts: f, queue: f.Queues[p.Name]}
	silence := f.Limits.Lease // after which the worker of an entry counts as dead
	back := f.retry(p.Name)
	if s.isBack = back != nil; s.isBack && back.Due != nil {
		s.Next = *back.Due
	}
	if s.isFold() {
		if r := f.definition(); r != nil && !f.Job.Committed() {
			s.maxTries = r.Retry.Retries + 1
		}
	} else if l := f.listenerOf(p.Name); l != nil {
		s.listener, s.source, s.maxTries = *l, f.Sources[l.Source], l.Retry.Retries+1
		s.source.Parallel = f.Holds.Limit(scripts.PausedSource(l.Source), s.source.Parallel)
		if l.Kind == report.External {
			silence = l.Silence
		}
	}
	// The state names an owner only after a takeover, or after a while. Before that, the pending
	// list of the stream has the owner and the lease.
	if e := s.queue.Entry; e != nil && e.Consumer != "" && s.Lease.IsZero() {
		s.Owner, s.Lease, s.Tries = cmp.Or(s.Owner, e.Consumer), f.Now.Add(silence-e.Idle), max(s.Tries, 1)
		if s.Taken.IsZero() {
			s.Taken = scripts.EntryTime(e.ID)
		}
	}
	s.names = &known{scopes: []scope{subject[*step]{s, &ofStep}, subject[*facts]{f, &ofBoth}}}
	if s.names.holds("retries") {
		s.Tries++
	}
	s.answer = s.names.answer(stepRules)
	return s
}

// isFold reports whether the step is fan-in.
func (s *step) isFold() bool { return s.Name == job.StepFanIn }

// away returns why the source of the listener does not answer; nil: it does.
func (s *step) away() error { return s.Away[s.listener.Source] }

// stoppedBy returns the pause of the listener or its source; empty: there is none.
func (s *step) stoppedBy() string { return s.Holds.Stops(s.Name, s.listener.Source) }

// pausedTitle names what is paused.
func (s *step) pausedTitle() string {
	if what := s.stoppedBy(); what != scripts.PausedListener(s.Name) {
		return inspect.HoldTitle(s.Sources, what)
	}
	return "the listener"
}

// holders returns the tasks that have a slot of the source.
func (s *step) holders() []scripts.Holder { return s.Holders[s.listener.Source] }

// hasSlot reports whether the step has a slot of its source.
func (s *step) hasSlot() bool { return slices.ContainsFunc(s.holders(), s.is) }

// is reports whether a task is this step.
func (s *step) is(h scripts.Holder) bool {
	return h.ID == s.ID && h.Attempt == s.Job.Attempt && h.Listener == s.Name
}

// before returns how many tasks have waited longer for a slot of the source; -1: the step does not wait in line.
func (s *step) before() int { return slices.IndexFunc(s.Line[s.listener.Source], s.is) }

// maxHolders is the maximum number of jobs that have a slot and are named.
const maxHolders = 5

// holderNames names the jobs that have a slot of the source.
func (s *step) holderNames() string {
	var ids []string
	for _, h := range s.holders() {
		if !slices.Contains(ids, h.ID) {
			ids = append(ids, h.ID)
		}
	}
	switch more := len(ids) - maxHolders; {
	case len(ids) == 1:
		return "job " + ids[0]
	case more > 0:
		return "jobs " + strings.Join(ids[:maxHolders], ", ") + " and " + words.Count(more, "other")
	}
	return "jobs " + strings.Join(ids, ", ")
}

// timesOut returns when the running try ends at the latest; zero: that is not known, or it has no end.
func (s *step) timesOut() time.Time {
	if !s.source.Timed || s.listener.Timeout == 0 || s.Taken.IsZero() {
		return time.Time{}
	}
	return s.Taken.Add(s.listener.Timeout)
}

// public returns the step as a verdict shows it.
func (s *step) public() Step {
	return Step{
		Name: s.Name, Kind: s.kind, Says: s.says, Try: s.Tries, Tries: s.maxTries, Owner: s.Owner,
		Since: s.Taken, Lease: s.Lease, Next: s.Next, Error: s.Error,
	}
}

package why

import (
	"slices"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// facts are what is known about an id, without any judgement. If a server is away, its facts
// are missing.
type facts struct {
	ID        string
	CLI       string // redis-cli with the options that reach this Redis
	Keys      *scripts.Keys
	Limits    report.Limits
	Now       time.Time // of Redis, or of this machine if Redis is away
	RedisErr  error
	RecordErr error
	Record    *engine.Record    // nil: no such row
	Report    *report.Report    // of the record or the job; nil: not in the configuration
	Job       *inspect.State    // nil: Redis has no state
	JobErr    error             // the key of the state contains something else
	Delayed   []inspect.Delayed // the id's members of the delayed set, by due time
	Running   int64             // jobs, in all processes
	Memory    int               // percent of what Redis may use
	Contender bool              // it competes for a full Redis
	Limited   bool              // it waits until a job of its report ends
	Stopped   stopped           // running jobs that need what is paused
	Leader    string            // it waits for the file of this job; empty: for none
	LeaderErr error             // it is not known whether it waits for one
	Place     *scripts.Place    // in the queue of its lane; nil: it does not wait there
	Jobs      queue
	Queues    map[string]queue            // by open step
	Away      map[string]error            // of the sources of open listeners; nil: the source answers
	Sources   map[string]report.Source    // by name
	Holders   map[string][]scripts.Holder // tasks that have a slot, by source with a limit
	Line      map[string][]scripts.Holder // tasks that wait in line for one, those that have waited longest first
	Seen      scripts.Seen                // which definitions processes have
	Holds     scripts.Holds               // on sources, listeners and reports
	Dead      time.Time                   // when it was listed as dead; zero: it is not listed

	Kept *inspect.Kept // what its job has left for the next attempt; nil: nothing

	Quarantined     *inspect.Quarantined // nil: not in the searched part of the quarantine
	QuarantineWhole bool                 // the whole quarantine was searched
}

// stopped are running jobs with tasks of what is paused.
type stopped struct {
	What string // is paused: source/<name> or listener/<name>; of several, the one that most jobs need
	Jobs int    // that still need it
	Of   int    // running jobs
}

// runs reports whether the job runs, according to Redis and the record.
func (f *facts) runs() bool {
	if f.RedisErr != nil || f.Job == nil || !f.Job.Runs() {
		return false
	}
	return f.Record == nil || f.Record.Attempt == f.Job.Attempt && f.Record.ID == f.ID && !f.Record.Status.Final()
}

// open returns the steps that the job waits for.
func (f *facts) open() []inspect.Part {
	if f.Job == nil {
		return nil
	}
	return f.Job.Open()
}

// streams returns the keys of the streams that can contain the message of a step.
func (f *facts) streams(step string) []string {
	if step == job.StepFanIn {
		return []string{f.Keys.FanInLarge, f.Keys.FanIn}
	}
	return []string{f.Keys.Task(step)}
}

// definition returns the report that the job was started with; nil if this configuration has
// another definition of it, or none.
func (f *facts) definition() *report.Report {
	if f.Job != nil && f.Job.Of(f.Report) {
		return f.Report
	}
	return nil
}

// listenerOf returns the definition of a listener of the job; nil if it is not known here.
func (f *facts) listenerOf(name string) *report.Listener {
	if r := f.definition(); r != nil {
		if l, _, ok := r.Listener(name); ok {
			return l
		}
	}
	return nil
}

// openSources returns the sources of the open listeners.
func (f *facts) openSources() []string {
	var names []string
	for _, p := range f.open() {
		if l := f.listenerOf(p.Name); l != nil && l.Source != "" {
			names = append(names, l.Source)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// orphan reports whether processes run, and none has the definition of the job.
func (f *facts) orphan() bool {
	return f.Job != nil && f.Now.Before(f.Job.Deadline) && f.Job.Orphan(f.Report, f.Seen)
}

// retry returns the member of the delayed set that retries a step; nil if none exists.
func (f *facts) retry(step string) *inspect.Delayed {
	return f.member(func(of string) bool { return of == step || step == job.StepFanIn && of == job.StepRecord })
}

// push returns the member of the delayed set that pushes the id or polls its record; nil if none
// exists.
func (f *facts) push() *inspect.Delayed {
	return f.member(func(of string) bool { return of == "" || of == job.StepTrigger })
}

func (f *facts) member(is func(step string) bool) *inspect.Delayed {
	if i := slices.IndexFunc(f.Delayed, func(d inspect.Delayed) bool { return is(d.Step()) }); i >= 0 {
		return &f.Delayed[i]
	}
	return nil
}

// silence is after how long without a sign a consumer counts as gone. A live one polls every
// second, or renews its lease three times before it ends.
func (f *facts) silence() time.Duration { return max(f.Limits.Lease, 3*time.Second) }

// live returns the number of live consumers of a stream.
func (f *facts) live(q queue) (n int) {
	for _, c := range q.Consumers {
		if c.Idle < f.silence() {
			n++
		}
	}
	return n
}

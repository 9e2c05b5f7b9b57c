package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler"
	"github.com/fanfold/fanfold/scripts"
)

// severity orders the kinds of steps: the first that a step has is the job's.
var severity = []Kind{KindRecordsAway, KindSourceRefuses, KindSourceAway, KindPaused, KindNoScheduler, KindNoWorker, KindWorkerDead, KindSinkFails, KindRetryWaiting, KindLost, KindQueued, KindWaiting, KindBarrier, KindRunning, KindFolding, KindEnding}

// judgeJob judges a job that has a state.
func (f *facts) judgeJob(v *Verdict) {
	s := f.State
	for _, name := range f.openSteps() {
		var st Step
		if name == scripts.StepFanIn {
			st = f.judgeFold(v)
		} else {
			st = f.judgeTask(v, name)
		}
		v.Steps = append(v.Steps, st)
		if st.remedy != "" && !slices.Contains(v.Remedies, st.remedy) {
			v.Remedies = append(v.Remedies, st.remedy)
		}
	}
	if len(v.Steps) == 0 {
		v.Kind, v.Summary = KindEnding, "All listeners are done, and the job is on its way to fan-in."
	} else {
		worst := slices.MinFunc(v.Steps, func(a, b Step) int { return slices.Index(severity, a.Kind) - slices.Index(severity, b.Kind) })
		v.Kind = worst.Kind
		v.Summary = f.summary(v, worst)
	}
	if s.Status != scripts.StatusFailing && s.Status != scripts.StatusPublishing && f.Now.Sub(s.Deadline) > missed {
		v.Kind = KindNoScheduler
		v.Summary = fmt.Sprintf("Its deadline was %s, and no scheduler has failed it.", When(s.Deadline, f.Now))
		v.Remedies = append(v.Remedies, schedulerMissing)
	}
	switch {
	case f.Orphan():
		f.judgeOrphan(v)
	case f.definition() == nil:
		v.Details = append(v.Details, "It runs with a definition of its report that this configuration does not have: only a process that has it goes on with it.")
	}
	if r := f.definition(); r != nil && r.DeadlineWaits && v.Kind == KindPaused {
		v.Details = append(v.Details, "Its deadline moves by the time of the pause.")
	}
	f.addDeadline(v)
}

// member names the definition of the state in the set of definitions.
func (f *facts) member() string {
	return scripts.DefinitionMember(f.State.Report, f.State.Definition)
}

// orphan tells whether no process has the definition of the state, although some run.
func (f *facts) Orphan() bool {
	return f.definition() == nil && f.Now.Before(f.State.Deadline) && scripts.NeedsDefinition(f.State.Status) && f.Seen.AnyLive() && !f.Seen.Live(f.member())
}

// judgeOrphan says that a job stands still, whatever its steps say: nobody does them.
func (f *facts) judgeOrphan(v *Verdict) {
	s := f.State
	v.Kind, v.Remedies, v.Upcoming = KindNoDefinition, nil, nil
	for i := range v.Steps {
		v.Steps[i].Kind, v.Steps[i].Says, v.Steps[i].Next = KindNoDefinition, "waits for a process with that definition", nil
		if text := v.Steps[i].Error; text != "" {
			v.Steps[i].Says += "; the last try failed: " + text
		}
	}
	v.Summary = fmt.Sprintf("It stands still: no process has the definition of report %s that it was started with (%s).", s.Report, s.Definition)
	v.Details = append(v.Details, "The configuration has changed since its start.")
	last, known := f.Seen.Last[f.member()]
	if known {
		v.Details = append(v.Details, fmt.Sprintf("A process had it last %s.", When(last, f.Now)))
	}
	switch {
	case f.Report == nil:
		v.Remedies = append(v.Remedies, fmt.Sprintf("start a process with a configuration that has report %s as it was, or fanfold cancel %s", s.Report, f.ID))
		return
	case f.Report.RestartOnChange && known:
		v.Upcoming = append(v.Upcoming, Upcoming{last.Add(f.Limits.Grace), fmt.Sprintf("attempt %d starts with today's definition (on_change: restart), unless a process with the old one comes back", s.Attempt+1)})
	}
	v.Remedies = append(v.Remedies, fmt.Sprintf("fanfold adopt %s starts its next attempt with today's definition; fanfold adopt --report %s does so for all such jobs of its report", f.ID, s.Report),
		"or start a process with the configuration as it was")
}

// summary is the sentence for a job whose worst step is given.
func (f *facts) summary(v *Verdict, worst Step) string {
	s := f.State
	if worst.Name == scripts.StepFanIn {
		return "Fan-in " + worst.Says
	}
	var names []string
	for _, st := range v.Steps {
		names = append(names, st.Name)
	}
	waiting := fmt.Sprintf("It waits for %s: ", strings.Join(names, ", "))
	switch {
	case v.Kind == KindRunning && s.Done > 0 && s.Target-s.Done < s.Target:
		v.Kind = KindBarrier
		return fmt.Sprintf("%d of %d listeners are done. %s%s", s.Done, s.Target, waiting, worst.Says)
	case len(names) > 1:
		return waiting + worst.Name + " " + worst.Says
	}
	return waiting + worst.Says
}

// judgeTask judges a listener that is not done.
func (f *facts) judgeTask(v *Verdict, name string) Step {
	t, q := f.State.Tasks[name], f.Queues[name]
	handedBack := t.Next.IsZero() && t.Owner == ""
	t.Next = f.next(name, t.Next)
	st := Step{Name: name, Try: t.Tries, Owner: t.Owner, Since: optional(t.Taken), Lease: optional(t.Lease), Next: optional(t.Next), Error: t.Error}
	retry := report.Retry{}
	source, works, remedy, lease := "", "its query runs for %s", listenersMissing, f.Limits.Lease
	if l := f.listener(name); l != nil {
		retry, source = l.Retry, l.Source
		st.Tries = retry.Retries + 1
		if l.Kind == report.External {
			works, remedy, lease = "it runs for %s", "start the service that reads "+q.Key+", or look at its log", l.Silence
		}
		if l.Kind == report.FromHTTP {
			works = "it asks " + f.sourceName(name) + ", for %s so far"
		}
	}
	away, answers := f.Sources[source], "does not answer"
	if mysqldb.Refused(away) {
		answers = "refuses the login"
	}
	switch {
	case !f.Paused[scripts.PausedListener(name)].IsZero() && (t.Owner == "" || f.Now.After(t.Lease)):
		st.Kind, st.remedy = KindPaused, "fanfold resume listener "+name
		st.Says = fmt.Sprintf("the listener is paused since %s", Stamp(f.Paused[scripts.PausedListener(name)]))
	case t.Owner != "" && f.Now.After(t.Lease) && q.Entry == nil && q.Whole && f.delayedStep(name) == nil:
		st.Kind = KindLost
		st.Says = fmt.Sprintf("worker %s took it %s ago%s and is dead, and its entry is not in %s any more: Redis has lost the message", t.Owner, short(f.Now.Sub(t.Taken)), tryOf(st), q.Key)
		st.remedy = f.bringBack(q.Key)
	case t.Owner != "" && f.Now.After(t.Lease):
		st.Kind = KindWorkerDead
		st.Says = fmt.Sprintf("worker %s took it %s ago%s and is dead: its lease ended %s ago", t.Owner, short(f.Now.Sub(t.Taken)), tryOf(st), short(f.Now.Sub(t.Lease)))
		f.takeOver(v, q, remedy)
	case t.Owner != "" && away != nil:
		st.Kind = KindSourceAway
		st.Says = fmt.Sprintf("worker %s has it, and %s %s from here: %v", t.Owner, f.sourceName(name), answers, away)
	case t.Owner != "":
		st.Kind = KindRunning
		st.Says = fmt.Sprintf(works, short(f.Now.Sub(t.Taken))) + fmt.Sprintf("%s, with worker %s", tryOf(st), t.Owner)
		if t.Rows > 0 {
			st.Says += fmt.Sprintf("; %d rows so far", t.Rows)
		}
		if t.Error != "" {
			st.Says += "; the try before failed: " + t.Error
		}
	case !t.Next.IsZero() && handedBack:
		st.Kind, st.Says = KindNoWorker, fmt.Sprintf("who read it handed it back, since they do not have its definition; it is offered again %s", When(t.Next, f.Now))
		st.remedy = "keep a process with the old configuration until its jobs are done"
	case !t.Next.IsZero() && f.delayedStep(name) == nil && q.Entry == nil && q.Whole:
		st.Kind = KindLost
		st.Says = fmt.Sprintf("its next try was to come %s, and is neither in %s nor in %s any more; %s", When(t.Next, f.Now), f.Keys.Delayed(), q.Key, before(t))
		st.remedy = f.bringBack(q.Key)
	case !t.Next.IsZero() && f.Now.Sub(t.Next) > missed && q.Entry == nil:
		st.Kind, st.remedy = KindNoScheduler, schedulerMissing
		st.Says = fmt.Sprintf("its next try was due %s, and no scheduler has moved it; %s", When(t.Next, f.Now), before(t))
	case !t.Next.IsZero() && q.Entry == nil && t.Waits != "":
		st.Kind = KindWaiting
		st.Says = fmt.Sprintf("it waits for %s; it looks again %s", t.Waits, When(t.Next, f.Now))
		v.Upcoming = append(v.Upcoming, Upcoming{t.Next, fmt.Sprintf("the next look of %s", name)})
		st.remedy = "fanfold delay run " + f.ID + " looks now"
		if away != nil {
			st.Kind = KindSourceAway
			st.Says = fmt.Sprintf("%s %s from here (%v); %s", f.sourceName(name), answers, away, st.Says)
		}
	case !t.Next.IsZero() && q.Entry == nil:
		st.Kind, st.Try = KindRetryWaiting, t.Tries+1
		st.Says = fmt.Sprintf("it failed and is tried again %s%s: %s", When(t.Next, f.Now), tryOf(st), t.Error)
		if away != nil {
			st.Kind = KindSourceAway
			st.Says = fmt.Sprintf("%s %s from here (%v); it is tried again %s%s", f.sourceName(name), answers, away, When(t.Next, f.Now), tryOf(st))
		}
		v.Upcoming = append(v.Upcoming, Upcoming{t.Next, fmt.Sprintf("try %d of %s", st.Try, name)})
		st.remedy = "fanfold delay run " + f.ID + " tries it now"
	case q.Entry != nil && q.Entry.Consumer != "" && q.Entry.Idle > lease:
		st.Kind = KindWorkerDead
		st.Says = fmt.Sprintf("worker %s read its entry %s ago and is silent since then", q.Entry.Consumer, short(q.Entry.Idle))
		f.takeOver(v, q, remedy)
	case !f.livesFor(q):
		st.Kind, st.remedy = KindNoWorker, remedy
		st.Says = fmt.Sprintf("no worker reads %s, which has %d entries", q.Key, q.Length)
	case q.Entry != nil && q.Entry.Consumer != "":
		st.Kind, st.Says = KindRunning, fmt.Sprintf("worker %s read its entry %s ago and is taking it", q.Entry.Consumer, short(q.Entry.Idle))
	case q.Entry != nil:
		st.Kind, st.Says = KindQueued, fmt.Sprintf("%d tasks are before it in %s, with %d workers", q.Entry.Ahead, q.Key, q.live(f.silence()))
	case !q.Whole:
		st.Kind, st.Says = KindQueued, fmt.Sprintf("at least %d tasks are before it in %s", q.Searched, q.Key)
	default:
		st.Kind = KindLost
		st.Says = fmt.Sprintf("it is neither in %s nor in %s: Redis has lost the message", q.Key, f.Keys.Delayed())
		st.remedy = f.bringBack(q.Key)
	}
	if st.Kind == KindSourceAway && mysqldb.Refused(away) {
		st.Kind = KindSourceRefuses
		st.remedy = "correct the DSN of database " + source + " or its account, and start the processes again where the DSN has changed"
	}
	return st
}

// judgeFold judges a job whose listeners are done, or that is to fail.
func (f *facts) judgeFold(v *Verdict) Step {
	s, q := f.State, f.Queues[scripts.StepFanIn]
	next := f.next(scripts.StepFanIn, s.Fold.Next)
	st := Step{
		Name: scripts.StepFanIn, Try: s.Fold.Tries, Owner: s.Worker, Lease: optional(f.FoldLease), Next: optional(next), Error: s.Fold.Error,
	}
	final := s.Status == scripts.StatusPublishing || s.Status == scripts.StatusFailing
	if r := f.definition(); r != nil && !final {
		st.Tries = r.Retry.Retries + 1
	}
	lease := f.Limits.Lease
	switch {
	case s.Worker != "" && f.Now.After(f.FoldLease) && q.Entry == nil && q.Whole && f.delayedStep(scripts.StepFanIn) == nil:
		st.Kind = KindLost
		st.Says = fmt.Sprintf("was claimed by worker %s, which is dead, and has no entry in %s any more: Redis has lost the message", s.Worker, q.Key)
		st.remedy = f.bringBack(q.Key)
	case s.Worker != "" && f.Now.After(f.FoldLease):
		st.Kind = KindWorkerDead
		st.Says = fmt.Sprintf("was claimed by worker %s, which is dead: its lease ended %s ago", s.Worker, short(f.Now.Sub(f.FoldLease)))
		f.takeOver(v, q, engineMissing)
	case s.Worker != "" && s.Status == scripts.StatusFailing:
		st.Kind, st.Says = KindEnding, fmt.Sprintf("is ending the job, with worker %s: %s", s.Worker, s.Reason)
	case s.Worker != "":
		st.Kind, st.Says = KindFolding, fmt.Sprintf("is making the file%s, with worker %s", tryOf(st), s.Worker)
		if s.Fold.Error != "" {
			st.Says += "; the try before failed: " + s.Fold.Error
		}
	case !next.IsZero() && f.delayedStep(scripts.StepFanIn) == nil && q.Entry == nil && q.Whole:
		st.Kind = KindLost
		st.Says = fmt.Sprintf("was to be tried again %s, and is neither in %s nor in %s any more: %s", When(next, f.Now), f.Keys.Delayed(), q.Key, s.Fold.Error)
		st.remedy = f.bringBack(q.Key)
	case !next.IsZero() && f.Now.Sub(next) > missed && q.Entry == nil:
		st.Kind, st.remedy = KindNoScheduler, schedulerMissing
		st.Says = fmt.Sprintf("was to be tried again %s, and no scheduler has moved it: %s", When(next, f.Now), s.Fold.Error)
	case !next.IsZero() && q.Entry == nil:
		st.Kind, st.Try = KindRetryWaiting, s.Fold.Tries+1
		switch {
		case strings.HasPrefix(s.Fold.Error, "records:"):
			st.Kind = KindRecordsAway
		case strings.HasPrefix(s.Fold.Error, "sink"):
			st.Kind = KindSinkFails
		}
		st.Says = fmt.Sprintf("failed and is tried again %s%s: %s", When(next, f.Now), tryOf(st), s.Fold.Error)
		v.Upcoming = append(v.Upcoming, Upcoming{next, fmt.Sprintf("try %d of fan-in", st.Try)})
		st.remedy = "fanfold delay run " + f.ID + " tries it now; fanfold doctor looks at the sink"
	case q.Entry != nil && q.Entry.Consumer != "" && q.Entry.Idle > lease:
		st.Kind = KindWorkerDead
		st.Says = fmt.Sprintf("was read by worker %s %s ago, which is silent since then", q.Entry.Consumer, short(q.Entry.Idle))
		f.takeOver(v, q, engineMissing)
	case !f.livesFor(q):
		st.Kind, st.remedy = KindNoWorker, engineMissing
		st.Says = fmt.Sprintf("has no worker: nobody reads %s, which has %d entries", q.Key, q.Length)
	case q.Entry != nil && q.Entry.Consumer != "":
		st.Kind, st.Says = KindFolding, fmt.Sprintf("was read by worker %s %s ago", q.Entry.Consumer, short(q.Entry.Idle))
	case q.Entry != nil || !q.Whole:
		ahead := q.Searched
		if q.Entry != nil {
			ahead = q.Entry.Ahead
		}
		st.Kind, st.Says = KindQueued, fmt.Sprintf("waits behind at least %d jobs in %s", ahead, q.Key)
	default:
		st.Kind, st.Says = KindLost, fmt.Sprintf("has no entry in %s: Redis has lost the message", q.Key)
		st.remedy = f.bringBack(q.Key)
	}
	if s.Status == scripts.StatusFailing && st.Kind != KindEnding {
		v.Details = append(v.Details, "The job is to fail: "+s.Reason)
	}
	return st
}

// before says how the try before the next one ended.
func before(t scripts.TaskState) string {
	if t.Waits != "" {
		return "it waits for " + t.Waits
	}
	return "the last one failed: " + t.Error
}

// sourceName is what a listener reads, in words.
func (f *facts) sourceName(listener string) string {
	switch l := f.listener(listener); {
	case l == nil:
		return "its source"
	case l.Kind == report.FromHTTP:
		return "API " + l.Source
	default:
		return "database " + l.Source
	}
}

// bringBack is the command that sends a step's message again.
func (f *facts) bringBack(stream string) string {
	return fmt.Sprintf("%s XADD %s '*' id %s attempt %d does it at once; otherwise a scheduler does, %s",
		f.redisCLI(), shell(stream), f.ID, f.State.Attempt, lostWithin())
}

// lostWithin is how soon schedulers find what Redis has lost.
func lostWithin() string {
	return fmt.Sprintf("within %s per %d running jobs", scheduler.LostEvery, scheduler.LostJobs)
}

// tryOf says which try it is, and of how many.
func tryOf(s Step) string {
	switch {
	case s.Try == 0:
		return ""
	case s.Tries == 0:
		return fmt.Sprintf(" (try %d)", s.Try)
	}
	return fmt.Sprintf(" (try %d of %d)", s.Try, s.Tries)
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

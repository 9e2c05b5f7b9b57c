package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// answer is what keeps a job, or one of its steps.
type answer struct {
	kind Kind
	says string    // one sentence
	more []string  // sentences that tell more
	do   []string  // what can be done about it
	at   time.Time // when something happens by itself; zero: nothing does, or it is not known
	then string    // what that is
}

// judged is a job with what keeps its steps. The first case of a switch that holds is the
// answer, so the order of the cases is the logic.
type judged struct {
	*facts
	steps []step
	worst *step // the one whose kind comes first in severity; nil: it waits for none
}

// diagnose says what keeps a job. It needs no server.
func diagnose(f *facts) Verdict {
	v := Verdict{ID: f.ID, Now: f.Now}
	if r := f.Record; r != nil {
		v.Status, v.Report, v.Attempt = r.Status, r.Report, r.Attempt
	}
	if j := f.Job; j != nil && (f.Record == nil || j.Attempt == f.Record.Attempt) {
		v.Report, v.Attempt, v.Job, v.Stage = j.Report, j.Attempt, j.Status, j.Stage
	}
	j := &judged{facts: f}
	if f.runs() {
		for _, p := range f.open() {
			j.steps = append(j.steps, newStep(f, p))
		}
	}
	for i, s := range j.steps {
		if j.worst == nil || slices.Index(severity, s.kind) < slices.Index(severity, j.worst.kind) {
			j.worst = &j.steps[i]
		}
		v.Steps = append(v.Steps, s.public())
		v.add(s.answer)
	}
	a := j.answer()
	v.Kind, v.Summary = a.kind, a.says
	v.add(a)
	j.notes(&v)
	if f.RecordErr != nil && f.RedisErr == nil {
		if v.Summary != "" {
			v.Details = slices.Insert(v.Details, 0, "By what Redis knows: "+v.Summary)
		}
		v.Kind, v.Summary = KindRecordsAway, fmt.Sprintf("The records' database does not answer: %v.", f.RecordErr)
	}
	slices.SortStableFunc(v.Upcoming, func(a, b Upcoming) int { return a.At.Compare(b.At) })
	v.Commands = f.commands(v)
	return v
}

// add adds what an answer says besides its first sentence.
func (v *Verdict) add(a answer) {
	v.Details = append(v.Details, a.more...)
	for _, text := range a.do {
		if !slices.Contains(v.Remedies, text) {
			v.Remedies = append(v.Remedies, text)
		}
	}
	if !a.at.IsZero() {
		v.Upcoming = append(v.Upcoming, Upcoming{a.at, a.then})
	}
}

// runs tells whether the job runs, by all that is known.
func (f *facts) runs() bool {
	if f.RedisErr != nil || f.Job == nil || !f.Job.runs() {
		return false
	}
	return f.Record == nil || f.Record.Attempt == f.Job.Attempt && f.Record.ID == f.ID && !f.Record.Status.Final()
}

// answer says what keeps a job. A job that runs is kept by its worst step, unless a case
// before that one holds.
func (j *judged) answer() answer {
	r, retry := j.Record, []string{"fanfold retry " + j.ID + " runs it again"}
	switch {
	case redis.HasErrorPrefix(j.RedisErr, "WRONGTYPE"):
		return answer{kind: KindWrongType, says: fmt.Sprintf("A key of Fanfold has another type: %v.", j.RedisErr),
			more: []string{"Whatever needs that key waits; other jobs continue."},
			do:   []string{"look at the key, and rename or delete it if it is not Fanfold's: what was lost is sent again"}}
	case j.RedisErr != nil:
		return answer{kind: KindRedisAway, says: fmt.Sprintf("Redis does not answer: %v.", j.RedisErr),
			more: []string{"Nothing can go on until it does; workers wait for it, and outages do not count as tries."}}

	// The record is final, or not this one.
	case r != nil && r.ID != j.ID:
		return answer{kind: KindOtherID, says: fmt.Sprintf("The database finds the record %q for this id: push exactly that.", r.ID)}
	case r != nil && r.Status == report.Success:
		return answer{kind: KindEnded, says: "It is done: " + r.File}
	case r != nil && r.Status == report.Partial:
		return answer{kind: KindEnded, says: "It is done in part: " + r.File,
			more: []string{"It is " + cmp.Or(r.Error, "without what some of its listeners should have given") + "."},
			do:   []string{"fanfold retry " + j.ID + " makes it again"}}
	case r != nil && r.Status == report.Failed:
		return answer{kind: KindEnded, says: "It has failed: " + cmp.Or(r.Error, "the record gives no reason"), do: retry}
	case r != nil && r.Status == report.Cancelled:
		return answer{kind: KindEnded, says: "It was cancelled" + after(": ", r.Error), do: retry}
	case r != nil && r.Status.Final():
		return answer{kind: KindEnded, says: fmt.Sprintf("Its status is %q, which this configuration does not map: it counts as final.", r.Status)}
	case j.JobErr != nil:
		return answer{kind: KindBrokenState, says: fmt.Sprintf("The key of its state holds something else: %v.", j.JobErr),
			do: []string{"look at the key, and delete it if it is not Fanfold's"}}

	case j.runs():
		return j.running()
	case j.Job != nil && r != nil && j.Job.Attempt > r.Attempt:
		return answer{kind: KindSuperseded, says: fmt.Sprintf("Redis has attempt %d of the job, the record attempt %d: the record was changed.", j.Job.Attempt, r.Attempt),
			more: []string{"The job ends as SUPERSEDED, without a file; then the record can be pushed again."}}
	case j.push() != nil:
		return j.delayed(j.push())
	case j.Jobs.Entry != nil:
		return j.queued(j.Jobs.Entry)
	case j.Aside != nil:
		return answer{kind: KindQuarantined, says: fmt.Sprintf("It was quarantined %s: %s.", When(j.Aside.At, j.Now), j.Aside.Reason),
			more: []string{"It came by " + j.Aside.Stream + ". The record was not changed."},
			do:   []string{"correct what the reason names, then fanfold submit " + j.ID}}
	case j.RecordErr != nil:
		return answer{kind: KindRecordsAway}
	}
	return j.nowhere()
}

// running says what keeps a job that runs.
func (j *judged) running() answer {
	job := j.Job
	standsStill := fmt.Sprintf("It stands still: no process has the definition of report %s that it was started with (%s).", job.Report, job.Definition)
	switch {
	case j.orphan() && j.Report == nil:
		return answer{kind: KindNoDefinition, says: standsStill,
			do: []string{fmt.Sprintf("start a process with a configuration that has report %s as it was, or fanfold cancel %s", job.Report, j.ID)}}
	case j.orphan():
		return answer{kind: KindNoDefinition, says: standsStill, do: []string{
			fmt.Sprintf("fanfold adopt %s starts its next attempt with today's definition; fanfold adopt --report %s does so for all such jobs of its report", j.ID, job.Report),
			"or start a process with the configuration as it was",
		}}
	case !job.committed() && j.Now.Sub(job.Deadline) > missed:
		return answer{kind: KindNoScheduler, says: "Its deadline was " + When(job.Deadline, j.Now) + ", and no scheduler has failed it.", do: []string{schedulerMissing}}
	case j.worst == nil:
		return answer{kind: KindEnding, says: "All listeners are done, and the job is on its way to fan-in."}
	}
	var names []string
	for _, s := range j.steps {
		names = append(names, title(s.Name))
	}
	says := "It waits for " + strings.Join(names, ", ") + ": " + j.worst.says
	if len(j.steps) > 1 {
		says = "It waits for " + strings.Join(names, ", ") + ": " + title(j.worst.Name) + ": " + j.worst.says
	}
	if j.worst.kind == KindRunning && job.Done > 0 && job.Done < job.Target {
		return answer{kind: KindBarrier, says: fmt.Sprintf("%d of %d listeners are done. %s", job.Done, job.Target, says)}
	}
	return answer{kind: j.worst.kind, says: says}
}

// delayed says what keeps an id that is in the delayed set.
func (j *judged) delayed(d *Delayed) answer {
	switch {
	case d.Due == nil:
		return answer{kind: KindDelayed, says: fmt.Sprintf("It waits in %s with the score %v, which is not a time: it is quarantined.", j.Keys.Delayed(), d.Score),
			do: []string{"fanfold delay run " + j.ID}}
	case j.Now.Sub(*d.Due) > missed:
		return answer{kind: KindNoScheduler, says: "It was due " + When(*d.Due, j.Now) + ", and no scheduler has moved it.", do: []string{schedulerMissing}}
	case d.later.Step == "":
		return answer{kind: KindDelayed, says: "It was pushed for later and is due " + When(*d.Due, j.Now) + ".",
			do: []string{"fanfold delay run " + j.ID + " runs it now"},
			at: *d.Due, then: "it is pushed into " + j.Keys.Jobs()}
	}
	return answer{kind: KindLooking, says: fmt.Sprintf("It was pushed and could not be started; poll %d of %d comes %s.", d.later.Attempt, len(report.RecordPolls), When(*d.Due, j.Now)),
		at: *d.Due, then: "the trigger reads the record again; after the last poll the id is quarantined"}
}

// queued says what keeps an id that is in the stream of jobs.
func (j *judged) queued(e *entry) answer {
	read := fmt.Sprintf("The trigger %s read it %s ago and is ", e.Consumer, short(e.Idle))
	waits := "It waits in " + j.Keys.Jobs() + behind(e.Ahead)
	switch alive := j.live(j.Jobs) > 0; {
	case e.Consumer != "" && e.Idle > j.Limits.Lease && alive:
		return answer{kind: KindWorkerDead, says: read + "silent since then.", at: j.Now.Add(j.Limits.Lease), then: "by then another worker takes it over"}
	case e.Consumer != "" && e.Idle > j.Limits.Lease:
		return answer{kind: KindWorkerDead, says: read + "silent since then.",
			more: []string{"No worker reads " + j.Keys.Jobs() + " that could take it over."}, do: []string{engineMissing}}
	case e.Consumer != "":
		return answer{kind: KindStarting, says: read + "starting it.",
			more: []string{"If that process dies, another one takes over within " + short(j.Limits.Lease) + " of silence."}}
	case !alive:
		return answer{kind: KindNoWorker, says: waits + ", and no process reads that stream: none runs with the role engine.", do: []string{engineMissing}}
	case j.Memory > j.Limits.Memory:
		return answer{kind: KindNoRoom, says: fmt.Sprintf("%s: Redis has used %d %% of its memory, and above %d %% no job is started.", waits, j.Memory, j.Limits.Memory),
			do: []string{"wait for running jobs to end, give Redis more maxmemory, or raise limits.memory"}}
	case j.Running >= int64(j.Limits.RunningJobs):
		return answer{kind: KindNoRoom, says: fmt.Sprintf("%s until a running job ends: %d jobs run, as many as limits.running_jobs allows.", waits, j.Running),
			more: []string{"No deadline runs while it waits."}, do: []string{"wait, or raise limits.running_jobs"}}
	}
	return answer{kind: KindQueued, says: waits + ".", more: []string{j.others()}}
}

func (j *judged) others() string {
	return fmt.Sprintf("%d jobs run; limits.running_jobs is %d.", j.Running, j.Limits.RunningJobs)
}

// nowhere says what keeps an id that nothing in Redis leads to.
func (j *judged) nowhere() answer {
	r, submit := j.Record, "fanfold submit "+j.ID
	switch {
	case r == nil && j.Job != nil:
		return answer{kind: KindNoRecord, says: "There is no record with this id any more; its job has ended as " + j.Job.Status + "."}
	case r == nil && (!j.Jobs.Whole || !j.AsideWhole):
		return answer{kind: KindNoRecord, says: "There is no record with this id, and no trace of the id in the part of Redis that was searched."}
	case r == nil:
		return answer{kind: KindNoRecord, says: "There is no record with this id, and no trace of the id in Redis."}
	}
	paused, isPaused := j.Paused[scripts.PausedReport(r.Report)]
	switch {
	case isPaused:
		return answer{kind: KindPaused, says: fmt.Sprintf("Its report %s is paused since %s.", r.Report, Stamp(paused)),
			more: []string{"No deadline runs while it waits."}, do: []string{"fanfold resume report " + r.Report}}
	case j.Report == nil:
		return answer{kind: KindUnknownReport, says: fmt.Sprintf("Its report %q is not in this configuration, and the id waits nowhere.", r.Report),
			do: []string{"add the report to the configuration of every process, then " + submit}}
	case r.Status == report.Processing:
		return answer{kind: KindStateless, says: fmt.Sprintf("The record is PROCESSING, and Redis has no state of attempt %d.", r.Attempt),
			more: []string{"Redis has lost its memory, or a process died between record and state."},
			do:   []string{submit + " starts it once its grace time is over"}}
	case !j.Jobs.Whole:
		return answer{kind: KindQueued, says: fmt.Sprintf("The record is PENDING; if its id was pushed, at least %d others are before it.", j.Jobs.Searched), more: []string{j.others()}}
	}
	return answer{kind: KindNotPushed, says: "The record is PENDING, and its id was not pushed.", do: []string{submit}, more: []string{
		fmt.Sprintf("It has not changed for %s; the id is neither in %s nor in %s.", short(r.Age), j.Keys.Jobs(), j.Keys.Delayed()),
		fmt.Sprintf("Once it has not changed for %s, a rebuild starts it by itself, unless records.filter excludes it; a rebuild runs every few minutes.", short(j.Limits.Grace)),
	}}
}

// notes say what else is to be known of a job, besides what keeps it.
func (j *judged) notes(v *Verdict) {
	note := func(format string, args ...any) { v.Details = append(v.Details, fmt.Sprintf(format, args...)) }
	coming := func(at time.Time, format string, args ...any) {
		v.Upcoming = append(v.Upcoming, Upcoming{at, fmt.Sprintf(format, args...)})
	}
	r, grace := j.Record, j.Limits.Grace
	switch {
	case j.RedisErr != nil && j.RecordErr != nil:
		note("The records' database does not answer, either: %v.", j.RecordErr)
	case j.RedisErr != nil || j.RecordErr != nil || r != nil:
	case j.runs():
		note("The record was deleted: the job runs to its end and leaves no file.")
	case v.Kind != KindNoRecord:
		note("There is no such record: its transaction may not be committed yet.")
	}
	switch v.Kind {
	case KindLooking:
		if r != nil && j.Report == nil {
			note("Its report %q is not in this configuration.", r.Report)
		}
	case KindQuarantined:
		if r != nil && r.Status == report.Pending {
			note("It is PENDING: once it has not changed for %s, it is started by itself. fanfold cancel %s makes sure that it is not.", short(grace), j.ID)
		}
	case KindStateless:
		if r.Age < grace {
			coming(j.Now.Add(grace-r.Age), "its grace time of %s ends: the rebuild starts it with the next attempt", short(grace))
		} else {
			note("Its grace time of %s is over: the rebuild starts it with the next attempt, unless many are before it.", short(grace))
		}
	case KindEnded:
		if !j.Dead.IsZero() {
			note("It is listed as dead since %s; fanfold dead discard %s takes it off the list.", Stamp(j.Dead), j.ID)
		}
		if j.Job != nil && j.Job.runs() {
			note("Its state in Redis still exists, and is deleted when its workers see that the record is final: at the latest when they have done their work.")
		}
	case KindNoDefinition:
		note("The configuration has changed since its start.")
		last := j.Seen.Last[j.Job.member()]
		if !last.IsZero() {
			note("A process had it last %s.", When(last, j.Now))
		}
		if !last.IsZero() && j.Report != nil && j.Report.RestartOnChange {
			coming(last.Add(grace), "attempt %d starts with today's definition (on_change: restart), unless a process with the old one comes back", j.Job.Attempt+1)
		}
	case KindPaused:
		if r := j.definition(); r != nil && r.DeadlineWaits {
			note("Its deadline moves by the time of the pause.")
		}
	}
	if j.runs() {
		if j.Job.failing() && j.worst != nil && j.worst.kind != KindEnding {
			note("The job is to fail: %s", j.Job.Reason)
		}
		if v.Kind != KindNoDefinition && v.Kind != KindLost && j.definition() == nil {
			note("It runs with a definition of its report that this configuration does not have: only a process that has it continues the job.")
		}
	}
	if (j.runs() || v.Kind == KindSuperseded) && !j.Job.committed() {
		if !j.Now.After(j.Job.Deadline) {
			coming(j.Job.Deadline, "its deadline: the job fails")
		} else if v.Kind != KindNoScheduler {
			note("Its deadline was %s.", When(j.Job.Deadline, j.Now))
		}
	}
	if j.RedisErr == nil && j.RecordErr != nil {
		note("Jobs start and end only when it answers; writing a final status is tried without limit, and outages do not count as tries.")
	}
}

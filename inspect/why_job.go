package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
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
		return answer{kind: KindNoScheduler, says: "Its deadline was " + When(job.Deadline, j.Now) + ", and no scheduler has failed it.", do: []string{SchedulerMissing}}
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

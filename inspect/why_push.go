package inspect

import (
	"fmt"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// delayed says what keeps an id that is in the delayed set.
func (j *judged) delayed(d *Delayed) answer {
	switch {
	case d.Due == nil:
		return answer{kind: KindDelayed, says: fmt.Sprintf("It waits in %s with the score %v, which is not a time: it is quarantined.", j.Keys.Delayed(), d.Score),
			do: []string{"fanfold delay run " + j.ID}}
	case j.Now.Sub(*d.Due) > missed:
		return answer{kind: KindNoScheduler, says: "It was due " + When(*d.Due, j.Now) + ", and no scheduler has moved it.", do: []string{SchedulerMissing}}
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
	read := fmt.Sprintf("The trigger %s read it %s ago and is ", e.Consumer, Short(e.Idle))
	waits := "It waits in " + j.Keys.Jobs() + behind(e.Ahead)
	switch alive := j.live(j.Jobs) > 0; {
	case e.Consumer != "" && e.Idle > j.Limits.Lease && alive:
		return answer{kind: KindWorkerDead, says: read + "silent since then.", at: j.Now.Add(j.Limits.Lease), then: "by then another worker takes it over"}
	case e.Consumer != "" && e.Idle > j.Limits.Lease:
		return answer{kind: KindWorkerDead, says: read + "silent since then.",
			more: []string{"No worker reads " + j.Keys.Jobs() + " that could take it over."}, do: []string{engineMissing}}
	case e.Consumer != "":
		return answer{kind: KindStarting, says: read + "starting it.",
			more: []string{"If that process dies, another one takes over within " + Short(j.Limits.Lease) + " of silence."}}
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
		fmt.Sprintf("It has not changed for %s; the id is neither in %s nor in %s.", Short(r.Age), j.Keys.Jobs(), j.Keys.Delayed()),
		fmt.Sprintf("Once it has not changed for %s, a rebuild starts it by itself, unless records.filter excludes it; a rebuild runs every few minutes.", Short(j.Limits.Grace)),
	}}
}

package inspect

import (
	"fmt"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// placed judges an id that waits to be started: in the delayed set, in the stream
// of jobs, or in the quarantine.
func (f *facts) placed(v *Verdict) bool {
	for _, d := range f.Delayed {
		if d.later.Step != "" && d.later.Step != scripts.StepTrigger {
			continue
		}
		f.judgeDelayed(v, d)
		return true
	}
	if f.Jobs.Entry != nil {
		f.judgeQueued(v)
		return true
	}
	if f.Aside != nil {
		v.Kind = KindQuarantined
		v.Summary = fmt.Sprintf("It was put aside %s: %s.", When(f.Aside.At, f.Now), f.Aside.Reason)
		v.Details = append(v.Details, fmt.Sprintf("It came by %s. The record was not changed.", f.Aside.Stream))
		if f.Record != nil && f.Record.Status == report.Pending {
			v.Details = append(v.Details, fmt.Sprintf("It is PENDING: once it has not changed for %s, it is started by itself. fanfold cancel %s makes sure that it is not.", short(f.Limits.Grace), f.ID))
		}
		v.Remedies = append(v.Remedies, "mend what the reason names, then fanfold submit "+f.ID)
		return true
	}
	return false
}

func (f *facts) judgeDelayed(v *Verdict, d Delayed) {
	if d.Due == nil {
		v.Kind, v.Summary = KindDelayed, fmt.Sprintf("It waits in %s with the score %v, which is no time: it goes to the quarantine.", f.Keys.Delayed(), d.Score)
		v.Remedies = append(v.Remedies, "fanfold delay run "+f.ID)
		return
	}
	if over := f.Now.Sub(*d.Due); over > missed {
		v.Kind = KindNoScheduler
		v.Summary = fmt.Sprintf("It was due %s ago, and no scheduler has moved it.", short(over))
		v.Remedies = append(v.Remedies, schedulerMissing)
		return
	}
	if d.later.Step == "" {
		v.Kind, v.Summary = KindDelayed, fmt.Sprintf("It was pushed for later and is due %s.", When(*d.Due, f.Now))
		v.Upcoming = append(v.Upcoming, Upcoming{*d.Due, "it goes into " + f.Keys.Jobs()})
		v.Remedies = append(v.Remedies, "fanfold delay run "+f.ID+" runs it now")
		return
	}
	v.Kind = KindLooking
	v.Summary = fmt.Sprintf("It was pushed and could not be started; look %d of %d comes %s.", d.later.Attempt, len(report.RecordPolls), When(*d.Due, f.Now))
	switch {
	case f.Record == nil:
		v.Details = append(v.Details, "There was no such record.")
	case f.Report == nil:
		v.Details = append(v.Details, fmt.Sprintf("Its report %q is not in this configuration.", f.Record.Report))
	}
	v.Upcoming = append(v.Upcoming, Upcoming{*d.Due, "the trigger looks for the record again; after the last look it goes to the quarantine"})
}

const (
	schedulerMissing = "start fanfold serve --roles scheduler, or look at its log"
	engineMissing    = "start fanfold serve --roles engine, or look at its log"
	listenersMissing = "start fanfold serve --roles listeners, or look at its log"
)

// judgeQueued judges an id in the stream of jobs.
func (f *facts) judgeQueued(v *Verdict) {
	e, lease := f.Jobs.Entry, f.Limits.Lease
	switch {
	case e.Consumer != "" && e.Idle > lease:
		v.Kind = KindWorkerDead
		v.Summary = fmt.Sprintf("The trigger %s read it %s ago and is silent since then.", e.Consumer, short(e.Idle))
		f.takeOver(v, f.Jobs, engineMissing)
	case e.Consumer != "":
		v.Kind, v.Summary = KindStarting, fmt.Sprintf("The trigger %s read it %s ago and is starting it.", e.Consumer, short(e.Idle))
		v.Details = append(v.Details, fmt.Sprintf("If that process dies, another one takes over within %s of silence.", short(lease)))
	case !f.livesFor(f.Jobs):
		v.Kind = KindNoWorker
		v.Summary = fmt.Sprintf("It waits in %s%s, and no process reads that stream: none runs with the role engine.", f.Keys.Jobs(), behind(e.Ahead))
		v.Remedies = append(v.Remedies, engineMissing)
	case f.Memory > f.Limits.Memory:
		v.Kind = KindNoRoom
		v.Summary = fmt.Sprintf("It waits in %s%s: Redis has used %d %% of its memory, and above %d %% no job is started.", f.Keys.Jobs(), behind(e.Ahead), f.Memory, f.Limits.Memory)
		v.Remedies = append(v.Remedies, "wait for running jobs to end, give Redis more maxmemory, or raise limits.memory")
	case f.Running >= int64(f.Limits.RunningJobs):
		v.Kind = KindNoRoom
		v.Summary = fmt.Sprintf("It waits in %s%s for room: %d jobs run, as many as limits.running_jobs allows.", f.Keys.Jobs(), behind(e.Ahead), f.Running)
		v.Details = append(v.Details, "No deadline runs while it waits.")
		v.Remedies = append(v.Remedies, "wait, or raise limits.running_jobs")
	default:
		v.Kind, v.Summary = KindQueued, fmt.Sprintf("It waits in %s%s.", f.Keys.Jobs(), behind(e.Ahead))
		f.addRoom(v)
	}
}

// behind says how many are before it.
func behind(n int64) string {
	switch n {
	case 0:
		return " as the next one"
	case 1:
		return " behind 1 other"
	}
	return fmt.Sprintf(" behind %d others", n)
}

// addRoom says how many jobs run.
func (f *facts) addRoom(v *Verdict) {
	v.Details = append(v.Details, fmt.Sprintf("%d jobs run; limits.running_jobs is %d.", f.Running, f.Limits.RunningJobs))
}

// takeOver says who goes on with what a dead worker held.
func (f *facts) takeOver(v *Verdict, q queue, remedy string) {
	if f.livesFor(q) {
		v.Upcoming = append(v.Upcoming, Upcoming{f.Now.Add(f.Limits.Lease), "by then another worker takes it over"})
		return
	}
	v.Details = append(v.Details, fmt.Sprintf("No worker reads %s that could take it over.", q.Key))
	v.Remedies = append(v.Remedies, remedy)
}

// livesFor tells whether somebody reads a stream.
func (f *facts) livesFor(q queue) bool { return q.live(f.silence()) > 0 }

// silence is how long a consumer says nothing before it counts as gone: it asks
// every second, or renews what it works on three times in a lease.
func (f *facts) silence() time.Duration { return max(f.Limits.Lease, 3*time.Second) }

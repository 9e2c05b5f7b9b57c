package inspect

import (
	"fmt"
	"time"

	"github.com/fanfold/fanfold/report"
)

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
			note("It is PENDING: once it has not changed for %s, it is started by itself. fanfold cancel %s makes sure that it is not.", Short(grace), j.ID)
		}
	case KindStateless:
		if r.Age < grace {
			coming(j.Now.Add(grace-r.Age), "its grace time of %s ends: the rebuild starts it with the next attempt", Short(grace))
		} else {
			note("Its grace time of %s is over: the rebuild starts it with the next attempt, unless many are before it.", Short(grace))
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

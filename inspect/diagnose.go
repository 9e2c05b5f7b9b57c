package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// missed is how long something may be due before a scheduler is missed.
const missed = 5 * time.Second

// why says what keeps a job. A server that is away is an answer, and no error.
func (in *Inspector) Why(ctx context.Context, id string) (Verdict, error) {
	v := diagnose(in.gather(ctx, id))
	if v.Kind == KindLost || v.Kind == KindNotPushed {
		// What moved while it was looked for is not lost: look once more.
		v = diagnose(in.gather(ctx, id))
	}
	return v, ctx.Err()
}

// diagnose says what keeps a job. It needs no server.
func diagnose(f facts) Verdict {
	v := Verdict{ID: f.ID, Now: f.Now}
	if r := f.Record; r != nil {
		v.Status, v.Report, v.Attempt = r.Status, r.Report, r.Attempt
	}
	if s := f.State; s != nil && (f.Record == nil || s.Attempt == f.Record.Attempt) {
		v.Report, v.Attempt, v.Job, v.Stage = s.Report, s.Attempt, s.Status, s.Stage
	}
	f.judge(&v)
	slices.SortStableFunc(v.Upcoming, func(a, b Upcoming) int { return a.At.Compare(b.At) })
	v.Commands = f.commands(v)
	return v
}

// judge finds the kind of a verdict.
func (f *facts) judge(v *Verdict) {
	switch r := f.Record; {
	case redis.HasErrorPrefix(f.RedisErr, "WRONGTYPE"):
		v.Kind, v.Summary = KindWrongType, fmt.Sprintf("A key of Fanfold has another type: %v.", f.RedisErr)
		v.Details = append(v.Details, "What goes through that key waits; other jobs go on.")
		v.Remedies = append(v.Remedies, "look at the key, and rename or delete it if it is not Fanfold's: what was lost is sent again")
	case f.RedisErr != nil:
		v.Kind, v.Summary = KindRedisAway, fmt.Sprintf("Redis does not answer: %v.", f.RedisErr)
		v.Details = append(v.Details, "Nothing can go on until it does; workers wait for it, and outages do not count as tries.")
		if f.RecordErr != nil {
			v.Details = append(v.Details, fmt.Sprintf("The records' database does not answer, either: %v.", f.RecordErr))
		}
	case f.RecordErr != nil:
		f.withoutRecord(v)
	case r == nil:
		f.judgeMissing(v)
	case r.ID != f.ID:
		v.Kind, v.Summary = KindOtherID, fmt.Sprintf("The database finds the record %q for this id: push exactly that.", r.ID)
	case r.Status.Final():
		f.judgeEnded(v)
	case f.StateErr != nil:
		v.Kind, v.Summary = KindBrokenState, fmt.Sprintf("The key of its state is something else: %v.", f.StateErr)
		v.Remedies = append(v.Remedies, "look at the key, and delete it if it is not Fanfold's")
	case f.State != nil && f.State.Attempt == r.Attempt && !endedState(f.State):
		f.judgeJob(v)
	case f.State != nil && f.State.Attempt > r.Attempt:
		v.Kind = KindSuperseded
		v.Summary = fmt.Sprintf("Redis has attempt %d of the job, the record attempt %d: somebody has changed the record.", f.State.Attempt, r.Attempt)
		v.Details = append(v.Details, "The job ends as SUPERSEDED, without a file; then the record can be pushed again.")
		f.addDeadline(v)
	case f.placed(v):
	case !f.Paused[scripts.PausedReport(r.Report)].IsZero():
		v.Kind = KindPaused
		v.Summary = fmt.Sprintf("Its report %s is paused since %s.", r.Report, Stamp(f.Paused[scripts.PausedReport(r.Report)]))
		v.Details = append(v.Details, "No deadline runs while it waits.")
		v.Remedies = append(v.Remedies, "fanfold resume report "+r.Report)
	case f.Report == nil:
		v.Kind, v.Summary = KindUnknownReport, fmt.Sprintf("Its report %q is not in this configuration, and the id waits nowhere.", r.Report)
		v.Remedies = append(v.Remedies, "add the report to the configuration of every process, then fanfold submit "+f.ID)
	case r.Status == report.Processing:
		f.judgeStateless(v)
	case !f.Jobs.Whole:
		v.Kind = KindQueued
		v.Summary = fmt.Sprintf("The record is PENDING; if its id was pushed, at least %d others are before it.", f.Jobs.Searched)
		f.addRoom(v)
	default:
		v.Kind, v.Summary = KindNotPushed, "The record is PENDING, and nobody has pushed its id."
		v.Details = append(v.Details, fmt.Sprintf("It has not changed for %s; the id is neither in %s nor in %s.", short(r.Age), f.Keys.Jobs(), f.Keys.Delayed()))
		v.Details = append(v.Details, fmt.Sprintf("Once it has not changed for %s, a rebuild starts it by itself, unless records.filter keeps it out; it looks every few minutes.", short(f.Limits.Grace)))
		v.Remedies = append(v.Remedies, "fanfold submit "+f.ID)
	}
}

func endedState(s *scripts.State) bool { return report.Status(s.Status).Final() && !runs(s) }

// runs tells whether a state is that of a job that has not ended.
func runs(s *scripts.State) bool {
	switch s.Status {
	case scripts.StatusRun, scripts.StatusReady, scripts.StatusFold, scripts.StatusPublishing, scripts.StatusFailing:
		return true
	}
	return false
}

// withoutRecord judges by what Redis knows alone.
func (f *facts) withoutRecord(v *Verdict) {
	if f.State != nil && runs(f.State) {
		f.judgeJob(v)
		v.Details = append([]string{"By what Redis knows: " + v.Summary}, v.Details...)
	} else if f.placed(v) {
		v.Details = append([]string{"By what Redis knows: " + v.Summary}, v.Details...)
	}
	v.Kind = KindRecordsAway
	v.Summary = fmt.Sprintf("The records' database does not answer: %v.", f.RecordErr)
	v.Details = append(v.Details, "Jobs start and end only when it does; writing a final status is tried without limit, and outages do not count as tries.")
}

// judgeMissing judges an id that has no row.
func (f *facts) judgeMissing(v *Verdict) {
	if f.placed(v) {
		v.Details = append(v.Details, "There is no record with this id: its transaction may not be committed yet.")
		return
	}
	if f.State != nil && runs(f.State) {
		f.judgeJob(v)
		v.Details = append(v.Details, "The record was deleted: the job goes on to its end and leaves no file.")
		return
	}
	v.Kind, v.Summary = KindNoRecord, "There is no record with this id, and no trace of the id in Redis."
	if f.State != nil {
		v.Summary = fmt.Sprintf("There is no record with this id any more; its job has ended as %s.", f.State.Status)
	} else if !f.Jobs.Whole || !f.AsideAll {
		v.Summary = "There is no record with this id, and no trace of the id in the part of Redis that was searched."
	}
}

func (f *facts) judgeEnded(v *Verdict) {
	v.Kind = KindEnded
	r := f.Record
	switch r.Status {
	case report.Success:
		v.Summary = "It is done: " + r.File
	case report.Partial:
		v.Summary = "It is done in part: " + r.File
		v.Details = append(v.Details, "It is "+cmp.Or(r.Error, "without what some of its listeners should have given")+".")
		v.Remedies = append(v.Remedies, "fanfold retry "+f.ID+" makes it again")
	case report.Failed:
		v.Summary = "It has failed: " + cmp.Or(r.Error, "the record gives no reason")
		v.Remedies = append(v.Remedies, "fanfold retry "+f.ID+" runs it again")
	case report.Cancelled:
		v.Summary = "It was cancelled"
		if r.Error != "" {
			v.Summary += ": " + r.Error
		}
		v.Remedies = append(v.Remedies, "fanfold retry "+f.ID+" runs it again")
	default:
		v.Summary = fmt.Sprintf("Its status is %q, which this configuration does not map: it counts as final.", r.Status)
	}
	if !f.Dead.IsZero() {
		v.Details = append(v.Details, fmt.Sprintf("It is listed as dead since %s; fanfold dead discard %s takes it off the list.", Stamp(f.Dead), f.ID))
	}
	if f.State != nil && runs(f.State) {
		v.Details = append(v.Details, "Its state in Redis is still there, and goes when its workers see that the record is final: at the latest when they have done their work.")
	}
}

// judgeStateless judges a PROCESSING record that Redis knows nothing of.
func (f *facts) judgeStateless(v *Verdict) {
	grace := f.Limits.Grace
	v.Kind = KindStateless
	v.Summary = fmt.Sprintf("The record is PROCESSING, and Redis has no state of attempt %d.", f.Record.Attempt)
	v.Details = append(v.Details, "Redis has lost its memory, or a process died between record and state.")
	if left := grace - f.Record.Age; left > 0 {
		v.Upcoming = append(v.Upcoming, Upcoming{f.Now.Add(left), fmt.Sprintf("its grace time of %s ends: the rebuild starts it with the next attempt", short(grace))})
	} else {
		v.Details = append(v.Details, fmt.Sprintf("Its grace time of %s is over: the rebuild starts it with the next attempt, unless many are before it.", short(grace)))
	}
	v.Remedies = append(v.Remedies, "fanfold submit "+f.ID+" starts it once its grace time is over")
}

// addDeadline says what happens to a running job at its deadline.
func (f *facts) addDeadline(v *Verdict) {
	s := f.State
	if s.Status == scripts.StatusPublishing || s.Status == scripts.StatusFailing {
		return
	}
	what := "its deadline: the job fails"
	if f.Now.After(s.Deadline) {
		v.Details = append(v.Details, fmt.Sprintf("Its deadline was %s.", When(s.Deadline, f.Now)))
		return
	}
	v.Upcoming = append(v.Upcoming, Upcoming{s.Deadline, what})
}

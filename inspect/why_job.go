package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// answer says what a job, or one of its steps, waits for.
type answer struct {
	kind Kind
	says string    // one sentence
	more []string  // further sentences
	do   []string  // remedies
	at   time.Time // when something will happen; zero: nothing will, or it is not known
	then string    // what will happen
}

// judged is a job with the answers for its steps.
type judged struct {
	*facts
	steps []step
	worst *step // the one whose kind comes first in severity; nil: no step is open
}

// diagnose turns facts into a verdict. It needs no server.
func diagnose(f *facts) Verdict {
	v := Verdict{ID: f.ID, Now: f.Now, Delayed: len(f.Delayed) > 0 && (f.Job == nil || !f.Job.NeedsDefinition() || f.definition() != nil)}
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
	k := j.known()
	a := k.answer(jobRule)
	if v.Kind, v.Summary = a.kind, a.says; v.Kind == "" {
		v.Kind = j.worst.kind
	}
	v.add(a)
	k.is["="+string(v.Kind)] = true
	for _, r := range notes {
		a := k.answer(r)
		if a.says != "" {
			a.more = []string{a.says}
		}
		v.add(a)
	}
	if f.RecordErr != nil && f.RedisErr == nil {
		if v.Summary != "" {
			v.Details = slices.Insert(v.Details, 0, "According to Redis: "+v.Summary)
		}
		v.Kind, v.Summary = KindRecordsAway, fmt.Sprintf("The records' database does not answer: %v.", f.RecordErr)
	}
	slices.SortStableFunc(v.Upcoming, func(a, b Upcoming) int { return a.At.Compare(b.At) })
	v.Commands = f.commands(v)
	return v
}

// add adds the details, remedies and time of an answer.
func (v *Verdict) add(a answer) {
	v.Details = append(v.Details, a.more...)
	for _, text := range a.do {
		if text != "" && !slices.Contains(v.Remedies, text) {
			v.Remedies = append(v.Remedies, text)
		}
	}
	if !a.at.IsZero() {
		v.Upcoming = append(v.Upcoming, Upcoming{a.at, a.then})
	}
}

// runs reports whether the job runs, according to Redis and the record.
func (f *facts) runs() bool {
	if f.RedisErr != nil || f.Job == nil || !f.Job.runs() {
		return false
	}
	return f.Record == nil || f.Record.Attempt == f.Job.Attempt && f.Record.ID == f.ID && !f.Record.Status.Final()
}

// known names the facts of the job, for the rules.
func (j *judged) known() *known {
	r, job, push, e, paused := j.Record, j.Job, j.push(), j.Jobs.Entry, time.Time{}
	k := &known{outer: j.outer()}
	k.is = map[string]bool{
		"wrong-type": redis.HasErrorPrefix(j.RedisErr, "WRONGTYPE"), "redis-denies": redis.HasErrorPrefix(j.RedisErr, "NOPERM"), "redis-away": j.RedisErr != nil, "records-away": j.RecordErr != nil,
		"record": r != nil, "report": j.Report != nil, "broken-state": j.JobErr != nil,
		"worst": j.worst != nil, "several": len(j.steps) > 1, "push": push != nil, "queued": e != nil, "aside": j.Aside != nil,
		"alive": j.live(j.Jobs) > 0, "full-memory": j.Memory > j.Limits.Memory, "full": j.Running >= int64(j.Limits.RunningJobs),
		"jobs-whole": j.Jobs.Whole, "aside-whole": j.AsideWhole, "dead": !j.Dead.IsZero(), "contender": j.Contender, "limited": j.Limited,
	}
	k.text = map[string]string{
		"redis-error": text(j.RedisErr), "records-error": text(j.RecordErr), "state-error": text(j.JobErr),
		"memory": strconv.Itoa(j.Memory), "memory-max": strconv.Itoa(j.Limits.Memory), "jobs-searched": integer(j.Jobs.Searched),
		"jobs-running": integer(j.Running), "jobs-max": strconv.Itoa(j.Limits.RunningJobs), "lease": words.Short(j.Limits.Lease), "grace": words.Short(j.Limits.Grace),
		"polls": strconv.Itoa(len(report.RecordPolls)), "dead-since": words.Stamp(j.Dead),
	}
	k.at = map[string]time.Time{"takeover": j.Now.Add(j.Limits.Lease)}
	if j.Report != nil {
		k.text["report-limit"] = strconv.Itoa(j.Report.Running)
		k.is["restarts"] = !j.Report.WaitOnChange
	}
	if d := j.definition(); d != nil {
		k.is["deadline-waits"] = d.DeadlineWaits
	}
	if r != nil {
		paused, k.is["report-paused"] = j.Paused[scripts.PausedReport(r.Report)], false
		for status, name := range map[report.Status]string{report.Success: "success", report.Partial: "partial", report.Failed: "failed", report.Cancelled: "cancelled", report.Pending: "pending", report.Processing: "processing"} {
			k.is[name] = r.Status == status
		}
		k.is["other-id"], k.is["final"], k.is["record-error"], k.is["report-paused"] = r.ID != j.ID, r.Status.Final(), r.Error != "", !paused.IsZero()
		k.is["overtaken"], k.is["in-grace"] = job != nil && job.Attempt > r.Attempt, r.Age < j.Limits.Grace
		k.text["exact-id"], k.text["record-id"], k.text["record-status"], k.text["report-quoted"] = r.ID, strconv.Quote(r.ID), strconv.Quote(string(r.Status)), strconv.Quote(r.Report)
		k.text["file"], k.text["record-error"], k.text["record-attempt"], k.text["record-age"] = r.File, r.Error, integer(r.Attempt), words.Short(r.Age)
		k.text["report"], k.text["report-paused"], k.at["grace-over"] = r.Report, words.Stamp(paused), j.Now.Add(j.Limits.Grace-r.Age)
	}
	if job != nil {
		last := j.Seen.Last[job.member()]
		k.is["state"], k.is["state-runs"], k.is["seen"] = true, job.runs(), !last.IsZero()
		k.is["deadline-missed"], k.is["deadline-ahead"] = !job.committed() && j.Now.Sub(job.Deadline) > Missed, !j.Now.After(job.Deadline)
		k.is["some-done"], k.text["done"], k.text["target"] = job.Done > 0 && job.Done < job.Target, integer(job.Done), integer(job.Target)
		k.text["deadline"], k.at["deadline"], k.text["job-status"] = words.When(job.Deadline, j.Now), job.Deadline, job.Status
		k.text["seen"], k.at["restart"], k.text["next-attempt"] = words.When(last, j.Now), last.Add(j.Limits.Grace), integer(job.Attempt+1)
	}
	if w := j.worst; w != nil {
		k.is["worst-running"], k.is["worst-ending"] = w.kind == KindRunning, w.kind == KindEnding
		k.text["worst-title"], k.text["worst-says"] = title(w.Name), w.says
	}
	var names []string
	for _, s := range j.steps {
		names = append(names, title(s.Name))
	}
	k.text["names"] = strings.Join(names, ", ")
	if push != nil {
		k.is["push-due"], k.is["push-of-id"], k.text["poll"] = push.Due != nil, push.later.Step == "", integer(push.later.Attempt)
		k.text["push-score"] = fmt.Sprint(push.Score)
		if push.Due != nil {
			k.is["push-missed"], k.text["push-due"], k.at["push-due"] = j.Now.Sub(*push.Due) > Missed, words.When(*push.Due, j.Now), *push.Due
		}
	}
	if e != nil {
		k.is["read"], k.is["silent"], k.text["reader"], k.text["read-ago"] = e.Consumer != "", e.Idle > j.Limits.Lease, e.Consumer, words.Short(e.Idle)
		k.is["ids-before-none"], k.text["ids-before"] = e.Ahead == 0, integer(e.Ahead)
	}
	if a := j.Aside; a != nil {
		k.text["aside-at"], k.text["aside-reason"], k.text["aside-stream"] = words.When(a.At, j.Now), a.Reason, a.Stream
		k.is["entry-known"], k.text["aside-entry"] = true, a.Entry
		if id := a.exactID(); id != "" {
			k.text["exact-id"] = id
		}
		k.is["other-form"] = a.exactID() != ""
	}
	return k
}

// outer names the facts that the rules of jobs and of steps share.
func (f *facts) outer() *known {
	k := &known{
		is:   map[string]bool{"runs": f.runs(), "orphan": f.orphan(), "definition": f.definition() != nil},
		text: map[string]string{"id": f.ID, "cli": f.CLI, "jobs": f.Keys.Jobs, "delayed": f.Keys.Delayed},
	}
	if f.Job != nil {
		k.is["failing"], k.is["committed"], k.text["reason"] = f.Job.failing(), f.Job.committed(), f.Job.Reason
		k.text["job-attempt"], k.text["job-report"], k.text["definition"] = integer(f.Job.Attempt), f.Job.Report, f.Job.Definition
	}
	return k
}

func integer(n int64) string { return strconv.FormatInt(n, 10) }

// text returns the text of an error, or nothing for nil.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

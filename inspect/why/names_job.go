package why

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// ofJob has the names of the facts of a job.
var ofJob = table[*diagnosis]{
	is: map[string]func(*diagnosis) bool{
		// The servers.
		"wrong-type":   func(d *diagnosis) bool { return scripts.WrongType(d.RedisErr) },
		"redis-denies": func(d *diagnosis) bool { return scripts.Denied(d.RedisErr) },
		"redis-away":   func(d *diagnosis) bool { return d.RedisErr != nil },
		"records-away": func(d *diagnosis) bool { return d.RecordErr != nil },
		"full-memory":  func(d *diagnosis) bool { return d.Memory > d.Limits.RedisMemoryPercent },
		"full":         func(d *diagnosis) bool { return d.Running >= int64(d.Limits.RunningJobs) },

		// The record.
		"record":        func(d *diagnosis) bool { return d.Record != nil },
		"other-id":      func(d *diagnosis) bool { return d.Record != nil && d.record.ID != d.ID },
		"pending":       func(d *diagnosis) bool { return d.record.Status == report.Pending },
		"processing":    func(d *diagnosis) bool { return d.record.Status == report.Processing },
		"success":       func(d *diagnosis) bool { return d.record.Status == report.Success },
		"partial":       func(d *diagnosis) bool { return d.record.Status == report.Partial },
		"failed":        func(d *diagnosis) bool { return d.record.Status == report.Failed },
		"cancelled":     func(d *diagnosis) bool { return d.record.Status == report.Cancelled },
		"final":         func(d *diagnosis) bool { return d.Record != nil && d.record.Status.Final() },
		"record-error":  func(d *diagnosis) bool { return d.record.Error != "" },
		"in-grace":      func(d *diagnosis) bool { return d.record.Age < d.Limits.RecoverAfter },
		"dead":          func(d *diagnosis) bool { return !d.Dead.IsZero() },
		"kept":          func(d *diagnosis) bool { return d.Kept.Offer() != "" },
		"report":        func(d *diagnosis) bool { return d.Report != nil },
		"report-paused": func(d *diagnosis) bool { return d.Record != nil && d.reportPaused() },

		"parameters-refused": (*diagnosis).parametersRefused,

		// The state.
		"broken-state":    func(d *diagnosis) bool { return d.JobErr != nil },
		"state":           func(d *diagnosis) bool { return d.Job != nil },
		"state-runs":      func(d *diagnosis) bool { return d.Job != nil && d.Job.Runs() },
		"overtaken":       func(d *diagnosis) bool { return d.Record != nil && d.state.Attempt > d.record.Attempt },
		"seen":            func(d *diagnosis) bool { return !d.lastSeen().IsZero() },
		"restarts":        func(d *diagnosis) bool { return d.Report != nil && !d.report.WaitOnChange },
		"deadline-waits":  func(d *diagnosis) bool { return d.definition() != nil && d.report.DeadlineWaits },
		"deadline-missed": (*diagnosis).deadlineMissed,
		"deadline-ahead":  func(d *diagnosis) bool { return !d.Now.After(d.state.Deadline) },
		"spooled":         func(d *diagnosis) bool { return d.Job != nil && d.state.InSpool() > 0 },
		"some-done":       func(d *diagnosis) bool { return d.state.Done > 0 && d.state.Done < d.state.Target },
		"worst":           func(d *diagnosis) bool { return d.worst != nil },
		"several":         func(d *diagnosis) bool { return len(d.steps) > 1 },
		"worst-running":   func(d *diagnosis) bool { return d.worst != nil && d.worst.kind == KindRunning },
		"worst-ending":    func(d *diagnosis) bool { return d.worst != nil && d.worst.kind == KindEnding },

		// Its place in the queue.
		"push":            func(d *diagnosis) bool { return d.push() != nil },
		"push-due":        func(d *diagnosis) bool { return !d.pushDue().IsZero() },
		"push-missed":     func(d *diagnosis) bool { return d.Now.Sub(d.pushDue()) > inspect.Missed },
		"push-of-id":      func(d *diagnosis) bool { return d.push() != nil && d.push().Step() == "" },
		"contender":       func(d *diagnosis) bool { return d.Contender },
		"limited":         func(d *diagnosis) bool { return d.Limited },
		"limited-by-hand": func(d *diagnosis) bool { return d.limit() != nil },
		"stopped":         func(d *diagnosis) bool { return d.Stopped.Jobs > 0 },
		"shares":          func(d *diagnosis) bool { return d.Leader != "" },
		"leader-unknown":  func(d *diagnosis) bool { return d.LeaderErr != nil },
		"parked":          func(d *diagnosis) bool { return d.Place != nil },
		"lane-full":       laneFull,
		"class-full":      classFull,
		"queued":          func(d *diagnosis) bool { return d.Jobs.Entry != nil },
		"ids-before-none": func(d *diagnosis) bool { return d.entry().Ahead == 0 },
		"read":            func(d *diagnosis) bool { return d.entry().Consumer != "" },
		"silent":          func(d *diagnosis) bool { return d.entry().Idle > d.Limits.Lease },
		"alive":           func(d *diagnosis) bool { return d.live(d.Jobs) > 0 },
		"jobs-whole":      func(d *diagnosis) bool { return d.Jobs.Whole },

		"quarantined":      func(d *diagnosis) bool { return d.Quarantined != nil },
		"quarantine-whole": func(d *diagnosis) bool { return d.QuarantineWhole },
		"other-form":       func(d *diagnosis) bool { return d.quarantined().ExactID() != "" },
	},
	text: map[string]func(*diagnosis) string{
		"redis-error":   func(d *diagnosis) string { return text(d.RedisErr) },
		"records-error": func(d *diagnosis) string { return text(d.RecordErr) },
		"memory":        func(d *diagnosis) string { return strconv.Itoa(d.Memory) },
		"memory-max":    func(d *diagnosis) string { return strconv.Itoa(d.Limits.RedisMemoryPercent) },
		"jobs-running":  func(d *diagnosis) string { return words.Grouped(d.Running) },
		"jobs-max":      func(d *diagnosis) string { return strconv.Itoa(d.Limits.RunningJobs) },
		"lease":         func(d *diagnosis) string { return words.Short(d.Limits.Lease) },
		"grace":         func(d *diagnosis) string { return words.Short(d.Limits.RecoverAfter) },
		"polls":         func(*diagnosis) string { return strconv.Itoa(len(report.RecordPolls)) },

		"record-id":      func(d *diagnosis) string { return strconv.Quote(d.record.ID) },
		"exact-id":       func(d *diagnosis) string { return d.exactID() },
		"record-status":  func(d *diagnosis) string { return strconv.Quote(string(d.record.Status)) },
		"record-error":   func(d *diagnosis) string { return d.record.Error },
		"record-attempt": func(d *diagnosis) string { return words.Grouped(d.record.Attempt) },
		"record-age":     func(d *diagnosis) string { return words.Short(d.record.Age) },
		"file":           func(d *diagnosis) string { return d.record.File },
		"kept":           func(d *diagnosis) string { return d.Kept.Offer() },
		"dead-since":     func(d *diagnosis) string { return words.Stamp(d.Dead) },
		"report":         func(d *diagnosis) string { return d.record.Report },
		"report-quoted":  func(d *diagnosis) string { return strconv.Quote(d.record.Report) },
		"leader":         func(d *diagnosis) string { return d.Leader },
		"leader-error":   func(d *diagnosis) string { return text(d.LeaderErr) },
		"report-limit": func(d *diagnosis) string {
			return strconv.Itoa(d.Holds.Limit(scripts.PausedReport(d.report.Name), d.report.Running))
		},
		"report-limited": func(d *diagnosis) string {
			return inspect.HoldText(*d.limit())
		},
		"report-paused": func(d *diagnosis) string {
			return inspect.HoldText(d.Holds[scripts.PausedReport(d.record.Report)])
		},

		"stopped-jobs":  func(d *diagnosis) string { return words.Grouped(d.Stopped.Jobs) },
		"stopped-of":    func(d *diagnosis) string { return words.Grouped(d.Stopped.Of) },
		"stopped-title": func(d *diagnosis) string { return inspect.HoldTitle(d.Sources, d.Stopped.What) },
		"stopped-name":  func(d *diagnosis) string { return strings.Replace(d.Stopped.What, "/", " ", 1) },
		"stopped-since": func(d *diagnosis) string { return inspect.HoldText(d.Holds[d.Stopped.What]) },

		"lane":          func(d *diagnosis) string { return report.LaneText(d.place().Lane) },
		"lane-place":    func(d *diagnosis) string { return words.Grouped(d.place().Before + 1) },
		"lane-queue":    func(d *diagnosis) string { return words.Grouped(d.place().Queue) },
		"lane-running":  func(d *diagnosis) string { return words.Grouped(d.place().Running) },
		"lane-limit":    func(d *diagnosis) string { return strconv.Itoa(d.lanes().Running) },
		"lanes-running": func(d *diagnosis) string { return words.Grouped(d.place().All) },
		"class":         func(d *diagnosis) string { return d.place().Class },
		"class-running": func(d *diagnosis) string { return words.Grouped(d.place().OfClass) },
		"class-limit":   func(d *diagnosis) string { return strconv.Itoa(classLimit(d)) },

		"state-error":  func(d *diagnosis) string { return text(d.JobErr) },
		"job-status":   func(d *diagnosis) string { return d.state.Status },
		"next-attempt": func(d *diagnosis) string { return words.Grouped(d.state.Attempt + 1) },
		"done":         func(d *diagnosis) string { return words.Grouped(d.state.Done) },
		"target":       func(d *diagnosis) string { return words.Grouped(d.state.Target) },
		"data":         (*diagnosis).data,
		"deadline":     func(d *diagnosis) string { return words.When(d.state.Deadline, d.Now) },
		"seen":         func(d *diagnosis) string { return words.When(d.lastSeen(), d.Now) },
		"names":        (*diagnosis).titles,
		"worst-title":  func(d *diagnosis) string { return title(d.worst.Name) },
		"worst-says":   func(d *diagnosis) string { return d.worst.says },

		"push-score":    func(d *diagnosis) string { return fmt.Sprint(d.push().Score) },
		"push-due":      func(d *diagnosis) string { return words.When(d.pushDue(), d.Now) },
		"poll":          func(d *diagnosis) string { return words.Grouped(d.push().Attempt()) },
		"ids-before":    func(d *diagnosis) string { return words.Grouped(d.entry().Ahead) },
		"reader":        func(d *diagnosis) string { return d.entry().Consumer },
		"read-ago":      func(d *diagnosis) string { return words.Short(d.entry().Idle) },
		"jobs-searched": func(d *diagnosis) string { return words.Grouped(d.Jobs.Searched) },

		"quarantined-at":     func(d *diagnosis) string { return words.When(d.quarantined().At, d.Now) },
		"quarantined-reason": func(d *diagnosis) string { return d.quarantined().Reason },
		"quarantined-stream": func(d *diagnosis) string { return d.quarantined().Stream },
		"quarantined-entry":  func(d *diagnosis) string { return d.quarantined().Entry },
	},
	at: map[string]func(*diagnosis) time.Time{
		"takeover":   func(d *diagnosis) time.Time { return d.Now.Add(d.Limits.Lease) },
		"grace-over": func(d *diagnosis) time.Time { return d.Now.Add(d.Limits.RecoverAfter - d.record.Age) },
		"deadline":   func(d *diagnosis) time.Time { return d.state.Deadline },
		"restart":    func(d *diagnosis) time.Time { return d.lastSeen().Add(d.Limits.RecoverAfter) },
		"push-due":   (*diagnosis).pushDue,
	},
}

// ofBoth has the names of facts that rules of jobs and of steps share.
var ofBoth = table[*facts]{
	is: map[string]func(*facts) bool{
		"runs":       (*facts).runs,
		"orphan":     (*facts).orphan,
		"definition": func(f *facts) bool { return f.definition() != nil },
		"failing":    func(f *facts) bool { return f.Job != nil && f.Job.Failing() },
		"committed":  func(f *facts) bool { return f.Job != nil && f.Job.Committed() },
	},
	text: map[string]func(*facts) string{
		"id":          func(f *facts) string { return f.ID },
		"cli":         func(f *facts) string { return f.CLI },
		"jobs":        func(f *facts) string { return f.Keys.Jobs },
		"delayed":     func(f *facts) string { return f.Keys.Delayed },
		"reason":      func(f *facts) string { return f.Job.Reason },
		"job-attempt": func(f *facts) string { return words.Grouped(f.Job.Attempt) },
		"job-report":  func(f *facts) string { return f.Job.Report },
		"definition":  func(f *facts) string { return f.Job.Definition },
	},
}

// limit returns the limit that people have set for the report; nil: none.
func (d *diagnosis) limit() *scripts.Hold {
	return limitOf(d.facts, scripts.PausedReport(d.report.Name))
}

// limitOf returns the limit that people have set for a source or a report; nil: none.
func limitOf(f *facts, what string) *scripts.Hold {
	if one, ok := f.Holds[scripts.LimitOf(what)]; ok {
		return &one
	}
	return nil
}

// reportPaused reports whether the report of the record is paused.
func (d *diagnosis) reportPaused() bool {
	_, ok := d.Holds[scripts.PausedReport(d.record.Report)]
	return ok
}

// lastSeen returns when a process last had the definition of the job.
func (d *diagnosis) lastSeen() time.Time { return d.Seen.Last[d.state.Member()] }

// deadlineMissed reports whether a scheduler should have failed the job.
func (d *diagnosis) deadlineMissed() bool {
	return d.Job != nil && !d.state.Committed() && d.Now.Sub(d.state.Deadline) > inspect.Missed
}

// parametersRefused reports whether the report does not accept the parameters of the record.
func (d *diagnosis) parametersRefused() bool {
	if d.Record == nil || d.Report == nil {
		return false
	}
	_, err := d.Report.Bind(d.record.Parameters, d.Now)
	return err != nil
}

// titles names the open steps.
func (d *diagnosis) titles() string {
	var names []string
	for _, s := range d.steps {
		names = append(names, title(s.Name))
	}
	return strings.Join(names, ", ")
}

// data says where the data of the job lies.
func (d *diagnosis) data() string {
	return inspect.Job{Bytes: d.state.Bytes, Spooled: d.state.InSpool()}.Where()
}

// pushDue returns when the id is pushed or its record polled; zero: that has no valid time.
func (d *diagnosis) pushDue() time.Time {
	if push := d.push(); push != nil && push.Due != nil {
		return *push.Due
	}
	return time.Time{}
}

// entry returns the entry of the id in the stream of jobs, or an empty one.
func (d *diagnosis) entry() entry {
	if d.Jobs.Entry != nil {
		return *d.Jobs.Entry
	}
	return entry{}
}

// quarantined returns the quarantined entry of the id, or an empty one.
func (d *diagnosis) quarantined() inspect.Quarantined {
	if d.Quarantined != nil {
		return *d.Quarantined
	}
	return inspect.Quarantined{}
}

// exactID returns the id as the record has it.
func (d *diagnosis) exactID() string { return cmp.Or(d.quarantined().ExactID(), d.record.ID) }

// title returns the name of a step in a sentence.
func title(step string) string {
	if step == job.StepFanIn {
		return "fan-in"
	}
	return step
}

// text returns the text of an error, or nothing for nil.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

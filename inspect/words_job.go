package inspect

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/fanfold/fanfold/report"
)

// jobWords are the words of jobRules and jobNotes.
var jobWords = words[*judged]{
	"id":      func(f *judged) string { return f.ID },
	"redis":   func(f *judged) string { return fmt.Sprint(f.RedisErr) },
	"records": func(f *judged) string { return fmt.Sprint(f.RecordErr) },
	"broken":  func(f *judged) string { return fmt.Sprint(f.JobErr) },
	"jobs":    func(f *judged) string { return f.Keys.Jobs() },
	"delayed": func(f *judged) string { return f.Keys.Delayed() },
	"grace":   func(f *judged) string { return short(f.Limits.Grace) },
	"lease":   func(f *judged) string { return short(f.Limits.Lease) },

	// Of the record.
	"record":     func(f *judged) string { return strconv.Quote(f.Record.ID) },
	"status":     func(f *judged) string { return strconv.Quote(string(f.Record.Status)) },
	"report":     func(f *judged) string { return f.Record.Report },
	"reportName": func(f *judged) string { return strconv.Quote(f.Record.Report) },
	"attempt":    func(f *judged) string { return number(f.Record.Attempt) },
	"age":        func(f *judged) string { return short(f.Record.Age) },
	"file":       func(f *judged) string { return f.Record.File },
	"error":      func(f *judged) string { return cmp.Or(f.Record.Error, "the record gives no reason") },
	"reason":     func(f *judged) string { return after(": ", f.Record.Error) },
	"without": func(f *judged) string {
		return cmp.Or(f.Record.Error, "without what some of its listeners should have given")
	},
	"paused": func(f *judged) string { return Stamp(f.pausedSince()) },
	"dead":   func(f *judged) string { return Stamp(f.Dead) },

	// Of the job.
	"jobReport":   func(f *judged) string { return f.Job.Report },
	"jobStatus":   func(f *judged) string { return f.Job.Status },
	"jobReason":   func(f *judged) string { return f.Job.Reason },
	"jobAttempt":  func(f *judged) string { return number(f.Job.Attempt) },
	"nextAttempt": func(f *judged) string { return number(f.Job.Attempt + 1) },
	"definition":  func(f *judged) string { return f.Job.Definition },
	"deadline":    func(f *judged) string { return When(f.Job.Deadline, f.Now) },
	"lastHad":     func(f *judged) string { return When(f.lastHad(), f.Now) },
	"done":        func(f *judged) string { return number(f.Job.Done) },
	"target":      func(f *judged) string { return number(f.Job.Target) },
	"steps":       (*judged).waitsFor,
	"worst":       (*judged).worstSays,

	// Of where it waits.
	"score":       func(f *judged) string { return fmt.Sprint(f.push().Score) },
	"due":         func(f *judged) string { return When(f.due(), f.Now) },
	"poll":        func(f *judged) string { return number(f.push().later.Attempt) },
	"polls":       func(*judged) string { return strconv.Itoa(len(report.RecordPolls)) },
	"reader":      func(f *judged) string { return f.Jobs.Entry.Consumer },
	"idle":        func(f *judged) string { return short(f.Jobs.Entry.Idle) },
	"behind":      func(f *judged) string { return behind(f.Jobs.Entry.Ahead) },
	"searched":    func(f *judged) string { return number(f.Jobs.Searched) },
	"running":     func(f *judged) string { return number(f.Running) },
	"maxRunning":  func(f *judged) string { return strconv.Itoa(f.Limits.RunningJobs) },
	"memory":      func(f *judged) string { return strconv.Itoa(f.Memory) },
	"maxMemory":   func(f *judged) string { return strconv.Itoa(f.Limits.Memory) },
	"aside":       func(f *judged) string { return When(f.Aside.At, f.Now) },
	"asideReason": func(f *judged) string { return f.Aside.Reason },
	"asideStream": func(f *judged) string { return f.Aside.Stream },
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

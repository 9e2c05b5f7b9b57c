package inspect

import "github.com/fanfold/fanfold/report"

// jobNotes say what else is to be known of a job, besides the rule that holds.
var jobNotes = []note{
	{when: func(f *judged) bool { return f.RedisErr != nil && f.RecordErr != nil },
		says: "The records' database does not answer, either: {records}."},
	{when: func(f *judged) bool { return f.missing() && f.runs() },
		says: "The record was deleted: the job runs to its end and leaves no file."},
	{when: func(f *judged) bool { return f.missing() && f.kind != KindNoRecord && !f.runs() },
		says: "There is no such record: its transaction may not be committed yet."},
	{when: func(f *judged) bool { return f.kind == KindLooking && f.Record != nil && f.Report == nil },
		says: "Its report {reportName} is not in this configuration."},
	{when: func(f *judged) bool { return f.kind == KindQuarantined && f.is(report.Pending) },
		says: "It is PENDING: once it has not changed for {grace}, it is started by itself. fanfold cancel {id} makes sure that it is not."},
	{when: func(f *judged) bool { return f.kind == KindStateless && f.Now.Before(f.graceEnds()) },
		at: (*judged).graceEnds, says: "its grace time of {grace} ends: the rebuild starts it with the next attempt"},
	{when: func(f *judged) bool { return f.kind == KindStateless && !f.Now.Before(f.graceEnds()) },
		says: "Its grace time of {grace} is over: the rebuild starts it with the next attempt, unless many are before it."},
	{when: func(f *judged) bool { return f.kind == KindEnded && !f.Dead.IsZero() },
		says: "It is listed as dead since {dead}; fanfold dead discard {id} takes it off the list."},
	{when: func(f *judged) bool { return f.kind == KindEnded && f.Job != nil && f.Job.runs() },
		says: "Its state in Redis still exists, and is deleted when its workers see that the record is final: at the latest when they have done their work."},

	// Of a job that runs.
	{when: func(f *judged) bool {
		return f.runs() && f.Job.failing() && f.worst != nil && f.worst.rule.kind != KindEnding
	},
		says: "The job is to fail: {jobReason}"},
	{when: func(f *judged) bool { return f.kind == KindNoDefinition },
		says: "The configuration has changed since its start."},
	{when: func(f *judged) bool { return f.kind == KindNoDefinition && !f.lastHad().IsZero() },
		says: "A process had it last {lastHad}."},
	{when: func(f *judged) bool {
		return f.kind == KindNoDefinition && f.Report != nil && f.Report.RestartOnChange && !f.lastHad().IsZero()
	},
		at:   (*judged).restart,
		says: "attempt {nextAttempt} starts with today's definition (on_change: restart), unless a process with the old one comes back"},
	{when: func(f *judged) bool {
		return f.runs() && f.kind != KindNoDefinition && f.kind != KindLost && f.definition() == nil
	},
		says: "It runs with a definition of its report that this configuration does not have: only a process that has it continues the job."},
	{when: func(f *judged) bool { r := f.definition(); return f.kind == KindPaused && r != nil && r.DeadlineWaits },
		says: "Its deadline moves by the time of the pause."},
	{when: func(f *judged) bool { return f.ends() && !f.Now.After(f.Job.Deadline) },
		at: (*judged).deadline, says: "its deadline: the job fails"},
	{when: func(f *judged) bool { return f.ends() && f.Now.After(f.Job.Deadline) && f.kind != KindNoScheduler },
		says: "Its deadline was {deadline}."},
	{when: func(f *judged) bool { return f.RedisErr == nil && f.RecordErr != nil },
		says: "Jobs start and end only when it answers; writing a final status is tried without limit, and outages do not count as tries."},
}

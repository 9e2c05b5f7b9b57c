package inspect

import (
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
)

// What can be done about a job, in the words of its rules.
const (
	retryIt  = "fanfold retry {id} runs it again"
	submitIt = "fanfold submit {id}"
	runNow   = "fanfold delay run {id} runs it now"
)

// jobRules say what keeps a job. A job that runs is kept by its worst step, unless a rule
// before that one holds.
var jobRules = []rule[*judged]{
	{kind: KindWrongType, when: func(f *judged) bool { return redis.HasErrorPrefix(f.RedisErr, "WRONGTYPE") },
		says: "A key of Fanfold has another type: {redis}.",
		more: []string{"Whatever needs that key waits; other jobs continue."},
		do:   []string{"look at the key, and rename or delete it if it is not Fanfold's: what was lost is sent again"}},
	{kind: KindRedisAway, when: func(f *judged) bool { return f.RedisErr != nil },
		says: "Redis does not answer: {redis}.",
		more: []string{"Nothing can go on until it does; workers wait for it, and outages do not count as tries."}},

	// The record is final, or not this one.
	{kind: KindOtherID, when: func(f *judged) bool { return f.Record != nil && f.Record.ID != f.ID },
		says: "The database finds the record {record} for this id: push exactly that."},
	{kind: KindEnded, when: func(f *judged) bool { return f.is(report.Success) },
		says: "It is done: {file}"},
	{kind: KindEnded, when: func(f *judged) bool { return f.is(report.Partial) },
		says: "It is done in part: {file}",
		more: []string{"It is {without}."},
		do:   []string{"fanfold retry {id} makes it again"}},
	{kind: KindEnded, when: func(f *judged) bool { return f.is(report.Failed) },
		says: "It has failed: {error}",
		do:   []string{retryIt}},
	{kind: KindEnded, when: func(f *judged) bool { return f.is(report.Cancelled) },
		says: "It was cancelled{reason}",
		do:   []string{retryIt}},
	{kind: KindEnded, when: (*judged).final,
		says: "Its status is {status}, which this configuration does not map: it counts as final."},
	{kind: KindBrokenState, when: func(f *judged) bool { return f.JobErr != nil },
		says: "The key of its state holds something else: {broken}.",
		do:   []string{"look at the key, and delete it if it is not Fanfold's"}},

	// The job runs.
	{kind: KindNoDefinition, when: func(f *judged) bool { return f.runs() && f.orphan() && f.Report == nil },
		says: "It stands still: no process has the definition of report {jobReport} that it was started with ({definition}).",
		do:   []string{"start a process with a configuration that has report {jobReport} as it was, or fanfold cancel {id}"}},
	{kind: KindNoDefinition, when: func(f *judged) bool { return f.runs() && f.orphan() },
		says: "It stands still: no process has the definition of report {jobReport} that it was started with ({definition}).",
		do: []string{
			"fanfold adopt {id} starts its next attempt with today's definition; fanfold adopt --report {jobReport} does so for all such jobs of its report",
			"or start a process with the configuration as it was",
		}},
	{kind: KindNoScheduler, when: func(f *judged) bool { return f.runs() && !f.Job.committed() && f.Now.Sub(f.Job.Deadline) > missed },
		says: "Its deadline was {deadline}, and no scheduler has failed it.",
		do:   []string{schedulerMissing}},
	{kind: KindEnding, when: func(f *judged) bool { return f.runs() && f.worst == nil },
		says: "All listeners are done, and the job is on its way to fan-in."},
	{kind: KindBarrier, when: func(f *judged) bool {
		return f.runs() && f.worst.rule.kind == KindRunning && f.Job.Done > 0 && f.Job.Done < f.Job.Target
	},
		says: "{done} of {target} listeners are done. It waits for {steps}: {worst}"},
	{when: (*judged).runs,
		says: "It waits for {steps}: {worst}"},
	{kind: KindSuperseded, when: func(f *judged) bool { return f.Job != nil && f.Record != nil && f.Job.Attempt > f.Record.Attempt },
		says: "Redis has attempt {jobAttempt} of the job, the record attempt {attempt}: the record was changed.",
		more: []string{"The job ends as SUPERSEDED, without a file; then the record can be pushed again."}},

	// The id waits to be started.
	{kind: KindDelayed, when: func(f *judged) bool { return f.push() != nil && f.push().Due == nil },
		says: "It waits in {delayed} with the score {score}, which is not a time: it is quarantined.",
		do:   []string{"fanfold delay run {id}"}},
	{kind: KindNoScheduler, when: func(f *judged) bool { return f.push() != nil && f.Now.Sub(f.due()) > missed },
		says: "It was due {due}, and no scheduler has moved it.",
		do:   []string{schedulerMissing}},
	{kind: KindDelayed, when: func(f *judged) bool { return f.push() != nil && f.push().later.Step == "" },
		says: "It was pushed for later and is due {due}.",
		do:   []string{runNow},
		at:   (*judged).due, then: "it is pushed into {jobs}"},
	{kind: KindLooking, when: func(f *judged) bool { return f.push() != nil },
		says: "It was pushed and could not be started; poll {poll} of {polls} comes {due}.",
		at:   (*judged).due, then: "the trigger reads the record again; after the last poll the id is quarantined"},
	{kind: KindWorkerDead, when: func(f *judged) bool { return f.triggerDead() && f.live(f.Jobs) > 0 },
		says: "The trigger {reader} read it {idle} ago and is silent since then.",
		at:   func(f *judged) time.Time { return f.Now.Add(f.Limits.Lease) }, then: "by then another worker takes it over"},
	{kind: KindWorkerDead, when: (*judged).triggerDead,
		says: "The trigger {reader} read it {idle} ago and is silent since then.",
		more: []string{"No worker reads {jobs} that could take it over."},
		do:   []string{engineMissing}},
	{kind: KindStarting, when: func(f *judged) bool { return f.Jobs.Entry != nil && f.Jobs.Entry.Consumer != "" },
		says: "The trigger {reader} read it {idle} ago and is starting it.",
		more: []string{"If that process dies, another one takes over within {lease} of silence."}},
	{kind: KindNoWorker, when: func(f *judged) bool { return f.Jobs.Entry != nil && f.live(f.Jobs) == 0 },
		says: "It waits in {jobs}{behind}, and no process reads that stream: none runs with the role engine.",
		do:   []string{engineMissing}},
	{kind: KindNoRoom, when: func(f *judged) bool { return f.Jobs.Entry != nil && f.Memory > f.Limits.Memory },
		says: "It waits in {jobs}{behind}: Redis has used {memory} % of its memory, and above {maxMemory} % no job is started.",
		do:   []string{"wait for running jobs to end, give Redis more maxmemory, or raise limits.memory"}},
	{kind: KindNoRoom, when: func(f *judged) bool { return f.Jobs.Entry != nil && f.Running >= int64(f.Limits.RunningJobs) },
		says: "It waits in {jobs}{behind} until a running job ends: {running} jobs run, as many as limits.running_jobs allows.",
		more: []string{"No deadline runs while it waits."},
		do:   []string{"wait, or raise limits.running_jobs"}},
	{kind: KindQueued, when: func(f *judged) bool { return f.Jobs.Entry != nil },
		says: "It waits in {jobs}{behind}.",
		more: []string{"{running} jobs run; limits.running_jobs is {maxRunning}."}},
	{kind: KindQuarantined, when: func(f *judged) bool { return f.Aside != nil },
		says: "It was quarantined {aside}: {asideReason}.",
		more: []string{"It came by {asideStream}. The record was not changed."},
		do:   []string{"correct what the reason names, then " + submitIt}},

	// Nothing in Redis leads to it.
	{kind: KindRecordsAway, when: func(f *judged) bool { return f.RecordErr != nil }},
	{kind: KindNoRecord, when: func(f *judged) bool { return f.Record == nil && f.Job != nil },
		says: "There is no record with this id any more; its job has ended as {jobStatus}."},
	{kind: KindNoRecord, when: func(f *judged) bool { return f.Record == nil && (!f.Jobs.Whole || !f.AsideWhole) },
		says: "There is no record with this id, and no trace of the id in the part of Redis that was searched."},
	{kind: KindNoRecord, when: func(f *judged) bool { return f.Record == nil },
		says: "There is no record with this id, and no trace of the id in Redis."},
	{kind: KindPaused, when: func(f *judged) bool { return !f.pausedSince().IsZero() },
		says: "Its report {report} is paused since {paused}.",
		more: []string{"No deadline runs while it waits."},
		do:   []string{"fanfold resume report {report}"}},
	{kind: KindUnknownReport, when: func(f *judged) bool { return f.Report == nil },
		says: "Its report {reportName} is not in this configuration, and the id waits nowhere.",
		do:   []string{"add the report to the configuration of every process, then " + submitIt}},
	{kind: KindStateless, when: func(f *judged) bool { return f.is(report.Processing) },
		says: "The record is PROCESSING, and Redis has no state of attempt {attempt}.",
		more: []string{"Redis has lost its memory, or a process died between record and state."},
		do:   []string{submitIt + " starts it once its grace time is over"}},
	{kind: KindQueued, when: func(f *judged) bool { return !f.Jobs.Whole },
		says: "The record is PENDING; if its id was pushed, at least {searched} others are before it.",
		more: []string{"{running} jobs run; limits.running_jobs is {maxRunning}."}},
	{kind: KindNotPushed, when: func(*judged) bool { return true },
		says: "The record is PENDING, and its id was not pushed.",
		more: []string{
			"It has not changed for {age}; the id is neither in {jobs} nor in {delayed}.",
			"Once it has not changed for {grace}, a rebuild starts it by itself, unless records.filter excludes it; a rebuild runs every few minutes.",
		},
		do: []string{submitIt}},
}

package inspect

// jobRule says what keeps a job. A job that runs is kept by its worst step, unless a branch before
// that one holds.
var jobRule = rule{
	{when: "wrong-type", kind: KindWrongType, says: "A key of Fanfold has another type: {redis-error}.",
		more: []string{"Whatever needs that key waits; other jobs continue."},
		do:   []string{"look at the key, and rename or delete it if it is not Fanfold's: what was lost is sent again"}},
	{when: "redis-away", kind: KindRedisAway, says: "Redis does not answer: {redis-error}.",
		more: []string{"Nothing can go on until it does; workers wait for it, and outages do not count as tries."}},

	// The record is final, or not this one.
	{when: "other-id", kind: KindOtherID, says: "The database finds the record {record-id} for this id: push exactly that."},
	{when: "success", kind: KindEnded, says: "It is done: {file}"},
	{when: "partial", kind: KindEnded, says: "It is done in part: {file}", more: []string{"It is {without}."}, do: []string{"fanfold retry {id} makes it again"}},
	{when: "failed", kind: KindEnded, says: "It has failed: {why-failed}", do: []string{"{retry}"}},
	{when: "cancelled", kind: KindEnded, says: "It was cancelled{by-whom}", do: []string{"{retry}"}},
	{when: "final", kind: KindEnded, says: "Its status is {record-status}, which this configuration does not map: it counts as final."},
	{when: "broken-state", kind: KindBrokenState, says: "The key of its state holds something else: {state-error}.", do: []string{"look at the key, and delete it if it is not Fanfold's"}},

	// It runs.
	{when: "runs orphan !report", kind: KindNoDefinition, says: "{stands}",
		do: []string{"start a process with a configuration that has report {job-report} as it was, or fanfold cancel {id}"}},
	{when: "runs orphan", kind: KindNoDefinition, says: "{stands}", do: []string{
		"fanfold adopt {id} starts its next attempt with today's definition; fanfold adopt --report {job-report} does so for all such jobs of its report",
		"or start a process with the configuration as it was",
	}},
	{when: "runs deadline-missed", kind: KindNoScheduler, says: "Its deadline was {deadline}, and no scheduler has failed it.", do: []string{SchedulerMissing}},
	{when: "runs !worst", kind: KindEnding, says: "All listeners are done, and the job is on its way to fan-in."},
	{when: "runs worst-running some-done", kind: KindBarrier, says: "{done} of {target} listeners are done. {waits-for}"},
	{when: "runs", says: "{waits-for}"},
	{when: "overtaken", kind: KindSuperseded, says: "Redis has attempt {job-attempt} of the job, the record attempt {record-attempt}: the record was changed.",
		more: []string{"The job ends as SUPERSEDED, without a file; then the record can be pushed again."}},

	// Its id is in the delayed set.
	{when: "push !push-due", kind: KindDelayed, says: "It waits in {delayed} with the score {push-score}, which is not a time: it is quarantined.", do: []string{"fanfold delay run {id}"}},
	{when: "push push-missed", kind: KindNoScheduler, says: "It was due {push-due}, and no scheduler has moved it.", do: []string{SchedulerMissing}},
	{when: "push push-of-id", kind: KindDelayed, says: "It was pushed for later and is due {push-due}.", do: []string{"fanfold delay run {id} runs it now"},
		at: "push-due", then: "it is pushed into {jobs}"},
	{when: "push", kind: KindLooking, says: "It was pushed and could not be started; poll {poll} of {polls} comes {push-due}.",
		at: "push-due", then: "the trigger reads the record again; after the last poll the id is quarantined"},

	// Its id is in the stream of jobs.
	{when: "queued read silent alive", kind: KindWorkerDead, says: "{read}silent since then.", at: "takeover", then: "by then another worker takes it over"},
	{when: "queued read silent", kind: KindWorkerDead, says: "{read}silent since then.", more: []string{"No worker reads {jobs} that could take it over."}, do: []string{engineMissing}},
	{when: "queued read", kind: KindStarting, says: "{read}starting it.", more: []string{"If that process dies, another one takes over within {lease} of silence."}},
	{when: "queued !alive", kind: KindNoWorker, says: "{in-jobs}, and no process reads that stream: none runs with the role engine.", do: []string{engineMissing}},
	{when: "queued full-memory", kind: KindNoRoom, says: "{in-jobs}: Redis has used {memory} % of its memory, and above {memory-max} % no job is started.",
		do: []string{"wait for running jobs to end, give Redis more maxmemory, or raise limits.memory"}},
	{when: "queued full", kind: KindNoRoom, says: "{in-jobs} until a running job ends: {jobs-run}, as many as limits.running_jobs allows.",
		more: []string{"No deadline runs while it waits."}, do: []string{"wait, or raise limits.running_jobs"}},
	{when: "queued", kind: KindQueued, says: "{in-jobs}.", more: []string{"{running}"}},
	{when: "aside", kind: KindQuarantined, says: "It was quarantined {aside-at}: {aside-reason}.",
		more: []string{"It came by {aside-stream}. The record was not changed."}, do: []string{"correct what the reason names, then {submit}"}},
	{when: "records-away", kind: KindRecordsAway},

	// Nothing in Redis leads to it.
	{when: "report-paused", kind: KindPaused, says: "Its report {report} is paused since {report-paused}.",
		more: []string{"No deadline runs while it waits."}, do: []string{"fanfold resume report {report}"}},
	{when: "redis-alone state", kind: KindEnded, says: "Its job has ended as {job-status}: {job-end}"},
	{when: "redis-alone dead", kind: KindEnded, says: "It has failed.", do: []string{"{retry}"}},
	{when: "redis-alone !jobs-whole", kind: KindQueued, says: "Redis has no job of {id}, and the id is not among the {jobs-searched} that were searched in {jobs}."},
	{when: "redis-alone", kind: KindNoRecord, says: "Redis has no job of {id}, and the id waits nowhere: it was not pushed, or its job ended more than a minute ago."},
	{when: "!record state", kind: KindNoRecord, says: "There is no record with this id any more; its job has ended as {job-status}."},
	{when: "!record jobs-whole aside-whole", kind: KindNoRecord, says: "There is no record with this id, and no trace of the id in Redis."},
	{when: "!record", kind: KindNoRecord, says: "There is no record with this id, and no trace of the id in the part of Redis that was searched."},
	{when: "!report", kind: KindUnknownReport, says: "Its report {report-quoted} is not in this configuration, and the id waits nowhere.",
		do: []string{"add the report to the configuration of every process, then {submit}"}},
	{when: "processing", kind: KindStateless, says: "The record is PROCESSING, and Redis has no state of attempt {record-attempt}.",
		more: []string{"Redis has lost its memory, or a process died between record and state."}, do: []string{"{submit} starts it once its grace time is over"}},
	{when: "!jobs-whole", kind: KindQueued, says: "The record is PENDING; if its id was pushed, at least {jobs-searched} others are before it.", more: []string{"{running}"}},
	{when: "", kind: KindNotPushed, says: "The record is PENDING, and its id was not pushed.", do: []string{"{submit}"}, more: []string{
		"It has not changed for {record-age}; the id is neither in {jobs} nor in {delayed}.",
		"Once it has not changed for {grace}, a rebuild starts it by itself, unless records.filter excludes it; a rebuild runs every few minutes.",
	}},
}

// notes say what else is to be known of a job, besides what keeps it: each rule, what it says or
// what comes.
var notes = []rule{
	{
		{when: "redis-away records-away", says: "The records' database does not answer, either: {records-error}."},
		{when: "redis-away"}, {when: "records-away"}, {when: "record"}, {when: "redis-alone"},
		{when: "runs", says: "The record was deleted: the job runs to its end and leaves no file."},
		{when: "!=no-record", says: "There is no such record: its transaction may not be committed yet."},
	},
	{{when: "=looking record !report", says: "Its report {report-quoted} is not in this configuration."}},
	{{when: "=quarantined pending", says: "It is PENDING: once it has not changed for {grace}, it is started by itself. fanfold cancel {id} makes sure that it is not."}},
	{
		{when: "=stateless in-grace", at: "grace-over", then: "its grace time of {grace} ends: the rebuild starts it with the next attempt"},
		{when: "=stateless", says: "Its grace time of {grace} is over: the rebuild starts it with the next attempt, unless many are before it."},
	},
	{{when: "=ended dead", says: "It is listed as dead since {dead-since}; fanfold dead discard {id} takes it off the list."}},
	{{when: "=ended state-runs", says: "Its state in Redis still exists, and is deleted when its workers see that the record is final: at the latest when they have done their work."}},
	{{when: "=no-definition", says: "The configuration has changed since its start."}},
	{{when: "=no-definition seen", says: "A process had it last {seen}."}},
	{{when: "=no-definition seen report restarts", at: "restart", then: "attempt {next-attempt} starts with today's definition (on_change: restart), unless a process with the old one comes back"}},
	{{when: "=paused deadline-waits", says: "Its deadline moves by the time of the pause."}},
	{{when: "runs failing worst !worst-ending", says: "The job is to fail: {reason}"}},
	{{when: "runs !=no-definition !=lost !definition", says: "It runs with a definition of its report that this configuration does not have: only a process that has it continues the job."}},
	{
		{when: "deadline-counts deadline-ahead", at: "deadline", then: "its deadline: the job fails"},
		{when: "deadline-counts !=no-scheduler", says: "Its deadline was {deadline}."},
	},
	{{when: "records-away !redis-away", says: "Jobs start and end only when it answers; writing a final status is tried without limit, and outages do not count as tries."}},
	{{when: "redis-alone", says: "Redis alone knows neither the record nor whether databases and APIs answer: fanfold why {id} asks them, too."}},
}

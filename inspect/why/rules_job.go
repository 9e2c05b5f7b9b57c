package why

// jobRules say what a job waits for. A job that runs waits for its worst step, unless a rule before
// that one holds.
var jobRules = rules{
	{
		when: "wrong-type", kind: KindWrongType,
		says: "A key of Fanfold has another type: {redis-error}.",
		more: []string{"Jobs that need this key wait; other jobs continue."},
		do:   []string{"inspect the key, and rename or delete it if it is not Fanfold's; lost messages are sent again"},
	},
	{
		when: "redis-denies", kind: KindRedisDenies,
		says: "Redis answers, but denies a command to the user of this configuration: {redis-error}.",
		more: []string{"If the processes have the same user, jobs wait until it gets the right; no try is used."},
		do:   []string{"grant the right with ACL SETUSER: the guide Security lists all that Fanfold needs"},
	},
	{
		when: "redis-away", kind: KindRedisAway,
		says: "Redis does not answer: {redis-error}.",
		more: []string{
			"All jobs stand still until it answers. Workers wait for it, and outages do not count as tries.",
		},
	},

	// The record is final, or not this one.
	{
		when: "other-id", kind: KindOtherID,
		says: "The database finds the record {record-id} for this id: push exactly that id.",
		do:   []string{"{submit-exact}"},
	},
	{when: "success", kind: KindEnded, says: "It is done: {file}"},
	{
		when: "partial", kind: KindEnded,
		says: "It is done in part: {file}",
		more: []string{"The file is not complete: {without}."},
		do:   []string{"fanfold retry {id} makes the file again"},
	},
	{
		when: "failed parameters-refused", kind: KindEnded,
		says: "It has failed: {why-failed}",
		do:   []string{"correct the parameters of the record; then {retry}"},
	},
	{when: "failed", kind: KindEnded, says: "It has failed: {why-failed}", do: []string{"{retry}"}},
	{when: "cancelled", kind: KindEnded, says: "It was cancelled{by-whom}", do: []string{"{retry}"}},
	{
		when: "final", kind: KindEnded,
		says: "This configuration does not map its status {record-status}: it counts as final.",
	},
	{
		when: "broken-state", kind: KindBrokenState,
		says: "The key of its state contains something else: {state-error}.",
		do:   []string{"inspect the key, and delete it if it is not Fanfold's"},
	},

	// It runs.
	{
		when: "runs orphan !report", kind: KindNoDefinition,
		says: "{stands}",
		do:   []string{"start a process whose configuration still has report {job-report}, or run fanfold cancel {id}"},
	},
	{
		when: "runs orphan", kind: KindNoDefinition,
		says: "{stands}",
		do: []string{
			"fanfold adopt {id} starts its next attempt with the current definition; fanfold adopt --report " +
				"{job-report} does so for all such jobs of the report",
			"or start a process with the previous configuration",
		},
	},
	{
		when: "runs deadline-missed", kind: KindNoScheduler,
		says: "Its deadline passed {deadline}, and no scheduler has failed it.",
		do:   []string{SchedulerMissing},
	},
	{when: "runs !worst", kind: KindEnding, says: "All listeners are done, and fan-in is next."},
	{
		when: "runs worst-running some-done", kind: KindBarrier,
		says: "{done} of {target} listeners are done. {waits-for}",
	},
	{when: "runs", says: "{waits-for}"},
	{
		when: "overtaken", kind: KindSuperseded,
		says: "Redis has attempt {job-attempt} of the job, but the record has attempt {record-attempt}: the " +
			"record was changed.",
		more: []string{"The job ends as SUPERSEDED, without a file; then the record can be pushed again."},
	},

	// Its id is in the delayed set.
	{
		when: "push !push-due", kind: KindDelayed,
		says: "It waits in {delayed} with the score {push-score}, which is not a valid time: it is quarantined.",
		do:   []string{"fanfold delay run {id} runs it now"},
	},
	{
		when: "push push-missed", kind: KindNoScheduler,
		says: "It was due {push-due}, and no scheduler has moved it.",
		do:   []string{SchedulerMissing},
	},
	{
		when: "shares !report-paused", kind: KindShared,
		says: "It waits for the file of job {leader}, which has the same report and parameters (once).",
		more: []string{"If that job ends without a file, the one that has waited longest runs instead."},
		do:   []string{"fanfold why {leader} says what that job waits for"},
	},
	{
		when: "limited !report-paused", kind: KindNoRoom,
		says: "It waits until a running job of report {report} ends: at most {report-limit} of them run at once.",
		more: []string{"Its deadline is set when it starts.", "{stopped}"},
		do:   []string{"{more-running}", "{resume-stopped}"},
	},
	{
		when: "parked lane-full", kind: KindNoRoom,
		says: "It waits for a turn of lane {lane}, place {lane-place} of {lane-queue}: {lane-running} of its " +
			"{lane-limit} jobs run.",
		more: []string{"Its deadline is set when it starts.", "{stopped}"},
		do:   []string{"wait, or raise lanes.running", "{resume-stopped}"},
	},
	{
		when: "parked class-full", kind: KindNoRoom,
		says: "It waits for a turn of lane {lane}, place {lane-place} of {lane-queue}: {class-running} of the " +
			"{class-limit} jobs of class {class} run.",
		more: []string{"Its deadline is set when it starts.", "{stopped}"},
		do:   []string{"wait, or raise lanes.classes.{class}.running", "{resume-stopped}"},
	},
	{
		when: "parked", kind: KindNoRoom,
		says: "It waits for a turn of lane {lane}, place {lane-place} of {lane-queue}: {lanes-running} of {jobs-max} " +
			"jobs run, and lanes take turns.",
		more: []string{"Its deadline is set when it starts.", "{stopped}"},
		do:   []string{"wait, or raise limits.running_jobs", "{resume-stopped}"},
	},
	{
		when: "push push-of-id contender !pending", kind: KindRedisFull,
		says: "Redis was full, and the job made room for an older one; it starts again after the jobs that " +
			"competed before it.",
		more: []string{
			"Its data was deleted, and its sources are read again. It keeps the deadline of its first start, but " +
				"has a quarter of the timeout of its report at least.",
		},
		do: []string{
			"wait, or give Redis more maxmemory; a lower limits.running_jobs or running of the report, " +
				"limits.redis_compression: zstd and smaller results prevent it",
		},
		at:   "push-due",
		then: "Fanfold checks whether those jobs have ended, and starts its next attempt if they have",
	},
	{
		when: "push push-of-id", kind: KindDelayed,
		says: "It was pushed for later and is due {push-due}.",
		do:   []string{"fanfold delay run {id} runs it now"},
		at:   "push-due", then: "its id is pushed to {jobs}",
	},
	{
		when: "push", kind: KindPolling,
		says: "Its id was pushed, but the job could not be started: its record is read again {push-due} (poll " +
			"{poll} of {polls}).",
		at: "push-due", then: "the trigger reads the record again; after the last poll the id is quarantined",
	},

	// Its id is in the stream of jobs.
	{
		when: "queued read silent alive", kind: KindWorkerDead,
		says: "{read}has been silent since.",
		at:   "takeover", then: "another worker takes it over by this time",
	},
	{
		when: "queued read silent", kind: KindWorkerDead,
		says: "{read}has been silent since.",
		more: []string{"No worker reads {jobs}, so none can take it over."},
		do:   []string{engineMissing},
	},
	{
		when: "queued read", kind: KindStarting,
		says: "{read}is starting it.",
		more: []string{"If that process dies, another one takes over after {lease} of silence."},
	},
	{
		when: "queued !alive", kind: KindNoWorker,
		says: "{in-jobs}, and no process reads that stream: none has the role engine.",
		do:   []string{engineMissing},
	},
	{
		when: "queued !record !records-away", kind: KindQueued,
		says: "{in-jobs}, and there is no record with this id: it is polled, and then quarantined.",
	},
	{
		when: "queued full-memory", kind: KindNoRoom,
		says: "{in-jobs}: Redis uses {memory} % of its memory, and no job starts above {memory-max} %.",
		do:   []string{"wait for running jobs to end, give Redis more maxmemory, or raise limits.redis_memory_percent"},
	},
	{
		when: "queued full", kind: KindNoRoom,
		says: "{in-jobs} until a running job ends: {jobs-run}, the maximum that limits.running_jobs allows.",
		more: []string{"Its deadline is set when it starts.", "{stopped}"},
		do:   []string{"wait, or raise limits.running_jobs", "{resume-stopped}"},
	},
	{when: "queued", kind: KindQueued, says: "{in-jobs}.", more: []string{"{running}"}},
	{
		when: "quarantined other-form", kind: KindQuarantined,
		says: "It was quarantined {quarantined-at}: {quarantined-reason}.",
		more: []string{"It came from {quarantined-stream}. The record was not changed."},
		do:   []string{"{submit-exact}"},
	},
	{
		when: "quarantined", kind: KindQuarantined,
		says: "It was quarantined {quarantined-at}: {quarantined-reason}.",
		more: []string{"It came from {quarantined-stream}. The record was not changed."},
		do:   []string{"correct the cause, then run {submit}"},
	},
	{when: "records-away", kind: KindRecordsAway},

	// Nothing in Redis leads to it.
	{
		when: "report-paused", kind: KindPaused,
		says: "Its report {report} has been paused since {report-paused}.",
		more: []string{"Its deadline is set when it starts."},
		do:   []string{"fanfold resume report {report}"},
	},
	{
		when: "!record state", kind: KindNoRecord,
		says: "The record with this id no longer exists; its job has ended as {job-status}.",
	},
	{
		when: "!record jobs-whole quarantine-whole", kind: KindNoRecord,
		says: "There is no record with this id, and no trace of the id in Redis.",
	},
	{
		when: "!record", kind: KindNoRecord,
		says: "There is no record with this id, and no trace of the id in the part of Redis that was searched.",
	},
	{
		when: "!report", kind: KindUnknownReport,
		says: "Its report {report-quoted} is not in this configuration, and the id is not queued.",
		do:   []string{"add the report to the configuration of every process, then run {submit}"},
	},
	{
		when: "processing", kind: KindStateless,
		says: "The record is PROCESSING, but Redis has no state of attempt {record-attempt}.",
		more: []string{
			"Redis lost its data, or a process died after it changed the record and before it wrote the state.",
		},
		do: []string{"{submit} starts it once its grace time is over"},
	},
	{
		when: "!jobs-whole", kind: KindQueued,
		says: "The record is PENDING; if its id was pushed, at least {jobs-searched} others are ahead of it.",
		more: []string{"{running}"},
	},
	{
		when: "", kind: KindNotPushed,
		says: "The record is PENDING, and its id was not pushed.",
		more: []string{
			"It has not changed for {record-age}; the id is neither in {jobs} nor in {delayed}.",
			"After {grace} without a change, a rebuild starts it, unless records.filter excludes it. A rebuild " +
				"runs every 5 minutes.",
		},
		do: []string{
			"{submit}",
			"fanfold quarantine ls shows whether its id was pushed in another form, such as 0{id}",
		},
	},
}

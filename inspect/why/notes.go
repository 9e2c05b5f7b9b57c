package why

// notes add to the answer of jobRules: each adds a sentence, or something that will happen.
var notes = []rules{
	{
		{when: "redis-away records-away", says: "The records' database does not answer, either: {records-error}."},
		{when: "redis-away"},
		{when: "records-away"},
		{when: "record"},
		{when: "runs", says: "The record was deleted: the job continues to its end and leaves no file."},
		{when: "!=no-record", says: "There is no such record: its transaction may not have been committed yet."},
	},
	{{when: "leader-unknown", says: "Whether an equal job makes its file cannot be read: {leader-error}."}},
	{{when: "=polling record !report", says: "Its report {report-quoted} is not in this configuration."}},
	{
		{
			when: "=quarantined pending",
			says: "The record is PENDING: after {grace} without a change, a rebuild starts it. fanfold cancel " +
				"{id} prevents that.",
		},
	},
	{
		{
			when: "=stateless in-grace",
			at:   "grace-over",
			then: "its grace time of {grace} ends; the next rebuild, at most 5 minutes later, starts its next " +
				"attempt",
		},
		{
			when: "=stateless",
			says: "Its grace time of {grace} is over: a rebuild starts its next attempt within 5 minutes, unless " +
				"many others are ahead of it.",
		},
	},
	{{when: "=ended kept", says: "{kept}."}},
	{
		{
			when: "=ended dead",
			says: "It has been on the list of dead jobs since {dead-since}; fanfold dead discard {id} removes it.",
		},
	},
	{
		{
			when: "=ended state-runs",
			says: "Its state in Redis still exists. It is deleted when its workers see that the record is final, " +
				"at the latest when they finish their work.",
		},
	},
	{{when: "=no-definition", says: "The configuration has changed since its start."}},
	{{when: "=no-definition seen", says: "A process with the previous definition was last seen {seen}."}},
	{
		{
			when: "=no-definition seen report restarts",
			at:   "restart",
			then: "attempt {next-attempt} starts with the current definition unless a process with the previous " +
				"one returns",
		},
	},
	{{when: "runs spooled", says: "Its data: {data}."}},
	{{when: "=paused deadline-waits", says: "Its deadline is extended by the length of the pause."}},
	{{when: "runs failing worst !worst-ending", says: "The job will fail: {reason}"}},
	{
		{
			when: "runs !=no-definition !=lost !definition",
			says: "This configuration does not have the definition that the job was started with: only a process " +
				"that has it can continue the job.",
		},
	},
	{
		{when: "deadline-counts deadline-ahead", at: "deadline", then: "its deadline: the job fails"},
		{when: "deadline-counts !=no-scheduler", says: "Its deadline passed {deadline}."},
	},
	{
		{
			when: "records-away !redis-away",
			says: "No job starts or ends until it answers. Final statuses are retried without limit, and outages " +
				"do not count as tries.",
		},
	},
}

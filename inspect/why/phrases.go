package why

// phrases are parts of sentences.
var phrases = map[string]rules{
	"failed": {{says: "it failed and is tried again {next}{try}: {error}"}},
	"tried":  {{when: "error", says: "; the last try failed: {error}"}},
	"before": {
		{when: "for-other blames-busy", says: "; {waits}"},
		{when: "for-other", says: "; it waits for {waits}"},
		{says: "{tried}"},
	},
	"occasion": {
		{when: "for-other", says: "poll"},
		{says: "try"},
	},
	"again": {
		{when: "for-other", says: "it waits for {waits}; the next poll is {next}"},
		{says: "it is tried again {next}{try}"},
	},
	"attempt": {
		{when: "for-other", says: "the next poll of {title}"},
		{says: "try {tries} of {title}"},
	},
	"try": {
		{when: "!tries"},
		{when: "!tries-max", says: " (try {tries})"},
		{says: " (try {tries} of {tries-max})"},
	},
	"try-and": {
		{when: "!try-helps"},
		{says: "{try-now}; "},
	},
	"poll-now": {
		{when: "!try-helps"},
		{says: "fanfold delay run {id} polls now"},
	},
	"try-now": {
		{when: "!try-helps"},
		{says: "fanfold delay run {id} tries it now"},
	},
	"try-again": {
		{
			when: "try-helps tries-max",
			says: "correct the cause; then fanfold delay run {id} tries it now, which uses a try",
		},
		{says: "{try-now}"},
	},
	"fault": {
		{when: "error tries-max", says: "; its last try failed ({tries} of {tries-max} tries are used): {error}"},
		{says: "{tried}"},
	},
	"took":      {{says: "worker {owner} took it{taken-ago}{try} and is dead"}},
	"taken-ago": {{when: "taken", says: " {taken} ago"}},
	"works":     {{says: "{does}{try}, with worker {owner}{rows-so-far}{pauses}"}},
	"pauses":    {{when: "pause", says: "; it pauses before the next part: {pause}"}},
	"does": {
		{when: "work", says: "{work} {taken}"},
		{says: "it has been running for {taken}"},
	},
	"rows-so-far": {
		{when: "parts", says: "; {parts} and {rows} rows so far"},
		{when: "1:rows", says: "; 1 row so far"},
		{when: "rows", says: "; {rows} rows so far"},
	},
	"others": {
		{when: "fold", says: "jobs"},
		{says: "tasks"},
	},
	"before-it": {
		{when: "1:entries-before fold", says: "1 job is"},
		{when: "1:entries-before", says: "1 task is"},
		{says: "{entries-before} {others} are"},
	},
	"entries": {
		{when: "1:length", says: "1 entry"},
		{says: "{length} entries"},
	},
	"takes-it": {{when: "!ahead", says: ": the next free one takes it"}},
	"readers": {
		{when: "1:workers", says: "1 worker"},
		{says: "{workers} workers"},
	},
	"slots-of": {{when: "limited-by-hand", says: "fanfold limit"}, {says: "{section}.parallel"}},
	"slotless": {
		{
			when: "slots-full",
			says: "it waits for a slot of {source}: all {slots} that {slots-of} allows are taken, by " +
				"{holders}",
		},
		{
			when: "bounded blames-slots slots-used",
			says: "it waits for a slot of {source}: {slots-used} of the {slots} that {slots-of} allows " +
				"are taken, by {holders}",
		},
		{says: "it waits for {waits}"},
	},
	"then": {
		{when: "comes", says: "; the next poll is {next}"},
		{when: "first-in-line", says: "; no task has waited longer"},
		{when: "in-line", says: "; {line-before} came before it"},
		{when: "unseen", says: "; at least {stream-searched} {others} are ahead of it in {stream}"},
		{when: "unread ahead", says: "; {before-it} ahead of it in {stream}"},
	},
	"more-running": {
		{when: "limited-by-hand", says: "wait, or run fanfold limit report {report} reset: the limit was set {report-limited}"},
		{says: "wait, or run fanfold limit report {report} N, or raise the field running of the report"},
	},
	"more-slots": {
		{
			when: "!blames-tasks limited-by-hand",
			says: "wait, or run fanfold limit source {source-name} reset: the limit was set {source-limited}",
		},
		{
			when: "!slots-full blames-tasks",
			says: "wait, start another process with the role listeners, or raise max_connections of its database, " +
				"and limits.tasks if it is set",
		},
		{says: "wait, or run fanfold limit source {source-name} N, or raise {section}.parallel, if {source} can take more " +
			"tasks at once; more workers do not help"},
	},
	"less-load": {
		{when: "protected", says: "wait, find out what keeps {source} busy, or raise the limit in {section}.protect if it can take more"},
		{says: "wait, or set {section}.rate to what {source} can take"},
	},
	"hold": {{says: "fanfold pause listener {name}, so that no more tries are used, in every report that has it"}},
	"correct": {
		{
			says: "then correct the DSN of {source} or its account, restart fanfold serve if the DSN changes, " +
				"and run fanfold resume listener {name}",
		},
	},
	"missing": {
		{when: "fold", says: engineMissing},
		{when: "external", says: "start the service that reads {stream}, or look at its log"},
		{says: listenersMissing},
	},
	"send": {
		{
			says: "{cli} XADD {stream-in-shell} '*' id {id} attempt {job-attempt} sends it again now; otherwise " +
				"a scheduler does, within {lost-every} per {lost-jobs} running jobs",
		},
	},
	"waits-for": {
		{when: "several", says: "It waits for {names}: {worst-title}: {worst-says}"},
		{says: "It waits for {names}: {worst-says}"},
	},
	"stands": {
		{
			says: "It is stuck: no process has the definition of report {job-report} that it was started with " +
				"({definition}).",
		},
	},
	"read": {{says: "The trigger {reader} read it {read-ago} ago and "}},
	"in-jobs": {
		{when: "ids-before-none", says: "It waits in {jobs} as the next one"},
		{when: "1:ids-before", says: "It waits in {jobs} behind 1 other"},
		{says: "It waits in {jobs} behind {ids-before} others"},
	},
	"jobs-run": {
		{when: "1:jobs-running", says: "1 job runs"},
		{says: "{jobs-running} jobs run"},
	},
	"stopped": {{
		when: "stopped",
		says: "{stopped-jobs} of the {stopped-of} running jobs still need {stopped-title}, which has been paused since {stopped-since}.",
	}},
	"resume-stopped": {{when: "stopped", says: "fanfold resume {stopped-name}"}},
	"running":        {{says: "{jobs-run}; limits.running_jobs is {jobs-max}."}},
	"submit":         {{says: "fanfold submit {id}"}},
	"submit-exact": {
		{when: "quarantined", says: "fanfold submit {exact-id}, then fanfold quarantine rm {quarantined-entry}"},
		{says: "fanfold submit {exact-id}"},
	},
	"retry": {{says: "fanfold retry {id} runs it again"}},
	"without": {
		{when: "record-error", says: "{record-error}"},
		{says: "some listeners have failed"},
	},
	"why-failed": {
		{when: "record-error", says: "{record-error}"},
		{says: "the record gives no reason"},
	},
	"by-whom": {{when: "record-error", says: ": {record-error}"}},
}

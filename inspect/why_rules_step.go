package inspect

// severity has the kinds of steps. Of the steps of a job, the one whose kind comes first is
// the worst.
var severity = []Kind{
	KindNoDefinition, KindRecordsAway, KindSourceRefuses, KindSourceAway, KindPaused, KindNoScheduler, KindNoWorker, KindWorkerDead,
	KindSinkFails, KindRetryWaiting, KindLost, KindNoSlot, KindRateLimited, KindQueued, KindWaiting, KindRunning, KindEnding, KindFolding,
}

// made defines facts by other facts: a fact holds if one of its conditions does. The first ones say
// where a step stands: exactly one of them holds.
var made = map[string][]string{
	"leased":    {"owner !lease-over"},                          // a worker has it, with a valid lease
	"vanished":  {"owner lease-over gone"},                      // the lease of its worker has ended, and its entry is gone
	"expired":   {"owner lease-over !gone"},                     // the lease of its worker has ended
	"handed":    {"!owner next !entry !gone !error !for-other"}, // a process without its definition has handed it back
	"forgotten": {"!owner next gone"},                           // its next try has a time, and nothing brings it back
	"later":     {"!owner next !entry !gone error", "!owner next !entry !gone for-other"},
	"unread":    {"!owner entry"},               // its entry is in the stream
	"unseen":    {"!owner !next !entry !whole"}, // its entry is not in the part that was searched
	"absent":    {"!owner !next !entry whole"},  // nothing leads to it

	"gone":     {"!entry whole !back"},
	"paused":   {"listener-paused !leased"},           // unless a worker continues it
	"overdue":  {"later past-due", "handed past-due"}, // its next try should have begun
	"comes":    {"later !overdue !paused"},            // its next try will begin by itself
	"retries":  {"comes !for-other"},                  // the same, after one that failed
	"works-on": {"leased !rows"},                      // it is read, and no row has come yet
	"slotless": { // it waits for a slot
		"slots-full !has-slot works-on", "slots-full !has-slot unread", "slots-full unseen",
		"at-limit works-on blames-slots", "at-limit unread blames-slots", "at-limit comes blames-slots", "at-limit unread blames-tasks", "at-limit comes blames-tasks",
	},
	"rateless":   {"at-limit unread blames-rate", "at-limit comes blames-rate"},
	"at-limit":   {"for-other !has-slot"},
	"unattended": {"alone-in unread", "alone-in unseen", "alone-in absent"},

	"try-helps":       {"definition", "failing"}, // some process can do the step
	"deadline-counts": {"runs !committed", "=superseded !committed"},
}

// stepRule says what a step of a running job waits for.
var stepRule = rule{
	{when: "orphan", kind: KindNoDefinition, says: "it waits for a process with that definition{tried}"},
	{when: "retries blames-records", kind: KindRecordsAway, says: "{failed}", do: []string{"{try-and}fanfold doctor checks the records' database"}, at: "next", then: "{attempt}"},
	{when: "leased source-refuses", kind: KindSourceRefuses, says: "worker {owner} has it, and {source} refuses the login from here: {source-error}", do: []string{"{hold}", "{correct}"}},
	{when: "comes source-refuses", kind: KindSourceRefuses, says: "{source} refuses the login from here ({source-error}); {again}", do: []string{"{hold}", "{correct}"}, at: "next", then: "{attempt}"},
	{when: "leased source-away", kind: KindSourceAway, says: "worker {owner} has it, and {source} does not answer from here: {source-error}"},
	{when: "comes source-away", kind: KindSourceAway, says: "{source} does not answer from here ({source-error}); {again}", do: []string{"{try-now}"}, at: "next", then: "{attempt}"},
	{when: "paused", kind: KindPaused, says: "the listener has been paused since {paused-since}{fault}", do: []string{"fanfold resume listener {name}"}},
	{when: "overdue", kind: KindNoScheduler, says: "its next try was due {next}, and no scheduler has moved it{before}", do: []string{SchedulerMissing}},
	{when: "handed", kind: KindNoWorker, says: "a process without its definition has handed it back; it is offered again {next}", do: []string{"keep a process with the old configuration until its jobs are done"}},
	{when: "unattended", kind: KindNoWorker, says: "no worker reads {stream}, which has {entries}", do: []string{"{missing}"}},
	{when: "expired alone-in", kind: KindWorkerDead, says: "{took}: its lease ended {lease-over} ago", more: []string{"No worker reads {stream}, so none can take it over."}, do: []string{"{missing}"}},
	{when: "expired", kind: KindWorkerDead, says: "{took}: its lease ended {lease-over} ago", at: "takeover", then: "another worker takes it over by this time"},
	{when: "retries blames-sink", kind: KindSinkFails, says: "{failed}", do: []string{"{try-and}fanfold doctor checks the sink"}, at: "next", then: "{attempt}"},
	{when: "retries", kind: KindRetryWaiting, says: "{failed}", do: []string{"{try-again}"}, at: "next", then: "{attempt}"},
	{when: "slotless", kind: KindNoSlot, says: "{slotless}{then}", do: []string{"{more-slots}"}, at: "poll", then: "{attempt}"},
	{when: "rateless", kind: KindRateLimited, says: "it waits for {waits}{then}", do: []string{"wait, or raise {section}.rate if {source} can take more"}, at: "poll", then: "{attempt}"},
	{when: "vanished", kind: KindLost, says: "{took}, and its entry is no longer in {stream}: Redis has lost the message", do: []string{"{send}"}},
	{when: "forgotten", kind: KindLost, says: "its next try was due {next}, and it is no longer in {delayed} or {stream}{before}", do: []string{"{send}"}},
	{when: "absent", kind: KindLost, says: "it is neither in {stream} nor in {delayed}: Redis has lost the message", do: []string{"{send}"}},
	{when: "unread", kind: KindQueued, says: "{before-it} ahead of it in {stream}, which has {readers}"},
	{when: "unseen", kind: KindQueued, says: "at least {stream-searched} {others} are ahead of it in {stream}"},
	{when: "comes", kind: KindWaiting, says: "{again}", do: []string{"{poll-now}"}, at: "next", then: "{attempt}"},
	{when: "!fold", kind: KindRunning, says: "{works}{tried}", do: []string{"wait, or end the job with fanfold cancel {id}"}, at: "timeout", then: "this try of {title} times out"},
	{when: "failing", kind: KindEnding, says: "worker {owner} is ending the job: {reason}"},
	{when: "", kind: KindFolding, says: "worker {owner} is making the file{try}{tried}"},
}

// phrases are parts of sentences.
var phrases = map[string]rule{
	"failed":      {{says: "it failed and is tried again {next}{try}: {error}"}},
	"tried":       {{when: "error", says: "; the last try failed: {error}"}},
	"before":      {{when: "for-other", says: "; it waits for {waits}"}, {says: "{tried}"}},
	"again":       {{when: "for-other", says: "it waits for {waits}; the next poll is {next}"}, {says: "it is tried again {next}{try}"}},
	"attempt":     {{when: "for-other", says: "the next poll of {title}"}, {says: "try {tries} of {title}"}},
	"try":         {{when: "!tries"}, {when: "!tries-max", says: " (try {tries})"}, {says: " (try {tries} of {tries-max})"}},
	"try-and":     {{when: "!try-helps"}, {says: "{try-now}; "}},
	"poll-now":    {{when: "!try-helps"}, {says: "fanfold delay run {id} polls now"}},
	"try-now":     {{when: "!try-helps"}, {says: "fanfold delay run {id} tries it now"}},
	"try-again":   {{when: "try-helps tries-max", says: "correct the cause; then fanfold delay run {id} tries it now, which uses a try"}, {says: "{try-now}"}},
	"fault":       {{when: "error tries-max", says: "; its last try failed ({tries} of {tries-max} tries are used): {error}"}, {says: "{tried}"}},
	"took":        {{says: "worker {owner} took it{taken-ago}{try} and is dead"}},
	"taken-ago":   {{when: "taken", says: " {taken} ago"}},
	"works":       {{says: "{does}{try}, with worker {owner}{rows-so-far}"}},
	"does":        {{when: "external", says: "it has been running for {taken}"}, {says: "{source-work} {taken}"}},
	"rows-so-far": {{when: "1:rows", says: "; 1 row so far"}, {when: "rows", says: "; {rows} rows so far"}},
	"others":      {{when: "fold", says: "jobs"}, {says: "tasks"}},
	"before-it":   {{when: "1:entries-before fold", says: "1 job is"}, {when: "1:entries-before", says: "1 task is"}, {says: "{entries-before} {others} are"}},
	"entries":     {{when: "1:length", says: "1 entry"}, {says: "{length} entries"}},
	"readers":     {{when: "1:workers", says: "1 worker"}, {says: "{workers} workers"}},
	"source":      {{says: "{source-noun} {source-name}"}},
	"section":     {{says: "{source-section}.{source-name}"}},
	"slotless": {
		{when: "slots-full", says: "it waits for a slot of {source}: all {slots} that {section}.parallel allows are taken, by {holders}"},
		{when: "bounded blames-slots slots-used", says: "it waits for a slot of {source}: {slots-used} of the {slots} that {section}.parallel allows are taken, by {holders}"},
		{says: "it waits for {waits}"},
	},
	"then": {
		{when: "comes", says: "; the next poll is {next}"}, {when: "unseen", says: "; at least {stream-searched} {others} are ahead of it in {stream}"},
		{when: "unread ahead", says: "; {before-it} ahead of it in {stream}"},
	},
	"more-slots": {{when: "!slots-full blames-tasks", says: "wait, start another process with the role listeners, or raise limits.tasks, or max_connections where it waits for a connection"}, {says: "wait, or raise {section}.parallel if {source} can take more tasks at once; more workers do not help"}},
	"hold":       {{says: "fanfold pause listener {name}, so that no more tries are used"}},
	"correct":    {{says: "then correct the DSN of {source} or its account, restart fanfold serve if the DSN changes, and run fanfold resume listener {name}"}},
	"missing":    {{when: "fold", says: engineMissing}, {when: "external", says: "start the service that reads {stream}, or look at its log"}, {says: listenersMissing}},
	"send":       {{says: "{cli} XADD {stream-in-shell} '*' id {id} attempt {job-attempt} sends it again now; otherwise a scheduler does, within {lost-every} per {lost-jobs} running jobs"}},

	"waits-for": {{when: "several", says: "It waits for {names}: {worst-title}: {worst-says}"}, {says: "It waits for {names}: {worst-says}"}},
	"stands":    {{says: "It is stuck: no process has the definition of report {job-report} that it was started with ({definition})."}},
	"read":      {{says: "The trigger {reader} read it {read-ago} ago and "}},
	"in-jobs":   {{when: "ids-before-none", says: "It waits in {jobs} as the next one"}, {when: "1:ids-before", says: "It waits in {jobs} behind 1 other"}, {says: "It waits in {jobs} behind {ids-before} others"}},
	"jobs-run":  {{when: "1:jobs-running", says: "1 job runs"}, {says: "{jobs-running} jobs run"}},
	"running":   {{says: "{jobs-run}; limits.running_jobs is {jobs-max}."}},
	"submit":    {{says: "fanfold submit {id}"}},
	"submit-exact": {
		{when: "entry-known", says: "fanfold submit {exact-id}, then fanfold quarantine rm {aside-entry}"},
		{when: "aside", says: "fanfold submit {exact-id}, then fanfold quarantine rm ENTRY: fanfold quarantine ls shows it"},
		{says: "fanfold submit {exact-id}"},
	},
	"retry":      {{says: "fanfold retry {id} runs it again"}},
	"without":    {{when: "record-error", says: "{record-error}"}, {says: "without the data of some listeners"}},
	"why-failed": {{when: "record-error", says: "{record-error}"}, {says: "the record gives no reason"}},
	"by-whom":    {{when: "record-error", says: ": {record-error}"}},
}

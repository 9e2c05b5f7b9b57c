package why

// SchedulerMissing and the others are remedies if no process has a role.
const (
	SchedulerMissing = "start fanfold serve --roles scheduler, or look at its log"
	engineMissing    = "start fanfold serve --roles engine, or look at its log"
	listenersMissing = "start fanfold serve --roles listeners --listeners {name}, " +
		"or check the --listeners of the running processes and their logs"
)

// made defines facts by other facts: a fact holds if one of its conditions does. The first ones say
// where a step stands: exactly one of them holds.
var made = map[string][]string{
	"leased": {"owner !lease-over"}, // a worker has it, with a valid lease
	// the lease of its worker has ended, and its entry is gone
	"vanished":  {"owner lease-over gone"},
	"expired":   {"owner lease-over !gone"},                     // the lease of its worker has ended
	"handed":    {"!owner next !entry !gone !error !for-other"}, // a process without its definition has handed it back
	"forgotten": {"!owner next gone"},                           // its next try has a time, and nothing brings it back
	"later":     {"!owner next !entry !gone error", "!owner next !entry !gone for-other"},
	"unread":    {"!owner entry"},               // its entry is in the stream
	"unseen":    {"!owner !next !entry !whole"}, // its entry is not in the part that was searched
	"absent":    {"!owner !next !entry whole"},  // nothing leads to it

	"gone":     {"!entry whole !back"},
	"paused":   {"listener-paused !leased", "listener-paused works-on pause"}, // unless its query runs
	"overdue":  {"later past-due", "handed past-due"},                         // its next try should have begun
	"comes":    {"later !overdue !paused"},                                    // its next try will begin by itself
	"retries":  {"comes !for-other"},                                          // the same, after one that failed
	"works-on": {"leased !rows"},                                              // it is read, and no row has come yet
	"slotless": { // it waits for a slot
		"slots-full !has-slot works-on", "slots-full !has-slot unread", "slots-full unseen",
		"for-other !has-slot before-query blames-slots", "for-other before-query blames-tasks",
	},
	"rateless":     {"for-other before-query blames-rate"},
	"sourceless":   {"for-other before-query blames-busy"},
	"before-query": {"works-on pause", "unread", "comes"}, // the query of its listener does not run
	"unattended":   {"alone-in unread", "alone-in unseen", "alone-in absent"},

	"try-helps":       {"definition", "failing"}, // some process can do the step
	"deadline-counts": {"runs !committed", "=superseded !committed"},
}

// stepRules say what a step of a running job waits for.
var stepRules = rules{
	{
		when: "orphan", kind: KindNoDefinition, severity: 180,
		says: "it waits for a process with that definition{tried}",
	},
	{
		when: "retries blames-records", kind: KindRecordsAway, severity: 170,
		says: "{failed}",
		do:   []string{"{try-and}fanfold doctor checks the records' database"},
		at:   "next", then: "{attempt}",
	},
	{
		when: "leased source-refuses", kind: KindSourceRefuses, severity: 160,
		says: "worker {owner} has it, and {source} refuses the login from here: {source-error}",
		do:   []string{"{hold}", "{correct}"},
	},
	{
		when: "comes source-refuses", kind: KindSourceRefuses, severity: 160,
		says: "{source} refuses the login from here ({source-error}); {again}",
		do:   []string{"{hold}", "{correct}"},
		at:   "next", then: "{attempt}",
	},
	{
		when: "leased source-away", kind: KindSourceAway, severity: 150,
		says: "worker {owner} has it, and {source} does not answer from here: {source-error}",
	},
	{
		when: "comes source-away", kind: KindSourceAway, severity: 150,
		says: "{source} does not answer from here ({source-error}); {again}",
		do:   []string{"{try-now}"},
		at:   "next", then: "{attempt}",
	},
	{
		when: "paused", kind: KindPaused, severity: 140,
		says: "{paused-what} has been paused since {paused-since}{fault}",
		do:   []string{"fanfold resume {resume}"},
	},
	{
		when: "overdue", kind: KindNoScheduler, severity: 130,
		says: "its next {occasion} was due {next}, and no scheduler has moved it{before}",
		do:   []string{SchedulerMissing},
	},
	{
		when: "handed", kind: KindNoWorker, severity: 120,
		says: "a process without its definition has handed it back; it is offered again {next}",
		do:   []string{"keep a process with the old configuration until its jobs are done"},
	},
	{
		when: "unattended", kind: KindNoWorker, severity: 120,
		says: "no worker reads {stream}, which has {entries}",
		do:   []string{"{missing}"},
	},
	{
		when: "expired alone-in", kind: KindWorkerDead, severity: 110,
		says: "{took}: its lease ended {lease-over} ago",
		more: []string{"No worker reads {stream}, so none can take it over."},
		do:   []string{"{missing}"},
	},
	{
		when: "expired", kind: KindWorkerDead, severity: 110,
		says: "{took}: its lease ended {lease-over} ago",
		at:   "takeover", then: "another worker takes it over by this time",
	},
	{
		when: "retries blames-sink", kind: KindSinkFails, severity: 100,
		says: "{failed}",
		do:   []string{"{try-and}fanfold doctor checks the sink"},
		at:   "next", then: "{attempt}",
	},
	{
		when: "retries blames-spool", kind: KindSpoolFails, severity: 95,
		says: "{failed}",
		do:   []string{"{try-and}fanfold doctor checks the spool"},
		at:   "next", then: "{attempt}",
	},
	{
		when: "retries", kind: KindRetryWaiting, severity: 90,
		says: "{failed}",
		do:   []string{"{try-again}"},
		at:   "next", then: "{attempt}",
	},
	{
		when: "slotless", kind: KindNoSlot, severity: 70,
		says: "{slotless}{then}",
		do:   []string{"{more-slots}"},
		at:   "poll", then: "{attempt}",
	},
	{
		when: "rateless", kind: KindRateLimited, severity: 60,
		says: "it waits for {waits}{then}",
		do:   []string{"wait, or raise {section}.rate if {source} can take more"},
		at:   "poll", then: "{attempt}",
	},
	{
		when: "sourceless", kind: KindSourceBusy, severity: 65,
		says: "{waits}{then}",
		do:   []string{"{less-load}"},
		at:   "poll", then: "{attempt}",
	},
	{
		when: "vanished", kind: KindLost, severity: 80,
		says: "{took}, and its entry is no longer in {stream}: Redis has lost the message",
		do:   []string{"{send}"},
	},
	{
		when: "forgotten", kind: KindLost, severity: 80,
		says: "its next {occasion} was due {next}, and it is no longer in {delayed} or {stream}{before}",
		do:   []string{"{send}"},
	},
	{
		when: "absent", kind: KindLost, severity: 80,
		says: "it is neither in {stream} nor in {delayed}: Redis has lost the message",
		do:   []string{"{send}"},
	},
	{
		when: "unread", kind: KindQueued, severity: 50,
		says: "{before-it} ahead of it in {stream}, which has {readers}{takes-it}{tried}",
	},
	{
		when: "unseen", kind: KindQueued, severity: 50,
		says: "at least {stream-searched} {others} are ahead of it in {stream}",
	},
	{
		when: "comes", kind: KindWaiting, severity: 40,
		says: "{again}",
		do:   []string{"{poll-now}"},
		at:   "next", then: "{attempt}",
	},
	{
		when: "!fold", kind: KindRunning, severity: 30,
		says: "{works}{tried}",
		do:   []string{"wait, or end the job with fanfold cancel {id}"},
		at:   "timeout", then: "this try of {title} times out",
	},
	{when: "failing", kind: KindEnding, severity: 20, says: "worker {owner} is ending the job: {reason}"},
	{when: "", kind: KindFolding, severity: 10, says: "worker {owner} is making the file{try}{tried}"},
}

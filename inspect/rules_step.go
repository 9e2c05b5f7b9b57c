package inspect

import "github.com/fanfold/fanfold/scripts"

// What can be done about a step, in the words of its rules.
const (
	tryNow     = "fanfold delay run {id} tries it now"
	correctDSN = "correct the DSN of {source} or its account, and start the processes again where the DSN has changed"
	noTakeover = "No worker reads {stream} that could take it over."
)

// stepRules say what keeps one step. They are in order of severity: of the steps of a job,
// the one whose rule comes first is the worst.
var stepRules = []rule[*stepFacts]{
	{
		kind: KindNoDefinition, when: func(s *stepFacts) bool { return s.orphan() },
		says: "it waits for a process with that definition{tried}",
	}, {
		kind: KindRecordsAway, when: func(s *stepFacts) bool { return s.retries() && s.Blame == scripts.BlameRecords },
		says: "it failed and is tried again {next}{try}: {error}",
		do:   []string{tryNow + "; fanfold doctor checks the records' database"},
		at:   (*stepFacts).next, then: "{attempt}",
	}, {
		kind: KindSourceRefuses, when: func(s *stepFacts) bool { return s.phase == held && s.refused() },
		says: "worker {owner} has it, and {source} refuses the login from here: {away}",
		do:   []string{correctDSN},
	}, {
		kind: KindSourceRefuses, when: func(s *stepFacts) bool { return s.comes() && s.refused() },
		says: "{source} refuses the login from here ({away}); {again}",
		do:   []string{correctDSN},
		at:   (*stepFacts).next, then: "{attempt}",
	}, {
		kind: KindSourceAway, when: func(s *stepFacts) bool { return s.phase == held && s.away != nil },
		says: "worker {owner} has it, and {source} does not answer from here: {away}",
	}, {
		kind: KindSourceAway, when: func(s *stepFacts) bool { return s.comes() && s.away != nil },
		says: "{source} does not answer from here ({away}); {again}",
		do:   []string{tryNow},
		at:   (*stepFacts).next, then: "{attempt}",
	}, {
		kind: KindPaused, when: func(s *stepFacts) bool { return !s.pausedSince().IsZero() },
		says: "the listener is paused since {paused}",
		do:   []string{"fanfold resume listener {step}"},
	}, {
		kind: KindNoScheduler, when: (*stepFacts).overdue,
		says: "its next try was due {next}, and no scheduler has moved it{before}",
		do:   []string{schedulerMissing},
	}, {
		kind: KindNoWorker, when: func(s *stepFacts) bool { return s.phase == handed },
		says: "a process without its definition has handed it back; it is offered again {next}",
		do:   []string{"keep a process with the old configuration until its jobs are done"},
	}, {
		kind: KindNoWorker, when: func(s *stepFacts) bool {
			return s.alone() && (s.phase == unread || s.phase == unseen || s.phase == absent)
		},
		says: "no worker reads {stream}, which has {length} entries",
		do:   []string{"{missing}"},
	}, {
		kind: KindWorkerDead, when: func(s *stepFacts) bool { return s.phase == expired && !s.alone() },
		says: "worker {owner} took it{taken}{try} and is dead: its lease ended {lease} ago",
		at:   (*stepFacts).takeover, then: "by then another worker takes it over",
	}, {
		kind: KindWorkerDead, when: func(s *stepFacts) bool { return s.phase == expired },
		says: "worker {owner} took it{taken}{try} and is dead: its lease ended {lease} ago",
		more: []string{noTakeover},
		do:   []string{"{missing}"},
	}, {
		kind: KindSinkFails, when: func(s *stepFacts) bool { return s.retries() && s.Blame == scripts.BlameSink },
		says: "it failed and is tried again {next}{try}: {error}",
		do:   []string{tryNow + "; fanfold doctor checks the sink"},
		at:   (*stepFacts).next, then: "{attempt}",
	}, {
		kind: KindRetryWaiting, when: (*stepFacts).retries,
		says: "it failed and is tried again {next}{try}: {error}",
		do:   []string{tryNow},
		at:   (*stepFacts).next, then: "{attempt}",
	}, {
		kind: KindLost, when: func(s *stepFacts) bool { return s.phase == vanished },
		says: "worker {owner} took it{taken}{try} and is dead, and its entry is not in {stream} any more: Redis has lost the message",
		do:   []string{"{send}"},
	}, {
		kind: KindLost, when: func(s *stepFacts) bool { return s.phase == forgotten },
		says: "its next try was due {next}, and is neither in {delayed} nor in {stream} any more{before}",
		do:   []string{"{send}"},
	}, {
		kind: KindLost, when: func(s *stepFacts) bool { return s.phase == absent },
		says: "it is neither in {stream} nor in {delayed}: Redis has lost the message",
		do:   []string{"{send}"},
	}, {
		kind: KindQueued, when: func(s *stepFacts) bool { return s.phase == unread },
		says: "{ahead} {others} are before it in {stream}, with {workers} workers",
	}, {
		kind: KindQueued, when: func(s *stepFacts) bool { return s.phase == unseen },
		says: "at least {searched} {others} are before it in {stream}",
	}, {
		kind: KindWaiting, when: (*stepFacts).comes,
		says: "it waits for {waits}; the next poll is {next}",
		do:   []string{"fanfold delay run {id} polls now"},
		at:   (*stepFacts).next, then: "{attempt}",
	}, {
		kind: KindRunning, when: func(s *stepFacts) bool { return s.phase == held && !s.fold() },
		says: "{works}{try}, with worker {owner}{rows}{tried}",
	}, {
		kind: KindEnding, when: func(s *stepFacts) bool { return s.phase == held && s.Job.failing() },
		says: "worker {owner} is ending the job: {reason}",
	}, {
		kind: KindFolding, when: func(s *stepFacts) bool { return s.phase == held },
		says: "worker {owner} is making the file{try}{tried}",
	},
}

// Package scripts answers one question: what must be atomic in Redis?
//
// Every change of a job's state is one Lua script in the folder lua, with its contract in
// its header, and one method of a handle, which calls it by the name of its file. The handles of
// Scripts are named for what they hold: Jobs, Tasks, Folds, Streams, Entries, Sets, Hashes, Timers and
// others. Servers are the servers that have the keys.
// Task and Fold are one task and one job as a worker has them; claim.go is what they share. DeadJobs,
// DelayedSets and Pushes change several partitions in one round trip.
// Once (equal jobs) and Health (busy sources) are in the first partition; Lanes (fair turns) and Kept
// (datasets for retries) and Fallbacks (datasets for later jobs) are in that of their jobs. keys.go names the keys.
//
// Other packages call Redis through this one; a test lists the exceptions. No other package writes to
// a job's hash. Package job parses what the scripts write, and does not need Redis. The events that they append
// are documented in a table of docs/reference/keys.md.
//
// # The life of a state
//
// A job is a hash, whose field `job` is the state; the package job explains them and reads them.
// The statuses:
//
//	        start            complete (last)      claim             publish
//	(none) ───────▶ RUN ───────────────────▶ READY ──────▶ FOLD ───────────▶ PUBLISHING
//	                 ▲ │                      │ │  publish   │                    ▲ │
//	                 │ │                      │ └────────────┼────────────────────┘ │
//	                 └─┼────── advance ───────┴──────────────┤                      │ settle
//	                   │ fail                                ▼                      ▼
//	                   └───────────────────────────────▶ FAILING ── settle ──▶ (none)
//
// Reopen leads from READY and FOLD back to RUN.
//
// A small job is folded without a claim: Open reads it with its data, and publish or advance
// claims it. A task that is given up and that its job can do without counts as complete:
// Omit. FAILING is also the way to CANCELLED: the field outcome says so. A PUBLISHING job
// fails only if its file can no longer be made or its record does not take it; neither the
// deadline nor a cancellation can do that.
//
// A RUN job of a full Redis can be PREEMPTED for an older one (memory.go): its attempt ends, and its
// record, which stays PROCESSING, starts the next one later.
//
// After the end the hash is removed, or its datasets are kept for a retry (kept.go) or, if the job has a file, for
// later jobs (fallback.go).
// A tombstone (Ended) tells for a minute how the attempt ended.
// Start refuses that attempt and every earlier one meanwhile.
//
// # What fences what
//
// The attempt is in every message and every call: a script of an older attempt answers Gone
// and changes nothing.
//
// Within an attempt, the pending list of a task's stream is its lease. A first delivery
// needs no take: its worker has generation 0. A worker that takes an entry over runs Take,
// which raises the generation, so that every earlier worker is refused. Requeue raises it,
// too, and its message must be taken. Take needs an entry that is pending. All chunks of a
// try come from one writer, because a Redis that has lost its last second may deliver an entry
// for the first time twice and give a generation twice.
//
// The fold has a fence, which grows with every claim, requeue, and decision from outside.
//
// A large dataset lies in the spool (package spool). List adds its segments to the task's ticket under the
// same fences, so that a segment of an earlier try is never listed. A segment that cannot be read fails a
// try of its listener, although that is done: Reopen drops the ticket, opens the task with the generation
// after the one that listed it, and sends the job back to RUN, whatever its stage is. The ticket itself is
// the fence of Reopen: of several readers, the first one has an effect.
//
// # What an outcome means for an entry
//
// Complete, Requeue, HandBack, Omit, Advance, Settle and Fail of a task acknowledge the
// entry, in the same script, if they answer OK, Already or Gone; Renew does so with Gone, and
// Start with OK and Already. Fail of a fold does not, because its worker continues and ends the
// job. After Take, Load, Append, Store, List, Remember, Claim, Reopen and Publish the
// caller acknowledges, if they answer Gone, or Already for Take and Claim. With OK of
// Reopen, the worker of a fold does that, too.
//
// Busy means that another worker has this very entry, and may die: leave it. Gone means that
// nothing is left to be done for it: the attempt is an older one, the step is done, the job
// is gone, or another worker has the step with an entry of its own. So of two entries that
// lead to one step, one remains, whichever worker is refused first. Unknown means that this
// process does not have the job's definition: hand the entry back. Missing, TooMuch, Late
// and Broken leave it to the caller.
//
// A script sends its message before it changes the state, and acknowledges after that: after any
// failure, every open step still has a message or a member of the delayed set.
//
// # Repeating
//
// Every script may run twice, because an answer can be lost: the second run changes nothing
// more and answers what lets the caller go on. Take and Claim recognise the owner, which is
// unique for every call, and Requeue the generation that was given up.
//
// # Batches
//
// Start, Complete, Publish and Settle have an outcome for every job of a call: a key of
// another type or a line that is not a state is Broken and harms no other job. One call is
// for at most 64 jobs. Calls of Complete that come at the same time share a round trip
// (internal/group).
//
// # Time
//
// The deadlines are a sorted set, and the truth. The wake key has a TTL that ends at the
// next one: Start and a deadline that moves bring it nearer, and Passed, which the scheduler
// calls when it is due, touches it, so that Redis publishes that it has expired, and sets it
// for the deadline after that.
package scripts

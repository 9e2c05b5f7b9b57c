// Package scripts answers one question: what must be atomic in Redis?
//
// Every change of a job's state is one Lua script in the folder lua, with its
// contract in its header, and one method of Scripts here. The keys are named in
// keys.go. Nobody else writes to a job's keys.
//
// # The life of a state
//
//	        start            complete (last)      claim             publish
//	(none) ───────▶ RUN ───────────────────▶ READY ──────▶ FOLD ───────────▶ PUBLISHING
//	                 ▲ │                               │ │ │                     │
//	                 └─┼──────── advance ──────────────┘ │ │ fail                │ settle
//	                   │ fail                            ▼ ▼                     ▼
//	                   └────────────────────────────▶ FAILING ──settle──▶ SUCCESS, FAILED …
//
// A task that is given up and that its job can do without counts as complete: OmitTask.
// FAILING is also the way to CANCELLED: the field outcome says so then.
//
// A PUBLISHING job fails, too, but only where its file can no longer be made or
// its record does not take it; neither deadline nor cancel can do that.
//
// A final state stays for a minute, so that latecomers see it, and expires.
//
// # What fences what
//
// The attempt is in every message and every call: a script of an older attempt
// finds Gone and changes nothing. Within an attempt a task has an owner, which
// take gives and append, complete, keepalive and fail check; the fold has a
// fence number that grows with each claim.
//
// # What an outcome means for the message that led to it
//
// Busy: another owner of the same attempt is at work; do not acknowledge, it may
// die. Gone: nothing is left to be done for this message; acknowledge it.
// Unknown: the job has a definition that this process does not know; hand the
// message back. Everything else: acknowledge after the effect; Complete and Settle
// do so themselves where that effect is theirs.
//
// # Repeating
//
// Each script may run twice, because a reply can be lost: the second run
// changes nothing more and answers what lets the caller go on.
//
// # One node and a cluster
//
// A job's own keys share a slot. The keys that all jobs share (streams, the
// deadlines) are given to a script as well on one node, so that the change of
// state and the message about it are one. In a cluster they live in other
// slots: there the methods send what the script would have sent, after it, and
// before the message is acknowledged, which is the outbox until then.
//
// On one node, calls of one script that come at the same time are one call for
// Redis: batch.go.
package scripts

// Package trigger answers one question: what does a pushed id start?
//
// A Trigger reads batches of ids (trigger.go). It takes them in: it stores who wants a receipt, and
// sends ids of other partitions there (intake.go). It reads what is known of every id (lookup.go),
// decides (decide.go is the table "What a push means"), and starts jobs: record first, then Redis
// (start.go). job_slots.go bounds how many jobs run, and how many of one report (its field running).
//
// A job of such a report has a slot while it runs. TakeJobSlots and ReleaseJobSlots of package scripts keep it
// in Redis. The fan-in and the operators' Cancel give it back. Paused of package inspect counts the ids that
// wait for one, and the packages doctor and why explain it.
//
// Before a job starts, once.go lets equal jobs share one run, and once_sweep.go finds those that nobody told of its
// end; lanes.go lets ids wait for the turn of their lane; kept.go finds what a retry can reuse of an earlier attempt.
//
// lost.go starts jobs that Redis has lost, for package recovery, and definitions.go restarts jobs
// whose definition no process has.
package trigger

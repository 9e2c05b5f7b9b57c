// Package trigger answers one question: what does a pushed id start?
//
// A Trigger reads batches of ids (trigger.go), decides about every id from its record and the state
// in Redis (decide.go is the table "What a push means"), and starts jobs: record first, then Redis
// (start.go). admit.go bounds how many jobs run; limit.go keeps the ids of a report with enough
// running jobs, and release.go pushes them later. receipts.go stores who wants a receipt.
//
// lost.go starts jobs that Redis has lost, for package recovery, and definitions.go restarts jobs
// whose definition no process has.
package trigger

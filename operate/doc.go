// Package operate answers: what can an operator change?
//
// Each kind of thing is a file and a field of Operator: jobs (jobs.go, cancel.go, adopt.go),
// dead jobs (dead.go), what is due later (delayed.go), timers (timers.go), quarantined entries
// (quarantine.go), and pauses (pauses.go). The command line, the dashboard and the HTTP API make
// their changes here, so that all of them do the same, in the same order of writes.
//
// The error of a change that is not made matches ErrInput, ErrNotFound or ErrRefused; any other
// one is that of a server, and says that part of the change may have been made.
package operate

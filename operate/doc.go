// Package operate answers one question: what can an operator change?
//
// Operator has a field for every kind of object: jobs (jobs.go, cancel.go, adopt.go), groups of them (group.go), dead
// jobs (dead.go), due times (delayed.go), timers (timers.go), quarantined entries (quarantine.go), pauses (pauses.go),
// limits (limits.go), and orders of persons (orders.go). The command line, the dashboard, the HTTP API and the pages to
// order from make their changes here, so all of them write the same data in the same order. Every change appends an
// entry to the audit stream (audit.go), also if it is refused; the context must have an audit.Actor.
//
// If a change is not made, its error matches fault.Input, fault.NotFound or fault.Refused. Any other error is
// that of a server: part of the change may have been made.
package operate
